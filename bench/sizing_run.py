"""Real runs of programs that take real memory and real threads, before and after learning.

    python bench/sizing_run.py [--runs 4] [--activations 24] [--sizing quantile] [--json]

The whole stack (mpirun, PostgreSQL, processes) on one slave of this machine with eight slots and
600 MB. Each activation reads a file, holds six bytes per byte of it, computes with as many
threads as it is told to have, and waits. It declares 2 CPUs and 160 MB. The first run is sized as
declared, the others by the sizer; the database is one of its own.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.learning import scicumulus

FLEET = "1xlocal:8:600mb"
PROGRAM = """
import hashlib, os, sys, threading, time
size = os.path.getsize(sys.argv[1])
held = bytearray(b"x") * (6 * size)
def work(): hashlib.sha256(held).digest()
threads = [threading.Thread(target=work) for _ in range(int(os.environ["OMP_NUM_THREADS"]))]
for each in threads: each.start()
for each in threads: each.join()
time.sleep(0.8)
open("ERelation.txt", "w").write("ID\\n" + sys.argv[2])
"""
SPECIFICATION = """<SciCumulus>
  <conceptualWorkflow tag="sizing-run">
    <activity tag="load" type="MAP" cpus="2" memory="160"
              activation="{python} -S %=WFDIR%/program %=DATA% %=ID%">
      <relation reltype="Input" name="input"/>
      <relation reltype="Output" name="output"/>
      <field name="ID" type="string" input="input" output="output"/>
      <field name="DATA" type="file" input="input"/>
    </activity>
  </conceptualWorkflow>
  <executionWorkflow tag="sizing-run" max_failure="1">
    <relation name="input" filename="input.dataset"/>
  </executionWorkflow>
</SciCumulus>
"""


def write(directory: Path, activations: int) -> Path:
    rng = np.random.default_rng(0)
    lines = ["ID;DATA"]
    for number in range(activations):
        file = directory / f"data{number}"
        file.write_bytes(b"x" * int(rng.uniform(1e6, 9e6)))
        lines.append(f"{number};{file}")
    (directory / "input.dataset").write_text("\n".join(lines) + "\n")
    (directory / "program").write_text(PROGRAM)
    spec = directory / "workflow.xml"
    spec.write_text(SPECIFICATION.format(python=sys.executable))
    return spec


def measure(home: Path, spec: Path, sizing: str) -> dict[str, Any]:
    run = scicumulus(home, "run", spec, "--fleet", FLEET, "--sizing", sizing)
    (row,) = scicumulus(home, "query", "sizes", "--run", str(run["run_id"]))
    return {
        "sizing": sizing,
        "state": run["state"],
        "makespan_s": run["makespan_s"],
        "attempts": run["attempts"],
        **{key: row[key] for key in ("killed", "given_cpus", "given_mb", "peak_mb", "wasted_gb_h")},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--activations", type=int, default=24)
    parser.add_argument("--sizing", default="quantile")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="scicumulus-sizing-", dir="/tmp"))
    home.chmod(0o755)
    try:
        spec = write(home, options.activations)
        sizers = ["fixed", *[options.sizing] * (options.runs - 1)]
        runs = [measure(home, spec, sizing) for sizing in sizers]
    finally:
        scicumulus(home, "db", "stop")
        shutil.rmtree(home)
    if options.json:
        print(json.dumps({"runs": runs}, indent=2))
        return
    head = f"{'':12}{'state':10}{'makespan s':>11}{'killed':>8}{'CPUs':>6}{'MB':>7}{'peak':>7}"
    print(f"{head}{'wasted MB h':>13}")
    for run in runs:
        print(
            f"{run['sizing']:12}{run['state']:10}{run['makespan_s']:>11.2f}{run['killed']:>8}"
            f"{run['given_cpus']:>6.1f}{run['given_mb']:>7.1f}{run['peak_mb']:>7.1f}"
            f"{1024 * run['wasted_gb_h']:>13.2f}"
        )


if __name__ == "__main__":
    main()
