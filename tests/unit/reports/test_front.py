"""The picture of a front."""

from __future__ import annotations

from pathlib import Path

import pytest

from scicore.errors import UsageError
from scicore.reports.front import FrontChart, FrontPoint, draw_front, draw_front_text

POINTS = [
    FrontPoint(10, 9, 12, 10, "3xlarge"),
    FrontPoint(20, 4, 25, 5, "1xlarge"),
    FrontPoint(40, 2, 44, 3, "1xsmall"),
]
CHART = FrontChart("stars: time against money", "three plans", POINTS, 1, 0.9, 30.0, 5.0)


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_the_same_front_gives_the_same_picture(tmp_path: Path, ending: str) -> None:
    files = [tmp_path / f"{name}.{ending}" for name in ("one", "two")]
    for file in files:
        draw_front(CHART, file)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].stat().st_size > 2000


def test_other_formats_are_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can be written as"):
        draw_front(CHART, tmp_path / "front.gif")


def test_as_text_the_fastest_is_top_left_and_the_cheapest_bottom_right() -> None:
    lines = draw_front_text(CHART, columns=31, lines=8).splitlines()
    assert lines[0] == "$9 │o"
    assert lines[7].startswith("$2 │")
    assert lines[7].endswith("o")
    assert sum(line.count("#") for line in lines) == 1
    assert lines[5].index("#") == 4 + 10
    assert lines[-1].split() == ["10.0", "s", "40.0", "s"]


def test_a_single_plan_is_a_picture_too() -> None:
    alone = FrontChart("t", "s", POINTS[:1], 0, 0.9, None, None)
    assert "#" in draw_front_text(alone)
