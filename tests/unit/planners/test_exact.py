"""The exact planner: optimal where it says so, and clear when its solver is missing."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from scicore.errors import UsageError
from scicore.model.cloud import parse_fleet
from scicore.model.problem import Problem
from scicore.planners.base import Progress
from scicore.planners.exact import Exact


def partition() -> Problem:
    """3, 3, 2, 2, 2 on two VMs: 6 is possible, but longest-first ends at 7."""
    runtime_s = np.array([[3.0], [3.0], [2.0], [2.0], [2.0]]).repeat(2, axis=1)
    return Problem(tuple("abcde"), tuple("abcde"), (), parse_fleet("2xlocal", {}), runtime_s)


def test_it_finds_and_proves_what_heft_misses() -> None:
    told: list[Progress] = []
    plan = Exact().plan(partition(), 0, progress=told.append)
    assert plan.makespan_s == 6 == plan.lower_bound_s
    assert told[-1].makespan_s == 6


def test_without_or_tools_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(UsageError, match="needs OR-tools") as caught:
        Exact().plan(partition(), 0)
    assert "pip install 'scicumulus[exact]'" in caught.value.hint
