"""`scicumulus explain ACTIVATION`: why it ran where and when, or why it does not run."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from scicore.cli.output import database_option, json_option, print_json

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from scicore.provenance.story import Story


class ActivationOrPlan(click.Group):
    """What is no subcommand is an activation: `explain plan 7`, `explain fit.3`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands:
            args = ["activation", *args]
        return super().resolve_command(ctx, args)


@click.command("activation", epilog="Example: scicumulus explain mProject.3 --run last")
@click.argument("activation", metavar="ACTIVATION")
@click.option("--run", default="last", show_default=True, help="A run's number, or last.")
@database_option
@json_option
def explain_activation(activation: str, run: str, database_url: str | None, as_json: bool) -> None:
    """Why ACTIVATION (a name such as mProject.3, or its number) ran where and when it did; or why
    it is not running.
    """
    from scicore.provenance.connection import connect, reading
    from scicore.provenance.reader import resolve_run
    from scicore.provenance.story import story_of
    from scicore.reports.explanation import explain

    with reading(connect(database_url).engine) as connection:
        story = story_of(connection, resolve_run(connection, run), activation)
        reasons = explain(story, _chosen_because(connection, story))
    if as_json:
        print_json({**_document(story), "reasons": reasons})
        return
    number = "" if story.activation_id is None else f" (activation {story.activation_id})"
    state = "not there yet" if story.state == "expected" else story.state
    click.echo(f"{click.style(story.name, bold=True)}{number} of run {story.run_id}: {state}")
    for reason in reasons:
        click.echo(f"  {reason}")


def _chosen_because(connection: Connection, story: Story) -> str:
    """The planner's choice in words, as `explain plan` has it; empty when it is not known."""
    from scicore.cli.explain import because
    from scicore.cli.explained_groups import choices_of
    from scicore.provenance.grounds import load_problem
    from scicore.provenance.plans import load_plan

    if story.foreseen is None:
        return ""
    _, plan = load_plan(connection, story.plan_id)
    problem = load_problem(connection, story.plan_id, plan.fleet)
    if problem is None or story.name not in problem.activations:
        return ""
    made = choices_of(connection, story.plan_id, plan, problem, frozenset({story.name}))
    return because(made[0]) if made else ""


def _document(story: Story) -> dict[str, object]:
    document = asdict(story)
    document["attempts"] = [
        {"number": each.number, "vm": each.vm, "host": each.host, "cause": each.cause,
         "started_at": each.started_at, "ended_at": each.ended_at, "exit_code": each.exit_code,
         "cpus": each.cpus, "memory_mb": each.memory_mb, "asked_cpus": each.asked_cpus,
         "asked_memory_mb": each.asked_memory_mb, "peak_rss_bytes": each.peak_rss_bytes,
         "sized_because": each.sized_because}
        for each in story.attempts
    ]  # fmt: skip
    return document
