"""`scicumulus slurm`: the sbatch script of a run. It is only printed; nothing is submitted."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import click

from scicore.cli.output import json_option, print_json

_SCRIPT = """\
#!/bin/bash
{options}
# One slave per node, a slot per CPU; the master is beside the first. The nodes of the job must
# accept each other's SSH, as they do where pam_slurm_adopt is set up.
set -euo pipefail
hosts=$(mktemp)
trap 'rm -f "$hosts"' EXIT
scontrol show hostnames "$SLURM_JOB_NODELIST" |
    sed "s/\\$/ slots=${{SLURM_CPUS_ON_NODE:-1}}/" > "$hosts"
{command} --hostfile "$hosts"
"""


@click.command(
    epilog="Example: scicumulus slurm workflow.xml --nodes 4 -- --time=02:00:00 --partition=short"
)
@click.argument("spec", type=click.Path(path_type=Path))
@click.argument("sbatch", nargs=-1, metavar="[-- SBATCH_OPTION…]")
@click.option("--nodes", default=2, show_default=True, type=click.IntRange(1), help="Nodes.")
@click.option("--plan", "plan_id", type=int, metavar="ID", help="Follow this stored plan.")
@click.option("--algorithm", metavar="NAME", help="The planner, as in `run`.")
@json_option
def command(
    spec: Path,
    sbatch: tuple[str, ...],
    nodes: int,
    plan_id: int | None,
    algorithm: str | None,
    as_json: bool,
) -> int:
    """Print a script for `sbatch` that runs the workflow SPEC on the nodes of its job.

    What stands after `--` goes into the script as it is, one #SBATCH line each.
    """
    from scicore.errors import UsageError

    if not spec.exists():
        raise UsageError(f"there is no specification {spec}")
    for option in sbatch:
        if "\n" in option or not option.startswith("-"):
            raise UsageError(
                f"found {option!r} after --, expected options of sbatch",
                "write each as one word: -- --time=02:00:00 --partition=short",
            )
    words = [str(Path(sys.executable).with_name("scicumulus")), "run", str(spec.absolute())]
    words += ["--plan", str(plan_id)] if plan_id is not None else []
    words += ["--algorithm", algorithm] if algorithm else []
    name = re.sub(r"[^\w.-]+", "-", spec.absolute().parent.name)
    asked = (f"--job-name={name}", f"--nodes={nodes}", "--exclusive")
    options = "\n".join(f"#SBATCH {option}" for option in (*asked, "--ntasks-per-node=1", *sbatch))
    script = _SCRIPT.format(options=options, command=shlex.join(words))
    if as_json:
        print_json({"script": script})
    else:
        click.echo(script, nl=False)
    return 0
