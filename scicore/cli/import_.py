"""`scicumulus import`: a trace of another system becomes a workflow in our XML."""

from __future__ import annotations

from pathlib import Path

import click

from scicore.cli.output import json_option, print_json, say


@click.command(epilog="Example: scicumulus import Montage_50.xml -o montage/workflow.xml")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("workflow.xml"),
    show_default=True,
    help="The XML to write; datasets go beside it.",
)
@click.option("--force", is_flag=True, help="Write over what is there.")
@click.option("--time-scale", default=1.0, show_default=True, help="Runtimes times this.")
@click.option("--size-scale", default=1.0, show_default=True, help="File sizes times this.")
@json_option
def command(
    file: Path, output: Path, force: bool, time_scale: float, size_scale: float, as_json: bool
) -> None:
    """Import FILE, a Pegasus DAX (2.1, 3.x) or a WfCommons WfFormat (1.4, 1.5) trace.

    The workflow that comes out replays the trace: every activation takes its runtime and reads
    and writes files of its sizes. Change the commands to make it a workflow of your own.
    """
    from scicore.cli.loading import Replay, load_replay
    from scicore.errors import UsageError
    from scicore.spec.trace import kind_of
    from scicore.spec.write import write_workflow

    if kind_of(file) == "scicumulus":
        raise UsageError(f"{file} is SciCumulus XML already; expected a DAX or a WfFormat trace")
    if output.exists() and not force:
        raise UsageError(f"{output} is there already", "choose another -o, or add --force")
    specification = load_replay(file, Replay(time_scale, size_scale), output.absolute().parent)
    output.parent.mkdir(parents=True, exist_ok=True)
    written = write_workflow(specification.workflow, output.parent)
    if written != output:
        written.replace(output)
    activations = sum(len(dataset.rows) for dataset in specification.workflow.datasets)
    if as_json:
        print_json(
            {
                "workflow": str(output),
                "activities": len(specification.workflow.activities),
                "activations": activations,
            }
        )
    else:
        activities = len(specification.workflow.activities)
        say(f"{output}: {activities} activities, {activations} activations")
        say(f"try: scicumulus show {output};  scicumulus plan {output} --fleet 8xt2.micro")
