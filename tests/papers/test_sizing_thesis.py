"""The thesis's experiment on sizing, on workflows that no parameter was tuned on."""

from __future__ import annotations

from typing import Any

import pytest

from bench.populations import HELD_OUT
from bench.sizing import Bill, compare, experiment

FEW = ("fixed", "feedback", "quantile")


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return compare(HELD_OUT, repeats=1, sizers=FEW)


def test_quantile_wastes_a_quarter_less_than_the_feedback_loop_and_kills_hardly_anyone(
    results: dict[str, Any],
) -> None:
    saved = 1 - results["quantile"]["wasted_gb_h"] / results["feedback"]["wasted_gb_h"]
    assert saved >= 0.25
    assert results["quantile"]["killed"] < 0.01


def test_what_is_saved_lets_more_run_at_once(results: dict[str, Any]) -> None:
    assert results["quantile"]["makespan_s"] < 0
    assert results["quantile"]["gb_h"] < -0.5


def test_the_feedback_loop_saves_as_much_memory_as_published(results: dict[str, Any]) -> None:
    assert results["feedback"]["gb_h"] == pytest.approx(-0.87, abs=0.1)


def test_every_sizer_sees_the_same_inputs() -> None:
    def used(name: str) -> Bill:
        return experiment(HELD_OUT[4], name, seed=3)

    fixed, quantile = used("fixed"), used("quantile")
    assert fixed.activations == quantile.activations
    assert fixed.cpu_used_h == pytest.approx(quantile.cpu_used_h, rel=0.02)
