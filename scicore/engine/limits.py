"""What VMs and sized programs are held to and told: cores, variables and tags. Memory is watched
by the runner, because a limit of address space would hit programs that reserve more than they
use."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

from scicore.algebra.request import request_of
from scicore.algebra.template import tags
from scicore.engine.wire import Welcome
from scicore.execution.messages import Start
from scicore.model.workflow import ALLOCATED_TAGS, Activity

CPUS, MEMORY = "SCICUMULUS_CPUS", "SCICUMULUS_MEMORY_MB"
# How many threads the usual libraries start.
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "JULIA_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "GOMAXPROCS",
)


def own_cores(vm: Welcome, here: Sequence[int]) -> Sequence[int]:
    """Of the cores that are here: if the VMs of a host share out all of them, each keeps to its
    own, as the machine that it stands for would; else nobody knows whose they are."""
    if vm.host_slots != len(here):
        return here
    return here[vm.slots_before : vm.slots_before + vm.slots]


def keep_to(cores: Sequence[int]) -> None:
    """This process, a keeper, and its programs. Those that start where their keeper is cost less,
    too: nobody on another core must be woken up for their start and their end."""
    with contextlib.suppress(OSError):  # where that is forbidden, all cores are everybody's
        os.sched_setaffinity(0, cores)


def cores(slots: int) -> tuple[int, ...]:
    """Those of this host, if the VM is all of it. One of several VMs of a host does not know what
    the others do, and a host with a single core has nothing to choose."""
    here = sorted(os.sched_getaffinity(0))
    return tuple(here) if 1 < len(here) <= slots else ()


@contextlib.contextmanager
def pinned(slots: tuple[int, ...], cores: tuple[int, ...]) -> Iterator[None]:
    """Whatever is started here stays on the cores of its slots: it inherits them from us, so that
    it is nowhere else for a moment."""
    before = os.sched_getaffinity(0)
    with contextlib.suppress(OSError):  # the host has fewer of them than it had
        os.sched_setaffinity(0, {cores[(slot - 1) % len(cores)] for slot in slots})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def variables(order: Start) -> list[tuple[str, str]]:
    cpus = str(order.cpus)
    told = [(CPUS, cpus), *((name, cpus) for name in _THREADS)]
    return [*told, (MEMORY, str(order.memory_mb))] if order.memory_mb else told


def is_told(activity: Activity) -> bool:
    """Whether a text of it may ask what it gets. Files of templates are not looked at here."""
    texts = [activity.command, activity.extractor, *(text for _, text in activity.environment)]
    asked = {tag.upper() for text in texts for tag in tags(text)}
    staged = activity.template or any(each.instrumented for each in activity.staging)
    return bool(staged) or not asked.isdisjoint(ALLOCATED_TAGS)


def told(order: Start, activity: Activity) -> dict[str, str]:
    """Without sizing, what it declares."""
    memory_mb = order.memory_mb
    if not order.sized:
        values = activity.input.as_mapping(order.rows[0])
        memory_mb = request_of(activity, values).memory_mb
    return dict(zip(ALLOCATED_TAGS, (str(order.cpus), str(memory_mb)), strict=True))
