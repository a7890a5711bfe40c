"""How fast files come to VMs and leave them, by what earlier runs have moved. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from scicore.estimation.robust import spread
from scicore.model.cloud import Fleet, VmType
from scicore.model.estimate import Bandwidth, Source
from scicore.model.transfer import Moved

ENOUGH = 8  # transfers of a VM type, before they are believed
LEAST_BYTES = 1_000_000  # moving less takes as long as asking for it: it says nothing of the line


def estimate_bandwidths(
    fleet: Fleet, moved: Iterable[Moved]
) -> tuple[Fleet, tuple[Bandwidth, ...]]:
    """The fleet with the speeds that were measured, and where each type's comes from.

    Without enough that was moved, a type keeps what the catalog says.
    """
    by_type: defaultdict[str, list[Moved]] = defaultdict(list)
    for each in moved:
        if each.size_bytes >= LEAST_BYTES and 0 < each.seconds < np.inf:
            by_type[each.vm_type].append(each)
    types = {vm.type.name: vm.type for vm in fleet.vms}
    found = {name: _of_type(vm_type, by_type[name]) for name, vm_type in types.items()}
    vms = tuple(
        replace(vm, type=replace(vm.type, bandwidth_mb_s=found[vm.type.name].mb_per_s))
        for vm in fleet.vms
    )
    return replace(fleet, vms=vms), tuple(found.values())


def _of_type(vm_type: VmType, moved: list[Moved]) -> Bandwidth:
    if len(moved) < ENOUGH:
        return Bandwidth(vm_type.name, Source.CATALOG, vm_type.bandwidth_mb_s, 0, None)
    by_way: defaultdict[str, list[Moved]] = defaultdict(list)
    for each in moved:
        by_way[each.way].append(each)
    speeds = [_middle_mb_per_s(own) for own in by_way.values()]
    # A byte goes up from one VM and down to another, once each: so times are averaged, not speeds.
    mb_per_s = float(len(speeds) / sum(1 / each for each in speeds))
    scatter = spread(np.log([each.mb_per_s for each in moved]))
    return Bandwidth(vm_type.name, Source.TRANSFERS, mb_per_s, len(moved), scatter)


def _middle_mb_per_s(moved: list[Moved]) -> float:
    """At which half of all bytes went, or faster: large files count for what they are."""
    ordered = sorted(moved, key=lambda each: each.mb_per_s)
    reached = np.cumsum([each.size_bytes for each in ordered])
    return ordered[int(np.searchsorted(reached, reached[-1] / 2))].mb_per_s
