"""No-op activations through the whole stack, beside bare loops that do the same.

    python bench/throughput.py [--activations 10000] [--slots 2] [--repeats 3] [--json]

All sides run in turn, again and again, so that a noisy machine hurts all of them; ratios of medians
are the result. Ours include mpirun's dispatch and provenance in PostgreSQL, committed. A run's
rate counts from its start until the last of it is in the database; start-up (planning, mpirun,
joining) is told beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import peers, workloads
from bench.baselines import process_pool, spawn_loop

READER = """
    SELECT activity.tag, count(*), avg(attempt.cpu_s), max(attempt.ended_at)
    FROM attempt JOIN activation USING (run_id, activation_id)
    JOIN activity ON activity.activity_id = activation.activity_id
    LEFT JOIN used USING (run_id, activation_id)
    LEFT JOIN tuple USING (run_id, tuple_id) GROUP BY 1 ORDER BY 2
"""
NAP_S = 0.05  # what programs do while somebody reads: they leave the processors alone
IDLE_S = 10.0
LINKS, LINK_S = 30, 0.2  # of a chain
TIMES = {"montage": 3}  # in each round: it is over in half a second, and varies by a third


def median(samples: dict[str, list[float]], name: str) -> float:
    return statistics.median(samples[name])


def rates(
    directory: Path, counts: dict[str, int], slots: int, repeats: int, peers_python: str
) -> dict[str, list[float]]:
    """Per second, interleaved."""
    samples: dict[str, list[float]] = {}

    def note(name: str, value: float | None) -> None:
        if value is not None:
            samples.setdefault(name, []).append(value)

    specs = {
        "program": workloads.programs(directory / "program", counts["program"]),
        "montage": workloads.montage(directory / "montage", counts["montage"]),
        "function": workloads.functions(directory / "function", counts["function"]),
        "one": workloads.programs(directory / "one", 1),
    }
    workloads.run(specs["one"], slots)  # the database is up and the caches warm
    for _ in range(repeats):
        note("spawn", spawn_loop(counts["program"], slots))
        for name, spec in specs.items():
            for _ in range(TIMES.get(name, 1)):
                outcome = workloads.run(spec, slots)
                note(name, outcome.per_s)
                note(f"{name} around", outcome.around_s)
            if name == "one":
                note("start up", outcome.elapsed_s)
            if name == "function":
                note("steady", steady(outcome.run_id))
        note("pool", process_pool(counts["function"], slots))
        for peer in peers.SHARES:
            for kind, count in (("programs", 2000), ("calls", counts["function"])):
                rate = peers.measure(peer, kind, count, slots, peers_python)
                note(f"{peer} {kind}", rate)
    return samples


def steady(run_id: int) -> float:
    """The rate between a fifth and four fifths of the run: without the workers' start."""
    (row,) = workloads.ask(
        "SELECT count(*) AS n, extract(epoch FROM percentile_disc(0.8) WITHIN GROUP"
        " (ORDER BY ended_at) - percentile_disc(0.2) WITHIN GROUP (ORDER BY ended_at)) AS s"
        f" FROM attempt WHERE run_id = {run_id}"
    )
    return 0.6 * float(row["n"]) / max(float(row["s"]), 1e-6)


def with_reader(directory: Path, slots: int, repeats: int) -> float:
    """How much longer a run takes while somebody asks heavy questions all the time."""
    spec = workloads.programs(directory / "naps", 60 * slots, f"/bin/sleep {NAP_S}")
    alone, watched = [], []
    for _ in range(repeats):
        alone.append(workloads.run(spec, slots).recorded_s)
        with reading():
            watched.append(workloads.run(spec, slots).recorded_s)
    return statistics.median(watched) / statistics.median(alone) - 1


@contextmanager
def reading() -> Iterator[None]:
    """Somebody asks again as soon as there is an answer."""
    code = "import subprocess, sys\nwhile True: subprocess.run(sys.argv[1:], check=False)"
    words = [sys.executable, "-c", code, str(workloads.CLI), "query", "--sql", READER, "--json"]
    process = subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def idle_share(directory: Path, slots: int) -> float:
    """Of one core: what master, slaves and keepers take while programs sleep."""
    mark = str(directory)
    spec = workloads.programs(directory / "sleep", slots, f"/bin/sleep {IDLE_S + 20:.0f}")
    process = subprocess.Popen(
        workloads.command(spec, slots),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, workloads.MARK: mark},
    )
    while not any("/bin/sleep" in seen.words for seen in workloads.processes(mark)):
        time.sleep(0.2)
    time.sleep(2.0)
    before, began = workloads.engine_cpu_s(mark), time.perf_counter()
    time.sleep(IDLE_S)
    share = (workloads.engine_cpu_s(mark) - before) / (time.perf_counter() - began)
    process.wait()
    return share


def wake_up_s(directory: Path, slots: int) -> float:
    """When everybody sleeps: from a program's end to the start of the one that waits for it."""
    spec = workloads.chain(directory / "chain", LINKS, f"/bin/sleep {LINK_S}")
    run_id = workloads.run(spec, slots).run_id
    (row,) = workloads.ask(
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM gap)) AS s FROM"
        " (SELECT started_at - lag(ended_at) OVER (ORDER BY started_at) AS gap"
        f" FROM attempt WHERE run_id = {run_id}) AS links"
    )
    return float(row["s"])


def measure(options: argparse.Namespace) -> dict[str, Any]:
    counts = {
        "program": options.activations,
        "montage": options.montage,
        "function": options.functions,
    }
    with tempfile.TemporaryDirectory(prefix="scicumulus-bench-") as place:
        directory = Path(place)
        load = os.getloadavg()[0]
        samples = rates(directory, counts, options.slots, options.repeats, options.peers_python)
        slowdown = with_reader(directory, options.slots, options.repeats)
        idle = idle_share(directory, options.slots)
        wake_up = wake_up_s(directory, options.slots)
    spawn, pool = median(samples, "spawn"), median(samples, "pool")
    return {
        "activations": options.activations,
        "slots": options.slots,
        "repeats": options.repeats,
        "ratio_to_spawn": median(samples, "program") / spawn,
        "activations_per_s": median(samples, "program"),
        "spawn_per_s": spawn,
        "montage_activations": options.montage,
        "montage_per_s": median(samples, "montage"),
        "montage_ratio_to_spawn": median(samples, "montage") / spawn,
        "function_activations": options.functions,
        "functions_per_s": median(samples, "function"),
        "functions_steady_per_s": median(samples, "steady"),
        "process_pool_per_s": pool,
        "functions_ratio_to_process_pool": median(samples, "function") / pool,
        "peers_per_s": {
            f"{peer} {kind}": median(samples, f"{peer} {kind}")
            for kind in ("programs", "calls")
            for peer in peers.SHARES
            if f"{peer} {kind}" in samples
        },
        "start_up_s": median(samples, "start up"),
        "around_s": median(samples, "program around"),
        "reader_slowdown": slowdown,
        "idle_cpu_share": idle,
        "wake_up_ms": 1000 * wake_up,
        "load_before": load,
        "machine": workloads.machine(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--activations", type=int, default=10_000, help="programs")
    parser.add_argument("--montage", type=int, default=1000, help="programs of a mosaic")
    parser.add_argument("--functions", type=int, default=20_000, help="calls of a function")
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--peers-python", default="", metavar="PYTHON", help="a Python that has the peers installed"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    result = measure(options)
    if options.json:
        print(json.dumps(result, indent=2))
        return
    print(f"{result['machine']}; load before: {result['load_before']:.1f}")
    print(f"medians of {options.repeats}, {options.slots} slots, all durable in PostgreSQL")
    for text, name, form in (
        ("bare spawn loop, programs/s", "spawn_per_s", ",.0f"),
        ("no-op programs/s", "activations_per_s", ",.0f"),
        ("  as ratio to the loop", "ratio_to_spawn", ".2f"),
        ("mosaic of no-op programs/s", "montage_per_s", ",.0f"),
        ("  as ratio to the loop", "montage_ratio_to_spawn", ".2f"),
        ("no-op Python calls/s", "functions_per_s", ",.0f"),
        ("  without the workers' start", "functions_steady_per_s", ",.0f"),
        ("  ProcessPoolExecutor, nothing recorded", "process_pool_per_s", ",.0f"),
        ("one activation, the whole command, s", "start_up_s", ".2f"),
        ("a heavy reader makes a run longer by", "reader_slowdown", ".1%"),
        ("master, slaves, keepers while programs sleep", "idle_cpu_share", ".1%"),
        ("from an end to the next start then, ms", "wake_up_ms", ".1f"),
    ):
        print(f"  {text:46s} {format(result[name], form):>10s}")
    print("  peers, most of which record nothing; programs also as ratio to the loop")
    for peer, per_s in result["peers_per_s"].items():
        ratio = f"{per_s / result['spawn_per_s']:10.2f}" if peer.endswith("programs") else ""
        print(f"    {peer.replace('_', ' '):44s} {per_s:10,.0f}{ratio}")


if __name__ == "__main__":
    main()
