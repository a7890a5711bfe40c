"""Best resource selection by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.problem import Problem
from scicore.planners import planner

SLOW = VmType("slow", 1, 0, 1.0, 0.1)
FAST = VmType("fast", 1, 0, 4.0, 10.0, boot_s=90.0)  # as good as its price, once it is there

# Three are ready at once; the fourth needs a gigabyte of the first.
TASK = Problem(
    ("a.0", "a.1", "a.2", "a.3"),
    ("a",) * 4,
    ((0, 3),),
    Fleet((Vm("vm-0", SLOW), Vm("vm-1", FAST)), "some"),
    np.array([[80.0, 20.0]] * 4),
    edge_bytes=(10**9,),
)


def vms(best: str, task: Problem = TASK) -> dict[str, str]:
    plan = planner("brs", {"best": best}).plan(task, 0)
    return {item.activation: item.vm for item in plan.assignments}


def test_the_fastest_vm_with_room_is_taken_whatever_it_costs() -> None:
    chosen = vms("speed")
    assert (chosen["a.0"], chosen["a.1"]) == ("vm-1", "vm-0")


@pytest.mark.parametrize("best", ["finish", "start"])
def test_a_vm_that_still_boots_is_not_the_one_where_it_finishes_or_starts_first(best: str) -> None:
    assert vms(best)["a.0"] == "vm-0"


def test_a_vm_without_room_is_not_waited_for() -> None:
    chosen = vms("speed", replace(TASK, boot=False))
    assert chosen["a.1"] == "vm-0"  # it would be done earlier after a.0 on the fast one


def test_where_data_lie_does_not_matter() -> None:
    """a.1 is done on the slow VM when the fast one is idle; its child's data have to move."""
    chosen = vms("speed", replace(TASK, boot=False, edges=((1, 3),)))
    assert (chosen["a.1"], chosen["a.3"]) == ("vm-0", "vm-1")
