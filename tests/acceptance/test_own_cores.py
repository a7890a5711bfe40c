"""On which cores programs find themselves: local VMs that share out all of them are machines of
their own."""

from __future__ import annotations

import os

import pytest

from tests.acceptance.console import Console
from tests.acceptance.workflows import PYTHON, Step, write_workflow

HERE = sorted(os.sched_getaffinity(0))
LOOK = """
import os, sys
cores = " ".join(map(str, sorted(os.sched_getaffinity(0))))
open("ERelation.txt", "w").write(f"ID;CORES\\n{sys.argv[1]};{cores}\\n")
"""


@pytest.mark.parametrize("more", [0, 1])
def test_local_vms_have_cores_of_their_own_if_there_are_enough(console: Console, more: int) -> None:
    vms = len(HERE) + more
    rows = [(str(number),) for number in range(2 * vms)]
    steps = [Step("look", LOOK, gives=("ID", "CORES"), interpreter=PYTHON)]
    spec = write_workflow(console.directory / "wf", steps, rows)
    run = console.run(spec, fleet=f"{vms}xlocal")
    seen = console.rows(
        "SELECT DISTINCT vm, values ->> 'CORES' FROM tuple"
        " JOIN activation ON activation.run_id = tuple.run_id AND activation_id = generated_by"
        " WHERE tuple.run_id = %s",
        run["run_id"],
    )
    everywhere = " ".join(map(str, HERE))
    for vm, cores in seen:
        own = HERE[int(vm.rpartition("-")[2]) - 1] if not more else None
        assert cores == (everywhere if own is None else str(own)), (vm, seen)
    assert len(seen) > 1 or len(HERE) == 1
