"""`scicumulus setup`: store the conceptual workflow."""

from __future__ import annotations

from pathlib import Path

import click

from scicore.cli.output import database_option, json_option, print_json, say


@click.command(epilog="Example: scicumulus setup workflow.xml")
@click.argument("spec", type=click.Path(path_type=Path))
@database_option
@json_option
def command(spec: Path, database_url: str | None, as_json: bool) -> None:
    """Store the workflow SPEC and make its relations' views, without planning or running it.

    `plan` and `run` do so by themselves.
    """
    from scicore.cli.loading import load
    from scicore.provenance.connection import connect
    from scicore.provenance.workflows import save_workflow

    specification = load(spec)
    with connect(database_url).engine.begin() as connection:
        workflow_id = save_workflow(connection, specification.workflow, specification.source)
    tag = specification.workflow.tag
    if as_json:
        print_json({"workflow_id": workflow_id, "workflow": tag})
    else:
        say(f"workflow {workflow_id} ({tag}) is stored; its relations are views in schema {tag}")
