"""Do plans get better at predicting as runs are recorded? Real runs of replayed traces say.

    python bench/learning.py [--runs 10] [--activations 40] [--traces 2] [--json]

Each trace (Montage-shaped, generated) is run again and again through the whole stack, with
programs that sleep for their scaled runtimes, on slaves of this machine. Before each run a plan is
made from what earlier runs have left in provenance, and its predicted makespan is compared with
what the run then takes. The database is one of its own, so nothing is known before the first run.
Errors are relative to the median of all measured makespans of a trace, because a single run on a
busy machine may be off by more than the prediction.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CLI = Path(sys.executable).parent / "scicumulus"
GENERATOR = Path(__file__).parents[1] / "workflows" / "montage_trace" / "generate.py"


def scicumulus(home: Path, *words: str | Path) -> Any:
    done = subprocess.run(
        [CLI, *words, "--json"],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=home,
        env={**os.environ, "SCICUMULUS_HOME": str(home)},
    )
    return json.loads(done.stdout)


def learn(home: Path, trace: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Run the trace `runs` times, then plan once more."""
    how = ("--replay", "--sleep", "--time-scale", str(options.time_scale), "--size-scale", "0.001")
    cloud = ("--fleet", options.fleet, "--algorithm", "heft")
    predicted_s, measured_s = [], []
    for number in range(1, options.runs + 2):  # the last one only shows what the plan is worth
        run = scicumulus(home, "run", trace, *how, *cloud)
        predicted_s.append(run["predicted_makespan_s"])
        measured_s.append(run["makespan_s"])
        if not options.json:
            error = predicted_s[-1] / measured_s[-1] - 1
            print(
                f"{trace.stem} run {number:2}: predicted {predicted_s[-1]:7.3f} s, "
                f"measured {measured_s[-1]:7.3f} s ({error:+.1%})",
                flush=True,
            )
    truth_s = statistics.median(measured_s)
    errors = [abs(seconds / truth_s - 1) for seconds in predicted_s]
    return {
        "trace": trace.stem,
        "predicted_s": predicted_s,
        "measured_s": measured_s,
        "error_before_any_run": errors[0],
        "error_after_first": errors[1],
        "error_after_last": errors[-1],
    }


def measure(options: argparse.Namespace) -> dict[str, Any]:
    home = Path(tempfile.mkdtemp(prefix="scicumulus-bench-"))
    home.chmod(0o755)  # as root the database runs as somebody else
    try:
        results = []
        for number in range(1, options.traces + 1):
            trace = home / f"montage{number}.json"
            size = ("--activations", str(options.activations), "--seed", str(number))
            subprocess.run([sys.executable, GENERATOR, *size, "-o", trace], check=True)
            # traces bear the same name: each gets one of its own, or they would learn together
            trace.write_text(trace.read_text().replace('"montage', f'"m{number}ontage', 1))
            results.append(learn(home, trace, options))
    finally:
        environment = {**os.environ, "SCICUMULUS_HOME": str(home)}
        subprocess.run(
            [CLI, "db", "stop"], env=environment, capture_output=True, check=False, cwd="/"
        )
        shutil.rmtree(home)
    means = {
        key: statistics.fmean(result[key] for result in results)
        for key in ("error_before_any_run", "error_after_first", "error_after_last")
    }
    return {
        "runs": options.runs,
        "activations": options.activations,
        "time_scale": options.time_scale,
        "fleet": options.fleet,
        **means,
        "closer_than_before_any_run": means["error_after_last"] < means["error_before_any_run"],
        "closer_than_after_first": means["error_after_last"] < means["error_after_first"],
        "traces": results,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--activations", type=int, default=40)
    parser.add_argument("--traces", type=int, default=2)
    parser.add_argument("--time-scale", type=float, default=0.02)
    parser.add_argument("--fleet", default="3xlocal:2")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = measure(options)
    if options.json:
        print(json.dumps(result, indent=2))
        return
    print(
        f"error of the predicted makespan: {result['error_before_any_run']:.1%} before any run, "
        f"{result['error_after_first']:.1%} after the first, "
        f"{result['error_after_last']:.1%} after {options.runs} runs"
    )


if __name__ == "__main__":
    main()
