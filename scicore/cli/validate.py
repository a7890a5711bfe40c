"""`scicumulus validate`: everything that is wrong with a specification, at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from scicore.cli.output import json_option, print_json
from scicore.errors import Defect, SpecificationError


@dataclass(frozen=True, slots=True)
class _Verdict:
    kind: str  # scicumulus, dax, wfformat
    defects: tuple[Defect, ...]
    warnings: tuple[str, ...]
    summary: str = ""  # of what is valid


@click.command(epilog="Example: scicumulus validate workflow.xml")
@click.argument("spec", type=click.Path(path_type=Path))
@json_option
def command(spec: Path, as_json: bool) -> int:
    """Check the workflow SPEC (SciCumulus XML, DAX, WfFormat) and the data it names.

    Prints all problems and warnings with their lines. Exit code 0: it can be run; 2: it cannot.
    """
    verdict = _judge(spec)
    if as_json:
        names = ("file", "line", "found", "expected")
        print_json(
            {
                "spec": str(spec),
                "kind": verdict.kind,
                "valid": not verdict.defects,
                "problems": [
                    {name: getattr(defect, name) for name in names} for defect in verdict.defects
                ],
                "warnings": verdict.warnings,
            }
        )
    else:
        _print(spec, verdict)
    return SpecificationError.exit_code if verdict.defects else 0


def _judge(spec: Path) -> _Verdict:
    from scicore.spec.trace import kind_of, load_trace

    try:
        kind = kind_of(spec)
    except SpecificationError as error:
        return _Verdict("unknown", error.defects, ())
    if kind == "scicumulus":
        return _judge_workflow(spec)
    try:
        trace = load_trace(spec)
    except SpecificationError as error:
        return _Verdict(kind, error.defects, ())
    activities = len({task.activity for task in trace.tasks})
    edges = sum(len(task.parents) for task in trace.tasks)
    summary = f"{_many(activities, 'activity')}, {_many(len(trace.tasks), 'activation')}, "
    return _Verdict(kind, (), trace.warnings, summary + _many(edges, "edge"))


def _judge_workflow(spec: Path) -> _Verdict:
    from scicore.spec.scicumulus_xml import inspect_workflow

    inspected = inspect_workflow(spec)
    summary = ""
    if inspected.loaded is not None:
        workflow = inspected.loaded.workflow
        tuples = sum(len(dataset.rows) for dataset in workflow.datasets)
        summary = f"{_many(len(workflow.activities), 'activity')}, "
        summary += f"{_many(len(workflow.datasets), 'dataset')} with {_many(tuples, 'tuple')}"
    return _Verdict("scicumulus", inspected.defects, inspected.warnings, summary)


def _print(spec: Path, verdict: _Verdict) -> None:
    problem, warning = click.style("problem:", fg="red"), click.style("warning:", fg="yellow")
    for defect in verdict.defects:
        click.echo(f"{problem} {defect}")
    for text in verdict.warnings:
        click.echo(f"{warning} {text}")
    told = _many(len(verdict.warnings), "warning")
    if verdict.defects:
        click.echo(f"{spec} cannot be run: {_many(len(verdict.defects), 'problem')}, {told}")
    else:
        click.echo(f"{spec} is valid: {verdict.summary}; {told}")


def _many(count: int, noun: str) -> str:
    if count == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count or 'no'} {plural}"
