"""Figures as people read them."""

from __future__ import annotations

import pytest

from scicore.reports.figures import bytes_text, percentile, tick_text, ticks, time_text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        *((0, "0.0 s"), (0.04, "40 ms"), (0.524, "0.52 s"), (1, "1.0 s"), (45.12, "45.1 s")),
        *((99.96, "1:40"), (187, "3:07"), (7509, "2:05:09"), (-3, "−3.0 s")),
    ],
)
def test_times_have_as_many_digits_as_matter(seconds: float, words: str) -> None:
    assert time_text(seconds) == words


def test_sizes_have_units() -> None:
    assert [bytes_text(n) for n in (0, 512, 999.6, 19_800_000, 3e12)] == [
        *("0 B", "512 B", "1.0 KB", "19.8 MB", "3.0 TB")
    ]


@pytest.mark.parametrize("end_s", [0.003, 0.75, 7.4, 11, 59, 400, 5000, 90_000, 3_000_000])
def test_ticks_are_few_and_within_the_axis(end_s: float) -> None:
    found = ticks(end_s)
    assert found[0] == 0
    assert found[-1] <= end_s * 1.001
    assert 2 <= len(found) <= 12
    assert len({tick_text(at_s) for at_s in found}) == len(found)


def test_a_percentile_lies_between_values() -> None:
    assert percentile([1.0, 2.0, 4.0], 0.5) == 2.0
    assert percentile([1.0, 2.0], 0.5) == 1.5
    assert percentile([3.0], 0.95) == 3.0


def test_what_is_no_clock_has_decimal_ticks() -> None:
    assert ticks(19_800_000, clock=False)[:3] == [0, 5e6, 1e7]
    assert ticks(400)[:3] == [0, 60, 120]
