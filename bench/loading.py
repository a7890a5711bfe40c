"""What it takes to load a trace: seconds and peak memory, per activation, at growing sizes.

    python bench/loading.py [--sizes 1000 10000 100000] [--repeats 3] [--json]

Loading is linear when the figures per activation do not grow with the size. Each measurement is
a fresh process that loads a Montage-shaped trace and makes a workflow of it; its memory is what
it has at its peak beyond what it had after its imports. Ratios are of CPU seconds, because others
may use the machine, too.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

GENERATOR = Path(__file__).resolve().parents[1] / "workflows/montage_trace/generate.py"
FORMATS = ("wfformat", "dax")
LOAD = """\
import json, resource, sys, time
from pathlib import Path
from scicore.spec.trace import load_trace, trace_workflow
unit = 1 if sys.platform == "darwin" else 1024
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
before, started, cpu = peak(), time.perf_counter(), time.process_time()
trace = load_trace(Path(sys.argv[1]))
loaded, cpu = time.perf_counter(), time.process_time() - cpu
trace_workflow(trace, Path("/"), "true")
print(json.dumps({
    "activations": len(trace.tasks),
    "edges": sum(len(task.parents) for task in trace.tasks),
    "load_s": loaded - started,
    "load_cpu_s": cpu,
    "workflow_s": time.perf_counter() - loaded,
    "peak_bytes": peak(),
    "grown_bytes": peak() - before,
}))
"""


def load(path: Path) -> dict[str, float]:
    """One measurement, in a process of its own: peaks of memory never come down again."""
    words = [sys.executable, "-c", LOAD, str(path)]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def measure(sizes: list[int], repeats: int) -> list[dict[str, object]]:
    results: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="scicumulus-bench-") as directory:
        for format_ in FORMATS:
            for size in sizes:
                path = Path(directory) / f"{format_}-{size}"
                words = [sys.executable, str(GENERATOR), "--activations", str(size)]
                subprocess.run([*words, "--format", format_, "-o", str(path)], check=True)
                figures = [load(path) for _ in range(repeats)]
                median = {
                    name: statistics.median(each[name] for each in figures) for name in figures[0]
                }
                results.append({"format": format_, "file_bytes": path.stat().st_size, **median})
                results[-1]["cpu_us_per_activation"] = 1e6 * median["load_cpu_s"] / size
                results[-1]["bytes_per_activation"] = median["grown_bytes"] / size
    return results


def growth(results: list[dict[str, object]], figure: str) -> dict[str, float]:
    """Per format, the figure at the largest size divided by that at the smallest: 1 is linear."""
    ratios = {}
    for format_ in FORMATS:
        values = [float(str(each[figure])) for each in results if each["format"] == format_]
        ratios[format_] = values[-1] / values[0] if values[0] else 0.0
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    results = measure(sorted(options.sizes), options.repeats)
    time_growth = growth(results, "cpu_us_per_activation")
    memory_growth = growth(results, "bytes_per_activation")
    if options.json:
        document = {
            "repeats": options.repeats,
            "results": results,
            "time_growth": time_growth,
            "memory_growth": memory_growth,
        }
        print(json.dumps(document, indent=2))
        return
    print("format    activations    edges   load s   CPU s   peak MB   CPU µs each   bytes each")
    for each in results:
        print(
            f"{each['format']:8} {each['activations']:12.0f} {each['edges']:8.0f} "
            f"{each['load_s']:8.2f} {each['load_cpu_s']:7.2f} "
            f"{float(str(each['peak_bytes'])) / 2**20:9.0f} "
            f"{each['cpu_us_per_activation']:13.1f} {each['bytes_per_activation']:12.0f}"
        )
    for what, ratios in (("CPU", time_growth), ("memory", memory_growth)):
        told = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
        print(f"{what} per activation at the largest size, to that at the smallest: {told}")


if __name__ == "__main__":
    main()
