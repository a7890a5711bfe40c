"""The report's charts: right, escaped, and never too large."""

from __future__ import annotations

from typing import Any

import lxml.etree
from markupsafe import Markup

from scicore.reports.dag_layout import Edge, Graph, Node
from scicore.reports.figures import time_text
from scicore.reports.gantt import Bar
from scicore.reports.html import curve, dag, distribution, gantt, occupancy
from scicore.reports.html.gantt import Named

EVIL = '<script>alert("1")</script>'
PALETTE = {"fit": "#2563eb", EVIL: "#f59e0b"}


def parsed(chart: Markup) -> lxml.etree._Element:
    return lxml.etree.fromstring(str(chart))


def count(chart: Markup, name: str) -> int:
    found = parsed(chart).xpath(f"//*[local-name()='{name}']")
    assert isinstance(found, list)
    return len(found)


def test_few_attempts_are_bars_with_names() -> None:
    bars = [Named(Bar("vm-1", "fit", n, n + 1), f"fit.{n}") for n in range(3)]
    broken = Named(Bar("vm-1", EVIL, 3, 4, finished=False), f"{EVIL}.1")
    chart = gantt.draw(bars, [*bars, broken], [("vm-1", 1)], PALETTE, (3.0, 4.0))
    words = "".join(str(each) for each in parsed(chart).itertext())
    assert "fit.2 on vm-1: 2.0 s to 3.0 s, took 1.0 s" in words
    assert "it did not finish" in words
    assert EVIL in words
    assert count(chart, "script") == 0


def test_a_hundred_thousand_attempts_on_many_vms_make_a_small_picture() -> None:
    vms = [(f"vm-{n}", 8) for n in range(100)]
    bars = [
        Named(Bar(f"vm-{n % 100}", "fit" if n % 7 else EVIL, n / 50, n / 50 + 9), "x")
        for n in range(100_000)
    ]
    chart = gantt.draw(bars, bars, vms, PALETTE, (2000.0, 2009.0))
    assert len(chart) < 1_500_000
    assert count(chart, "rect") < 300
    assert len(occupancy.draw((each.bar for each in bars), 800, PALETTE, 2009.0)) < 100_000


def test_busy_slots_are_as_high_as_the_attempts_that_overlap() -> None:
    bars = [Bar("vm-1", "fit", 0, 10), Bar("vm-1", "fit", 0, 10)]
    chart: Any = parsed(occupancy.draw(bars, 4, {"fit": "#000"}, 10.0))
    [layer] = chart.xpath("//*[local-name()='polygon']/@points")
    heights = {point.split(",")[1] for point in str(layer).split()}
    assert heights == {"160", "85"}  # two of four slots are half of 150


def test_a_distribution_counts_every_value_and_marks_the_median() -> None:
    values = {"fit": [0.001] * 5 + [100.0], EVIL: [1.0], "idle": []}
    chart = distribution.draw(values, {**PALETTE, "idle": "#000"}, "Runtimes", time_text)
    words = "".join(str(each) for each in parsed(chart).itertext())
    assert "fit: 6 attempts, 1 ms to 1:40, median 1 ms" in words
    assert "logarithmic scale" in words
    assert "idle" not in words
    assert count(chart, "script") == 0


def test_the_workflow_shows_who_failed() -> None:
    graph = Graph("w", (Node("fit", "fit", "MAP", "× 3, 2 failed"), Node(EVIL, EVIL, "MAP")),
                  (Edge("fit", EVIL),))  # fmt: skip
    chart = dag.draw(graph, PALETTE, {"fit"})
    words = "".join(str(each) for each in parsed(chart).itertext())
    assert "MAP  × 3, 2 failed" in words
    assert EVIL in words
    assert str(chart).count("small bad") == 1


def test_a_learning_curve_falls_to_its_best() -> None:
    chart = curve.draw([(1, 12.0), (50, 9.0), (100, 9.0)], 8.0)
    words = "".join(str(each) for each in parsed(chart).itertext())
    assert "50 episodes: 9.0 s" in words
    assert "no schedule is faster: 8.0 s" in words
