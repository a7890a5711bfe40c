"""`make demo`: a real workflow under mpirun, then two questions to its provenance."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

CLI = Path(sys.executable).parent / "scicumulus"
WORKFLOW = Path(__file__).parent / "climate" / "workflow.xml"


def scicumulus(*words: str) -> None:
    """Show the command, run it, and stop the demo if it fails."""
    print(f"\n$ scicumulus {shlex.join(words)}", flush=True)
    code = subprocess.run([CLI, *words], check=False).returncode
    if code:
        sys.exit(f"the demo stopped: exit code {code}; `{CLI} doctor` checks what a run needs")


def first_result() -> str:
    answer = subprocess.run(
        [CLI, "query", "outputs", "--run", "last", "--json"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return str(json.loads(answer.stdout)[0]["tuple"])


def main() -> None:
    workflow = str(WORKFLOW.relative_to(Path.cwd())) if WORKFLOW.is_absolute() else str(WORKFLOW)
    print("Is it getting warmer? Six weather stations, five decades each: 72 activations,")
    print("under mpirun with one master and two slaves, every step recorded in PostgreSQL.")
    scicumulus("run", workflow, "--fleet", "2xlocal")
    print("\nThe results, and where the first one came from:")
    scicumulus("query", "outputs", "--run", "last")
    scicumulus("query", "lineage", "--run", "last", "--set", f"tuple={first_result()}")
    cli = shlex.quote(str(CLI.relative_to(Path.cwd())))
    print("\nTry next:")
    print(f"  {cli} query                    the questions that can be asked")
    print(f"  {cli} query times              where the time went")
    print(f"  {cli} run {workflow}    again: now the plan knows the runtimes")
    print(f"  {cli} db shell                 psql on the provenance")
    print(f"The embedded PostgreSQL keeps running for queries; {cli} db stop ends it.")


if __name__ == "__main__":
    main()
