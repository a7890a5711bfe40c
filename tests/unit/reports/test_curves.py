"""Learning curves, and what is kept of a learner's steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from scicore.errors import UsageError
from scicore.reports.curves import Curve, CurvePoint, draw_curve, draw_curve_text
from scicore.reports.learning import Learning

POINTS = (CurvePoint(1, 20.0), CurvePoint(5, 14.0), CurvePoint(9, 12.0))


def test_a_curve_becomes_a_picture_that_tells_the_bound(tmp_path: Path) -> None:
    curve = Curve("learning w", "reassign-plus", POINTS, lower_bound_s=11.5)
    draw_curve(curve, tmp_path / "curve.svg")
    text = (tmp_path / "curve.svg").read_text(encoding="utf-8")
    assert "<!-- no schedule is faster: 11.50 s -->" in text
    draw_curve(curve, tmp_path / "again.svg")
    assert text == (tmp_path / "again.svg").read_text(encoding="utf-8")


def test_a_planner_that_does_not_learn_has_a_curve_of_its_bound(tmp_path: Path) -> None:
    draw_curve(Curve("w", "heft", (), lower_bound_s=3.0), tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 1000


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--curve learning\.png"):
        draw_curve(Curve("w", "", POINTS, 1.0), tmp_path / "curve.txt")


def test_as_text_a_curve_falls_from_the_first_to_the_best() -> None:
    assert draw_curve_text(POINTS, 9) == "20.00 s ████▃▃▃▃▁ 12.00 s"
    assert draw_curve_text([], 9) == ""


def test_of_a_learners_steps_improvements_and_the_end_are_kept() -> None:
    with Learning(budget_s=1.0, quiet=True) as learning:
        for episodes, best_s in enumerate([20.0, 20.0, 14.0, 14.0, 12.0, 12.0, 12.0], start=1):
            learning.step(episodes, best_s, 10.0)
    assert learning.points == ((1, 20.0), (3, 14.0), (5, 12.0), (7, 12.0))


def test_a_learner_that_never_reported_has_no_points() -> None:
    with Learning(budget_s=None, quiet=True) as learning:
        pass
    assert learning.points == ()


def test_on_a_terminal_one_sees_how_far_the_learner_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with Learning(budget_s=5.0) as learning:
        learning.step(0, 12.0, 10.0)
        learning.step(500, 11.0, 10.0)
    told = capsys.readouterr()
    assert "500 episodes, best 11.00 s, 10.0% above the bound" in told.err
    assert told.out == ""


def test_a_pipe_is_spared_the_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("TTY_COMPATIBLE", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    with Learning(budget_s=5.0) as learning:
        learning.step(500, 11.0, 10.0)
    assert capsys.readouterr().err == ""
