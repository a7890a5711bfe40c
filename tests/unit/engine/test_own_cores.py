"""VMs that share out the cores of a host keep to their own."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from scicore.engine import limits
from scicore.engine.wire import Welcome

slots_of_vms = st.lists(st.integers(1, 8), min_size=1, max_size=6)


def welcomes(slots: list[int]) -> list[Welcome]:
    """Of all VMs of a host."""
    before = accumulate(slots, initial=0)
    return [
        Welcome("vm", "/", "/", "/", (), own, host_slots=sum(slots), slots_before=first)
        for own, first in zip(slots, before, strict=False)
    ]


@given(slots_of_vms)
def test_every_core_is_one_vms(slots: list[int]) -> None:
    here = range(3, 3 + sum(slots))
    shares = [limits.own_cores(vm, here) for vm in welcomes(slots)]
    assert [len(share) for share in shares] == slots
    assert [core for share in shares for core in share] == list(here)


@given(slots_of_vms, st.integers(1, 50))
def test_where_slots_and_cores_are_not_the_same_everybody_has_all(
    slots: list[int], cores: int
) -> None:
    here = range(cores if cores != sum(slots) else cores + 1)
    assert all(limits.own_cores(vm, here) == here for vm in welcomes(slots))


def test_a_vm_of_which_nobody_said_who_else_is_there_has_all_cores() -> None:
    assert limits.own_cores(Welcome("vm", "/", "/", "/", ()), range(4)) == range(4)


def test_whoever_is_kept_to_a_core_is_nowhere_else() -> None:
    """The kernel keeps a thread, so that this process stays where it is."""
    last = max(os.sched_getaffinity(0))

    def kept() -> set[int]:
        limits.keep_to([last])
        return os.sched_getaffinity(0)

    with ThreadPoolExecutor(1) as one:
        assert one.submit(kept).result() == {last}
