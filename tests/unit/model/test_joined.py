"""Several workflows as one problem."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from scicore.errors import UsageError
from scicore.model.cloud import LOCAL, Fleet, Vm
from scicore.model.problem import Problem, Transfer, joined, parted
from scicore.planners import planner

FLEET = Fleet((Vm("local-1", LOCAL),), "1xlocal")
ONE = Problem(("a.1", "a.2"), ("a", "a"), ((0, 1),), FLEET, np.array([[1.0], [2.0]]))
OTHER = Problem(
    ("a.1", "b.1"), ("a", "b"), ((0, 1),), FLEET, np.array([[3.0], [4.0]]), (70,), (1, 1), (5, 6)
)


def test_names_are_told_apart_by_their_workflow_and_edges_stay_within_it() -> None:
    both = joined({"x": ONE, "y": OTHER})
    assert both.activations == ("x/a.1", "x/a.2", "y/a.1", "y/b.1")
    assert both.activities == ("x/a", "x/a", "y/a", "y/b")
    assert both.edges == ((0, 1), (2, 3))
    assert both.runtime_s[:, 0].tolist() == [1, 2, 3, 4]
    assert planner("heft").plan(both, 0).makespan_s == 10


def test_what_one_workflow_does_not_say_is_filled_in() -> None:
    both = joined({"x": ONE, "y": OTHER})
    assert both.edge_bytes == (0, 70)
    assert both.cpus == (1, 1, 1, 1)
    assert both.memory_mb == (0, 0, 5, 6)
    assert joined({"x": ONE, "z": ONE}).edge_bytes == ()


def test_what_was_joined_comes_apart_as_it_was() -> None:
    full = replace(ONE, edge_bytes=(0,), cpus=(1, 1), memory_mb=(0, 0))
    parts = {"x": full, "x/y": OTHER, "x#2": full}  # a tag may begin like another
    apart = parted(joined(parts), list(parts))
    for tag, part in parts.items():
        for name in (field.name for field in fields(Problem)):
            assert np.array_equal(getattr(apart[tag], name), getattr(part, name)), (tag, name)
    assert parted(joined({"x": ONE, "z": ONE}), ["x", "z"])["z"].cpus == ()


def test_what_holds_for_the_fleet_must_hold_for_all() -> None:
    other = replace(OTHER, transfer=Transfer.SHARED)
    with pytest.raises(UsageError, match="y has another transfer than x"):
        joined({"x": ONE, "y": other})
    with pytest.raises(UsageError, match="found no workflow"):
        joined({})
