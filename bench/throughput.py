"""No-op activations through the whole stack, beside a bare loop that spawns the same programs.

    python bench/throughput.py [--activations 2000] [--slots 2] [--repeats 3] [--json]

Both sides run `/bin/true` with the same concurrency, alternating, so that a noisy machine hurts
both; the ratio of the medians is the result. Ours includes mpirun's dispatch and provenance in
PostgreSQL, committed; start-up (planning, mpirun, joining) is reported beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLI = Path(sys.executable).parent / "scicumulus"
PROGRAM = "/bin/true"
SPECIFICATION = f"""\
<SciCumulus>
  <conceptualWorkflow tag="noop">
    <activity tag="noop" type="MAP" activation="{PROGRAM}">
      <relation reltype="Input" name="numbers"/>
      <relation reltype="Output" name="done"/>
      <field name="N" type="float" input="numbers"/>
    </activity>
  </conceptualWorkflow>
  <executionWorkflow tag="noop">
    <relation name="numbers" filename="numbers.dataset"/>
  </executionWorkflow>
</SciCumulus>
"""


def spawn_loop(count: int, slots: int) -> float:
    """Programs per second of a plain posix_spawn loop that keeps `slots` of them going."""
    null = os.open(os.devnull, os.O_RDWR)
    files = [(os.POSIX_SPAWN_DUP2, null, target) for target in range(3)]
    started = time.perf_counter()
    running = 0
    for _ in range(count):
        if running == slots:
            os.wait()
            running -= 1
        os.posix_spawn(PROGRAM, [PROGRAM], os.environ, file_actions=files)
        running += 1
    while running:
        os.wait()
        running -= 1
    seconds = time.perf_counter() - started
    os.close(null)
    return count / seconds


def whole_stack(directory: Path, count: int, slots: int) -> tuple[float, float]:
    """Activations per second from the run's start to its end, and the seconds around it."""
    (directory / "workflow.xml").write_text(SPECIFICATION)
    rows = "".join(f"{number}\n" for number in range(count))
    (directory / "numbers.dataset").write_text(f"N\n{rows}")
    spec = directory / "workflow.xml"
    words = [str(CLI), "run", str(spec), "--fleet", f"{slots}xlocal", "--json"]
    started = time.perf_counter()
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    elapsed_s = time.perf_counter() - started
    result = json.loads(done.stdout)
    assert result["finished"] == count, result
    return count / result["makespan_s"], elapsed_s - result["makespan_s"]


def measure(count: int, slots: int, repeats: int) -> dict[str, object]:
    ours, baseline, around = [], [], []
    with tempfile.TemporaryDirectory(prefix="scicumulus-bench-") as directory:
        whole_stack(Path(directory), 2 * slots, slots)  # the database is up and the caches warm
        for _ in range(repeats):
            baseline.append(spawn_loop(count, slots))
            rate, around_s = whole_stack(Path(directory), count, slots)
            ours.append(rate)
            around.append(around_s)
    return {
        "activations": count,
        "slots": slots,
        "repeats": repeats,
        "ratio_to_spawn": statistics.median(ours) / statistics.median(baseline),
        "activations_per_s": statistics.median(ours),
        "spawn_per_s": statistics.median(baseline),
        "start_up_s": statistics.median(around),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--activations", type=int, default=2000)
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    result = measure(options.activations, options.slots, options.repeats)
    if options.json:
        print(json.dumps(result, indent=2))
        return
    count, slots, repeats = result["activations"], result["slots"], result["repeats"]
    print(f"{count} x {PROGRAM} on {slots} slots, median of {repeats}")
    print(f"  bare spawn loop   {result['spawn_per_s']:8.0f} programs/s")
    print(f"  whole stack       {result['activations_per_s']:8.0f} activations/s")
    print(f"  ratio             {result['ratio_to_spawn']:8.2f}")
    print(f"  around the run    {result['start_up_s']:8.2f} s (planning, mpirun, joining)")


if __name__ == "__main__":
    main()
