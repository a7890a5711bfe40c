"""HEFT beside its paper (Topcuoglu, Hariri, Wu 2002).

The paper's ten-task example needs communication costs, which problems do not have yet; until
then eq. 8 is checked on a small workflow that can be ranked by hand.
"""

from __future__ import annotations

import numpy as np
import pytest

from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.problem import Problem
from scicore.planners.base import validated
from scicore.planners.heft import Heft, upward_ranks

TYPE = VmType("t", slots=1, memory_mb=1024, speed=1.0, price_usd_per_hour=0.0)

#         split (w 2)
#        /     |     \
#   left (4) middle (3) right (5)
#       \    /   |       |
#      join (6)  |       |
#           \    |      /
#            last (1)
TASK = Problem(
    activations=("split", "left", "middle", "right", "join", "last"),
    activities=("split", "left", "middle", "right", "join", "last"),
    edges=((0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (2, 5), (3, 5), (4, 5)),
    fleet=Fleet((Vm("t-1", TYPE), Vm("t-2", TYPE)), "2xt"),
    runtime_s=np.array([[1, 3], [2, 6], [4, 2], [5, 5], [9, 3], [1, 1]], dtype=np.float64),
)


def test_upward_ranks_follow_equation_8() -> None:
    """last 1; join 6 + 1; right 5 + 1; middle 3 + max(7, 1); left 4 + 7; split 2 + 11."""
    assert upward_ranks(TASK, validated(TASK)) == pytest.approx([13, 11, 10, 6, 7, 1])


def test_the_schedule_follows_the_ranks_with_insertion() -> None:
    """By hand, in the order split, left, middle, join, right, last: each where it ends first."""
    placed = {item.activation: (item.vm, item.start_s) for item in Heft().plan(TASK, 0).assignments}
    assert placed == {
        "split": ("t-1", 0),  # ends at 1, on t-2 at 3
        "left": ("t-1", 1),  # 3, 7
        "middle": ("t-2", 1),  # 7, 3
        "join": ("t-2", 3),  # 12, 6
        "right": ("t-1", 3),  # 8, 11
        "last": ("t-1", 8),  # 9, 9: the first VM
    }
