"""The command line. One file per verb; a verb's file is imported only when it is called."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

import click

import scicore
from scicore import config

VERBS: Mapping[str, str] = {
    "init": "make a new workflow directory that runs as it is",
    "validate": "check a specification: all problems, with their lines",
    "show": "activities, relations, expected activations and a picture",
    "run": "run a workflow under mpirun and record its provenance",
    "plan": "make and store a schedule plan",
    "compare": "several planners side by side",
    "simulate": "what a plan would do, also under noise and failures",
    "whatif": "time and money of several fleets and planners, with their odds, before a launch",
    "explain": "why a plan is as it is; why an activation ran where and when, or does not run",
    "import": "a DAX or WfFormat trace becomes a workflow",
    "setup": "store a workflow without running it",
    "status": "runs, or one run's activities",
    "watch": "a run, live, from any terminal",
    "logs": "what an activation's program said: command, workspace, stdout, stderr",
    "report": "a run as one HTML file: charts, numbers, failures, lineage",
    "cancel": "give up a run, or a part of it",
    "pause": "let a run start nothing new",
    "resume": "let a paused run go on",
    "query": "ask the provenance database",
    "export": "a run as W3C PROV, RO-Crate, WfFormat, CSV or Parquet",
    "fetch": "bring a run's files home from hosts with their own disks",
    "cluster": "rent VMs, use and end them: up, configure, ls, renew, down, sweep, prices, bake",
    "slurm": "print the sbatch script that runs a workflow on a cluster",
    "doctor": "check that everything a run needs works",
    "db": "the provenance database: start, stop, url, shell, dump, restore",
}


class _Verbs(click.Group):
    """Lists the verbs without importing them, so that --help is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module = "import_" if cmd_name == "import" else cmd_name  # a word of Python's own
        command: click.Command = importlib.import_module(f"scicore.cli.{module}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(
    cls=_Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: scicumulus run workflows/sweep/workflow.xml",
)
@click.version_option(scicore.__version__, prog_name="scicumulus")
def scicumulus() -> None:
    """SciCumulus-RL: scientific workflows under MPI, with queryable provenance.

    Exit codes: 0 ok; 1 activations failed; 2 bad usage or specification; 3 infrastructure;
    4 stopped by the user or a limit; 5 a preflight check failed.
    """


def program() -> NoReturn:
    """The command as it is installed. It leaves without taking all of Python apart, object by
    object, which takes a tenth of a second or two and helps nobody."""
    code = main()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    atexit._run_exitfuncs()
    os._exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a verb; every error becomes a message and an exit code."""
    from scicore.cli.output import fail
    from scicore.errors import ScicumulusError

    gc.set_threshold(*config.SELDOM)
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = scicumulus.main(words, prog_name="scicumulus", standalone_mode=False)
        sys.stdout.flush()
        return int(code or 0)
    except ScicumulusError as error:
        return fail(error, as_json="--json" in words)
    except click.ClickException as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        return 4
    except BrokenPipeError:  # `| head` closed early: nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
