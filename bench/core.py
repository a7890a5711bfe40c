"""What one activation costs in the execution core alone: CPU time and memory, at growing sizes.

    python bench/core.py [--sizes 1000,10000,100000] [--slots 4,4] [--dispatch adaptive] [--json]

One activity maps every tuple of a dataset under a plan that foresees all of it; the answers of
the core are played back at once. Each size is a process of its own. The cost per activation is
flat when the last two columns do not grow with the size.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from scicore.execution.core import Execution
from scicore.execution.messages import (
    AttemptEnded,
    Event,
    RunStarted,
    Start,
    VmJoined,
    WorkRequested,
)
from scicore.model.activation import Cause, Dispatch
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.plan import Assignment, Plan
from scicore.model.workflow import (
    Activity,
    Dataset,
    Field,
    FieldType,
    Operator,
    Relation,
    Workflow,
)


def measure(count: int, slots: list[int], dispatch: Dispatch) -> dict[str, float]:
    spec, plan = _case(count, slots)
    before_kb = _resident_kb()
    began = time.process_time()
    execution = Execution(spec, plan, dispatch)
    orders: list[Start | None] = []
    events = 0

    def feed(event: Event) -> None:
        nonlocal events
        events += 1
        orders.extend(order for order in execution.handle(event) if isinstance(order, Start))

    feed(RunStarted(0.0))
    for vm in plan.fleet.vms:
        feed(VmJoined(0.0, vm.id, "here"))
    number = 0
    while number < len(orders):
        order, orders[number] = orders[number], None
        assert order is not None
        number += 1
        at = number / 1000
        ended = AttemptEnded(
            order.activation, order.number, Cause.FINISHED, at - 1, at, 0, rows=(("result",),)
        )
        feed(WorkRequested(at, order.vm, (ended,)))
    took_s = time.process_time() - began
    assert execution.ended
    return {
        "activations": count,
        "events": events,
        "cpu_s": took_s,
        "activations_per_s": count / took_s,
        "cpu_us_per_activation": 1e6 * took_s / count,
        "bytes_per_activation": 1024 * (_resident_kb() - before_kb) / count,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _case(count: int, slots: list[int]) -> tuple[Workflow, Plan]:
    source, target = (Relation(name, (Field("ID", FieldType.STRING),)) for name in ("in", "out"))
    work = Activity("work", Operator.MAP, "work %=ID%", source, target)
    rows = tuple((f"value {line}",) for line in range(count))
    spec = Workflow("core", (work,), (Dataset(source, rows),), "/core", "/core")
    types = [VmType(f"type{number}", number, 0, 1.0, 0.0) for number in slots]
    vms = tuple(Vm(f"vm-{place}", type_) for place, type_ in enumerate(types))
    lanes = [vm.id for vm in vms for _ in range(vm.type.slots)]
    assignments = tuple(
        Assignment(f"work.{line + 1}", "work", lanes[line % len(lanes)], float(line), line + 1.0)
        for line in range(count)
    )
    plan = Plan("by turns", 0, Fleet(vms, "made up"), assignments, float(count), 0.0, 1.0)
    return spec, plan


def _resident_kb() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1000,10000,100000", help="activations")
    parser.add_argument("--slots", default="4,4", help="of each VM")
    parser.add_argument("--dispatch", default="adaptive", choices=[*Dispatch])
    parser.add_argument("--json", action="store_true", help="one document on stdout")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    slots = [int(number) for number in asked.slots.split(",")]
    if asked.one is not None:
        print(json.dumps(measure(asked.one, slots, Dispatch(asked.dispatch))))
        return
    results = []
    for size in asked.sizes.split(","):
        same = ["--slots", asked.slots, "--dispatch", asked.dispatch, "--one", size]
        done = subprocess.run(
            [sys.executable, __file__, *same], check=True, capture_output=True, text=True
        )
        results.append(json.loads(done.stdout))
    if asked.json:
        print(json.dumps({"dispatch": asked.dispatch, "slots": slots, "results": results}))
        return
    print("activations    CPU s   per s   peak MB   CPU µs each   bytes each")
    for each in results:
        print(
            f"{each['activations']:11.0f} {each['cpu_s']:8.2f} {each['activations_per_s']:7.0f} "
            f"{each['peak_mb']:9.0f} {each['cpu_us_per_activation']:13.1f} "
            f"{each['bytes_per_activation']:12.0f}"
        )


if __name__ == "__main__":
    main()
