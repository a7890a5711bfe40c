"""`make demo`: a mosaic of the sky, planned, run under mpirun, drawn, and asked about."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from scicore.cli import VERBS

BIN = Path(sys.executable).parent
MONTAGE = Path(os.path.relpath(Path(__file__).parent / "montage"))
WORKFLOW = str(MONTAGE / "workflow.xml")
RESULTS = Path("demo")
TILES, FLEET, CLOUD = 4, "2xlocal", "3xt2.micro,1xt2.large"
STOPPED = 4  # the exit code of a command that the user has stopped
# As in an activated .venv: the workflow's programs are started as `python3 …`.
ENVIRONMENT = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"}


def typed(*words: str) -> str:
    """A command as one would type it; SQL has single quotes of its own."""
    return " ".join(f'"{word}"' if "'" in word else shlex.quote(word) for word in words)


def say(*lines: str) -> None:
    print("", *lines, sep="\n", flush=True)


def execute(*words: str, quiet: bool = False) -> str:
    """Show the command, run it, and stop the demo if it fails; what it says, if not shown."""
    if not quiet:
        print(f"\n$ {typed(*words)}", flush=True)
    # Ctrl-C reaches the command as well: it gets the time to end what it has started.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    done = subprocess.run(
        [BIN / words[0], *words[1:]],
        check=False,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE if quiet else None,
        text=True,
    )
    signal.signal(signal.SIGINT, before)
    if done.returncode in (STOPPED, -signal.SIGINT):
        raise KeyboardInterrupt
    if done.returncode:
        sys.exit(
            f"the demo stopped: `{typed(*words)}` ended with exit code {done.returncode}; "
            f"{BIN / 'scicumulus'} doctor checks what a run needs"
        )
    return done.stdout or ""


def scicumulus(*words: str) -> None:
    execute("scicumulus", *words)


def answer(*words: str) -> Any:
    return json.loads(execute("scicumulus", *words, "--json", quiet=True))


def make_images_and_measure() -> None:
    say(
        "1. A telescope has taken overlapping images in three colours. They are turned, shifted,",
        "   and each has another background. Nobody knows yet how long anything takes: the first",
        "   run measures.",
    )
    execute("python", str(MONTAGE / "observe.py"), "--tiles", str(TILES))
    scicumulus("run", WORKFLOW, "--fleet", FLEET)


def learn_plan() -> int:
    say(
        "2. Now a plan is learned from what was measured: which activation runs where, and when.",
        "   The bound is what no schedule can beat; HEFT is the classic to compare with.",
    )
    algorithms = ("--algorithms", "fcfs,heft,reassign-plus", "--budget", "5s")
    scicumulus("compare", WORKFLOW, "--fleet", FLEET, *algorithms)
    say("   The same mosaic on four VMs of a cloud, of two kinds:")
    scicumulus("compare", WORKFLOW, "--fleet", CLOUD, *algorithms)
    words = ("plan", WORKFLOW, "--fleet", FLEET, "--algorithm", "reassign-plus", "--budget", "5s")
    print(f"\n$ scicumulus {typed(*words)}")
    plan = answer(*words)
    print(
        f"plan {plan['plan_id']}: {plan['activations']} activations in {plan['makespan_s']:.2f} s, "
        f"at most {plan['gap']:.1%} above the bound of {plan['lower_bound_s']:.2f} s",
        flush=True,
    )
    return int(plan["plan_id"])


def run(plan_id: int) -> int:
    say("3. The mosaic, by that plan, under mpirun: one master, two slaves.")
    scicumulus("run", WORKFLOW, "--plan", str(plan_id))
    return int(answer("status", "last")["run_id"])


def draw(run_id: int) -> int:
    """The pictures of a run, to where they are easily found; gives the tuple of the mosaic's."""
    say("4. The pictures:")
    sql = "SELECT tuple_id, version, picture FROM montage.pictures WHERE run_id = :run"
    pictures = answer("query", "--sql", sql, "--run", str(run_id))
    names = {"corrected": "mosaic.png", "raw": "mosaic-uncorrected.png"}
    for picture in pictures:
        copy = RESULTS / names[picture["version"]]
        shutil.copyfile(picture["picture"], copy)
        print(f"   {copy}")
    return next(int(row["tuple_id"]) for row in pictures if row["version"] == "corrected")


def ask(run_id: int, picture: int) -> None:
    say("5. Five questions to the provenance of the run, which is in PostgreSQL.")
    chosen = ("--run", str(run_id))
    print("\nDid matching the backgrounds help? (unevenness of the dark sky)")
    scicumulus(
        *("query", *chosen, "--sql"),
        "SELECT band, max(spread) FILTER (WHERE version = 'raw') AS before, "
        "max(spread) FILTER (WHERE version = 'corrected') AS after "
        "FROM montage.small_ones WHERE run_id = :run GROUP BY band ORDER BY band",
    )
    print("\nWhich images disagreed most where they overlap?")
    scicumulus(
        *("query", *chosen, "--sql"),
        "SELECT band, plus, minus, c AS level, npixel AS pixels FROM montage.differences "
        "WHERE run_id = :run ORDER BY abs(c) DESC LIMIT 3",
    )
    print("\nWhere did the time go?")
    scicumulus("query", "times", *chosen)
    print("\nWere both VMs busy?")
    scicumulus("query", "vm_utilisation", *chosen)
    print("\nWhat is behind the picture?")
    words = ("query", "lineage", *chosen, "--set", f"tuple={picture}")
    print(f"\n$ scicumulus {typed(*words)} --json   (counted)")
    behind = Counter(row["relation"] for row in answer(*words))
    print(", ".join(f"{count} {relation}" for relation, count in behind.items()), flush=True)


def report(run_id: int) -> None:
    if "report" in VERBS:
        say("6. All of it in one file that opens in a browser:")
        scicumulus("report", str(run_id), "-o", str(RESULTS / "report.html"))


def try_next(run_id: int, took_s: float) -> None:
    observe = f"python {MONTAGE / 'observe.py'}"
    suggestions = (
        (f". {os.path.relpath(BIN)}/activate", ""),
        (f"{observe} --tiles 8", "a larger sky: 1,037 activations"),
        (f"{observe} --images DIR", "or your own FITS images"),
        (f"scicumulus run {WORKFLOW}", "the mosaic of it"),
        ("scicumulus query", "all questions that have a name"),
        (f"scicumulus export {run_id} --format ro-crate -o demo/crate.zip", "to take it along"),
        ("docs/tutorial.md", "a workflow of your own, step by step"),
    )
    width = max(len(command) for command, _ in suggestions)
    say(
        f"That took {took_s:.0f} s. Look at {RESULTS / 'mosaic.png'}, then try:",
        *(f"  {command:{width}}  {what}".rstrip() for command, what in suggestions),
        "PostgreSQL keeps running for queries; `scicumulus db stop` ends it.",
    )


def require_montage() -> None:
    if find_spec("MontagePy") is None:
        sys.exit(
            "the demo needs MontagePy, which has no wheel for this Python or machine (Linux on "
            "x86_64 with Python 3.11 to 3.13 has one); instead try: "
            f"{BIN / 'scicumulus'} run workflows/climate/workflow.xml"
        )


def main() -> None:
    began = time.monotonic()
    require_montage()
    RESULTS.mkdir(exist_ok=True)
    make_images_and_measure()
    run_id = run(learn_plan())
    picture = draw(run_id)
    ask(run_id, picture)
    report(run_id)
    try_next(run_id, time.monotonic() - began)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("the demo was stopped; `make demo` begins anew")
