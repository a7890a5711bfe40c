"""Gantt charts: every attempt once per slot, no overlaps, readable as text and as picture."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from scicore.errors import UsageError
from scicore.reports.gantt import PALETTE, Bar, Chart, colours, draw_gantt, rows
from scicore.reports.gantt_text import MOST_ROWS, draw_gantt_text

CHART = Chart(
    "sky & <stars>",
    "heft, 30 s",
    (("small-1", 1), ("big-1", 2)),
    (
        Bar("small-1", "mProject", 0.0, 10.0),
        Bar("big-1", "mProject", 0.0, 8.0),
        Bar("big-1", "mDiff", 10.0, 20.0, slots=2),
        Bar("small-1", "mDiff", 12.0, 18.0, finished=False),
        Bar("big-1", "mAdd", 20.0, 30.0),
    ),
)


def test_a_bar_stands_on_as_many_rows_as_it_takes_slots() -> None:
    drawn = [(row.vm, row.slot, [bar.activity for bar in row.bars]) for row in rows(CHART)]
    assert drawn == [
        ("small-1", 0, ["mProject", "mDiff"]),
        ("big-1", 0, ["mProject", "mDiff", "mAdd"]),
        ("big-1", 1, ["mDiff"]),
    ]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_bars_that_fit_the_slots_never_overlap_on_a_row(data: st.DataObject) -> None:
    slots = data.draw(st.integers(1, 4))
    free_s = [0.0] * slots
    bars = []
    for _ in range(data.draw(st.integers(0, 12))):
        wanted = data.draw(st.integers(1, slots))
        free_s.sort()
        start = free_s[wanted - 1] + data.draw(st.sampled_from([0.0, 1.0]))
        finish = start + data.draw(st.sampled_from([0.0, 1.0, 2.5]))
        free_s[:wanted] = [finish] * wanted
        bars.append(Bar("vm", "a", start, finish, wanted))
    drawn = rows(Chart("", "", (("vm", slots),), tuple(bars)))
    assert sum(len(row.bars) for row in drawn) == sum(bar.slots for bar in bars)
    for row in drawn:
        assert all(one.finish_s <= other.start_s for one, other in pairwise(row.bars))


def test_activities_differ_in_colour_however_many_there_are() -> None:
    names = [f"activity{number}" for number in range(40)]
    assert len(set(colours(names).values())) == 40
    assert list(colours(names).values())[: len(PALETTE)] == list(PALETTE)


@pytest.mark.parametrize("ending", [".svg", ".png"])
def test_the_same_chart_gives_the_same_bytes(tmp_path: Path, ending: str) -> None:
    draw_gantt(CHART, tmp_path / f"one{ending}")
    draw_gantt(CHART, tmp_path / f"two{ending}")
    assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"two{ending}").read_bytes()


def test_an_svg_names_title_vms_and_activities(tmp_path: Path) -> None:
    draw_gantt(CHART, tmp_path / "chart.svg")
    root = etree.parse(str(tmp_path / "chart.svg")).getroot()
    assert etree.QName(root).localname == "svg"
    text = (tmp_path / "chart.svg").read_text(encoding="utf-8")
    drawn = (
        "sky &amp; &lt;stars&gt;",
        "small-1",
        "big-1",
        "mProject",
        "mDiff",
        "mAdd",
        "failed or lost",
    )
    assert all(f"<!-- {each} -->" in text for each in drawn)


def test_an_empty_chart_is_drawn_as_well(tmp_path: Path) -> None:
    empty = Chart("nothing", "", (("vm", 1),), ())
    draw_gantt(empty, tmp_path / "chart.png")
    assert draw_gantt_text(empty, 40).splitlines()[0].startswith("vm ··")


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"chart\.pdf: a picture can be written as \.svg or \.png"):
        draw_gantt(CHART, tmp_path / "chart.pdf")


def test_as_text_a_line_is_a_slot_and_a_letter_an_activity() -> None:
    assert draw_gantt_text(CHART, 38).splitlines() == [
        "small-1 PPPPPPPPPP··xxxxxx············",
        "big-1   PPPPPPPP··DDDDDDDDDDAAAAAAAAAA",
        "        ··········DDDDDDDDDD··········",
        "        0                       30.0 s",
        "P mProject  D mDiff  A mAdd",
    ]


def test_with_many_slots_a_line_is_a_vm() -> None:
    wide = Chart("", "", (("vm", MOST_ROWS + 1),), (Bar("vm", "a", 0.0, 1.0),))
    assert len(draw_gantt_text(wide, 40).splitlines()) == 3


def test_colours_take_no_room() -> None:
    plain = draw_gantt_text(CHART, 38).splitlines()
    coloured = draw_gantt_text(CHART, 38, colour=True).splitlines()
    assert len(plain) == len(coloured)
    assert "\x1b[48;2;37;99;235m" in coloured[0]
