"""One run of ever more activations: what each costs, what the master needs, how it comes back.

    python bench/scale.py [--sizes 1000,10000,100000,1000000] [--slots 2] [--json]

Calls of a Python function that does nothing, so that nearly all of the time is the engine's. The
cost per activation is flat when it does not grow with the size. The largest run is killed with
all its processes when about half of it has been run, and resumed; the time until it starts
something new is the price of a restart. A run counts until the last of it is in the database.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import workloads

LOOK_S = 1.0
RECORDED = 4  # one of so many is in the database when half have been run: somebody looks on
PATIENCE_S = 3600.0


def start(spec: Path, slots: int, mark: str) -> subprocess.Popen[bytes]:
    return launch(workloads.command(spec, slots, "--algorithm", "fcfs"), mark)


def launch(words: list[str], mark: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, workloads.MARK: mark},
    )


class Watch:
    """CPU time and peak memory of a benchmark's processes, as long as they are there."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._cpu_s: dict[int, float] = {}
        self.master_bytes = 0

    def look(self) -> None:
        for seen in workloads.processes(self._mark):
            if seen.is_engine:
                self._cpu_s[seen.pid] = seen.cpu_s
                if seen.is_master:
                    self.master_bytes = max(self.master_bytes, seen.peak_bytes)

    @property
    def cpu_s(self) -> float:
        return sum(self._cpu_s.values())


def whole(directory: Path, count: int, slots: int) -> dict[str, float]:
    """A run from its beginning to its end."""
    mark = str(directory)
    process = start(workloads.functions(directory, count), slots, mark)
    watch, began = Watch(mark), time.perf_counter()
    while process.poll() is None:
        watch.look()
        time.sleep(min(LOOK_S, 0.05 + count / 1e6))
    elapsed_s = time.perf_counter() - began
    assert process.stdout is not None
    said = json.loads(process.stdout.read())
    assert said["finished"] == count, said
    recorded_s = workloads.recorded_s(said["run_id"])
    return {
        "activations": count,
        "per_s": count / recorded_s,
        "recorded_us": 1e6 * recorded_s / count,
        "engine_cpu_us": 1e6 * watch.cpu_s / count,
        "master_mb": watch.master_bytes / 2**20,
        "elapsed_s": elapsed_s,
    }


def restart(directory: Path, count: int, slots: int) -> dict[str, float]:
    """Kill all of it at half, resume, and see when it goes on."""
    mark = str(directory)
    process = start(workloads.functions(directory, count), slots, mark)
    run_id = 0
    began = time.monotonic()
    while finished(run_id) < count // RECORDED:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() - began < PATIENCE_S
        run_id = run_id or latest(mark)
        time.sleep(LOOK_S)
    kill_all(mark)
    process.wait()
    before = finished(run_id)
    assert before < count, f"{count} activations are over before they can be killed: take more"
    resumed_at, watch = time.time(), Watch(mark)
    process = launch([str(workloads.CLI), "resume", str(run_id), "--json"], mark)
    while process.poll() is None:
        watch.look()
        time.sleep(LOOK_S)
    (row,) = workloads.ask(
        "SELECT min(extract(epoch FROM started_at)) AS first, count(*) AS attempts,"
        " count(DISTINCT activation_id) FILTER (WHERE cause = 'finished') AS finished"
        f" FROM attempt WHERE run_id = {run_id} AND granted_at > to_timestamp({resumed_at})"
        " AND started_at > granted_at"  # the others had been run before, and are recorded now
    )
    assert finished(run_id) == count
    return {
        "activations": count,
        "recorded_when_killed": before,
        "goes_on_after_s": float(row["first"]) - resumed_at,
        "run_after_it": float(row["attempts"]),
        "master_mb": watch.master_bytes / 2**20,
    }


def kill_all(mark: str) -> None:
    """Again and again: what is killed may have been about to start something."""
    while left := [each for each in workloads.processes(mark) if "postgres" not in each.words]:
        for seen in left:
            with suppress(ProcessLookupError):
                os.kill(seen.pid, signal.SIGKILL)
        time.sleep(0.1)


def latest(mark: str) -> int:
    rows = workloads.ask(
        f"SELECT max(run_id) AS run FROM run WHERE state = 'running' AND directory LIKE '{mark}%'"
    )
    return int(rows[0]["run"] or 0)


def finished(run_id: int) -> int:
    (row,) = workloads.ask(
        f"SELECT count(*) AS n FROM activation WHERE run_id = {run_id} AND state = 'finished'"
    )
    return int(row["n"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sizes", default="1000,10000,100000,1000000")
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--no-restart", action="store_true", help="leave out the restart")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    with tempfile.TemporaryDirectory(prefix="scicumulus-bench-") as place:
        directory = Path(place)
        workloads.run(workloads.functions(directory / "one", 1), options.slots)
        rows = []
        for size in sizes:
            rows.append(whole(directory / str(size), size, options.slots))
            print(rows[-1], file=sys.stderr, flush=True)
        again = None
        if not options.no_restart:
            again = restart(directory / "again", max(sizes), options.slots)
    result = {"machine": workloads.machine(), "slots": options.slots, "sizes": rows, "again": again}
    if options.json:
        print(json.dumps(result, indent=2))
        return
    print(f"{result['machine']}; {options.slots} slots, all durable in PostgreSQL")
    print("activations      per s   µs each   µs of CPU each   master MB   whole command s")
    for row in rows:
        print(
            f"{row['activations']:>11,.0f} {row['per_s']:>10,.0f} {row['recorded_us']:>9,.0f}"
            f" {row['engine_cpu_us']:>16,.0f} {row['master_mb']:>11,.0f} {row['elapsed_s']:>17,.1f}"
        )
    if again:
        print(
            f"killed with {again['recorded_when_killed']:,.0f} of {again['activations']:,.0f} "
            f"recorded, resumed: goes on after {again['goes_on_after_s']:.1f} s, "
            f"master {again['master_mb']:,.0f} MB"
        )


if __name__ == "__main__":
    main()
