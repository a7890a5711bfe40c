"""`scicumulus show`: what a workflow is made of, what is expected to run, and its picture."""

from __future__ import annotations

import shutil
import statistics
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scicore.cli.output import json_option, print_json, print_table, say

if TYPE_CHECKING:
    from scicore.algebra.forecast import Forecast
    from scicore.model.workflow import Activity, Relation, Workflow
    from scicore.reports.dag_layout import Graph

WIDE = 200  # columns of a picture when nobody's terminal limits it
WARNINGS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class _Flow:
    """One activity feeds another."""

    source: str
    target: str
    relation: str | None  # None: explicit edges, as in traces
    edges: int  # between their activations


@dataclass(frozen=True, slots=True)
class _View:
    kind: str  # scicumulus, dax, wfformat
    workflow: Workflow
    expected: Forecast
    counts: Counter[str]  # expected activations, by activity
    flows: tuple[_Flow, ...]
    warnings: tuple[str, ...]


@click.command(epilog="Example: scicumulus show workflow.xml --dag workflow.svg")
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--dag",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the picture as FILE.svg or FILE.png.",
)
@json_option
def command(spec: Path, dag: Path | None, as_json: bool) -> None:
    """Show the workflow SPEC (SciCumulus XML, DAX, WfFormat): activities, relations, picture.

    Expected activations marked with ≈ depend on what programs answer: SPLIT_MAP is taken to give
    one tuple, FILTER to pass it on.
    """
    from scicore.reports.dag import draw_picture

    view = _view(spec)
    for warning in view.warnings[:WARNINGS_SHOWN]:
        say(f"warning: {warning}")
    if len(view.warnings) > WARNINGS_SHOWN:
        say(f"warning: and {len(view.warnings) - WARNINGS_SHOWN} more; see scicumulus validate")
    if dag is not None:
        draw_picture(_graph(view), dag)
        say(f"picture: {dag}")
    if as_json:
        print_json(_document(view))
    else:
        _print(view)


def _view(spec: Path) -> _View:
    from scicore.algebra.forecast import forecast
    from scicore.spec import load_workflow
    from scicore.spec.trace import kind_of, load_trace, trace_workflow

    kind = kind_of(spec)
    if kind == "scicumulus":
        loaded = load_workflow(spec)
        workflow, warnings = loaded.workflow, loaded.warnings
    else:
        trace = load_trace(spec)
        workflow = trace_workflow(trace, Path.cwd(), command=f"replay of {spec.name}")
        warnings = trace.warnings
    expected = forecast(workflow)
    flows = _flows(workflow, expected)
    return _View(kind, workflow, expected, Counter(expected.activities), flows, warnings)


def _flows(workflow: Workflow, expected: Forecast) -> tuple[_Flow, ...]:
    """Who feeds whom, as the relations say; and as explicit edges say."""
    edges = Counter(
        (expected.activities[parent], expected.activities[child])
        for parent, child in expected.edges
    )
    declared = {
        (source.producer, activity.tag): source.relation.name
        for activity in workflow.activities
        for source in activity.sources
        if source.producer is not None
    }
    explicit = {activity.tag for activity in workflow.activities if activity.parents_field}
    flows = [_Flow(*pair, relation, edges[pair]) for pair, relation in declared.items()]
    flows += [
        _Flow(*pair, None, number)
        for pair, number in edges.items()
        if pair not in declared and pair[1] in explicit
    ]
    return tuple(flows)


def _is_exact(activity: Activity, workflow: Workflow) -> bool:
    """Whether the number of activations is known before any program has run."""
    from scicore.model.workflow import Operator

    if activity.producer is None:
        return True
    producer = workflow.activity(activity.producer)
    known = producer.operator in (Operator.MAP, Operator.REDUCE)
    return known and activity.operator is not Operator.REDUCE and _is_exact(producer, workflow)


def _count(activity: Activity, view: _View) -> str:
    from scicore.model.workflow import QUERIES

    if activity.operator in QUERIES:
        return ""
    count = str(view.counts[activity.tag])
    return count if _is_exact(activity, view.workflow) else f"≈ {count}"


def _graph(view: _View) -> Graph:
    """Datasets are part of the picture, but for traces, where each activity has its own."""
    from scicore.reports.dag_layout import Edge, Graph, Node

    workflow = view.workflow
    explicit = {each.input.name for each in workflow.activities if each.parents_field}
    shown = [each for each in workflow.datasets if each.relation.name not in explicit]
    notes = {each.relation.name: f"dataset {each.relation.name}" for each in shown}  # ids
    nodes = [
        Node(notes[each.relation.name], each.relation.name, "dataset", _tuples(len(each.rows)))
        for each in shown
    ]
    nodes += [
        Node(each.tag, each.tag, each.operator.value, _times(_count(each, view)))
        for each in workflow.activities
    ]
    edges = [
        Edge(notes[source.relation.name], activity.tag)
        for activity in workflow.activities
        for source in activity.sources
        if source.producer is None and source.relation.name in notes
    ]
    edges += [Edge(flow.source, flow.target, flow.relation or "") for flow in view.flows]
    return Graph(workflow.tag, tuple(nodes), tuple(edges), workflow.description)


def _times(count: str) -> str:
    return f"× {count}" if count.isdecimal() else count


def _tuples(count: int) -> str:
    return "1 tuple" if count == 1 else f"{count} tuples"


def _document(view: _View) -> dict[str, Any]:
    workflow = view.workflow
    tuples = {each.relation.name: len(each.rows) for each in workflow.datasets}
    makers = {each.output.name: each.tag for each in workflow.activities}
    return {
        "workflow": workflow.tag,
        "description": workflow.description,
        "kind": view.kind,
        "activities": [
            {
                "tag": activity.tag,
                "operator": activity.operator,
                "description": activity.description,
                "command": activity.command,
                "operand": activity.operand,
                "reads": [
                    {"relation": source.relation.name, "producer": source.producer}
                    for source in activity.sources
                ],
                "gives": activity.output.name,
                "activations": view.counts[activity.tag],
                "exact": _is_exact(activity, workflow),
            }
            for activity in workflow.activities
        ],
        "relations": [
            {
                "name": relation.name,
                "producer": makers.get(relation.name),
                "tuples": tuples.get(relation.name),
                "fields": [
                    {
                        "name": field.name,
                        "type": field.type,
                        "decimal_places": field.decimal_places,
                    }
                    for field in relation.fields
                ],
            }
            for relation in workflow.relations
        ],
        "activations": len(view.expected.names),
        "edges": len(view.expected.edges),
        "activity_edges": [
            {
                "source": flow.source,
                "target": flow.target,
                "relation": flow.relation,
                "edges": flow.edges,
            }
            for flow in view.flows
        ],
        "warnings": view.warnings,
    }


def _print(view: _View) -> None:
    from scicore.reports.dag_text import draw_text

    workflow = view.workflow
    about = f": {workflow.description}" if workflow.description else ""
    click.echo(click.style(workflow.tag, bold=True) + about)
    numbers = f"{len(view.expected.names)} expected activations, {len(view.expected.edges)} edges"
    click.echo(f"{len(workflow.activities)} activities, {numbers}\n")
    _print_activities(view)
    if view.kind == "scicumulus":
        click.echo()
        _print_relations(workflow)
    click.echo()
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDE
    click.echo(draw_text(_graph(view), columns))


def _print_activities(view: _View) -> None:
    """Of traces there is less to tell: their relations are only how we write them down."""
    traced, runtimes = view.kind != "scicumulus", _mean_runtimes(view)
    columns = ["activity", *([] if traced else ["operator", "reads", "gives"]), "activations"]
    rows: list[list[object]] = []
    for activity in view.workflow.activities:
        by = f" by {', '.join(activity.operand)}" if activity.operand else ""
        reads = ", ".join(source.relation.name for source in activity.sources)
        middle = [] if traced else [f"{activity.operator}{by}", reads, activity.output.name]
        count = _count(activity, view) or "in the database"
        last = [runtimes.get(activity.tag, "")] if runtimes else []
        rows.append([activity.tag, *middle, count, *last])
    print_table(columns + (["mean s"] if runtimes else []), rows)


def _mean_runtimes(view: _View) -> dict[str, float]:
    """Seconds that the specification expects, by activity; where it expects any."""
    known: dict[str, list[float]] = {}
    for tag, request in zip(view.expected.activities, view.expected.requests, strict=True):
        if request.runtime_s is not None:
            known.setdefault(tag, []).append(request.runtime_s)
    return {tag: statistics.fmean(values) for tag, values in known.items()}


def _print_relations(workflow: Workflow) -> None:
    tuples = {each.relation.name: len(each.rows) for each in workflow.datasets}
    makers = {each.output.name: each.tag for each in workflow.activities}
    print_table(
        ("relation", "from", "fields"),
        [
            (
                relation.name,
                makers.get(relation.name) or f"dataset, {_tuples(tuples[relation.name])}",
                _fields(relation),
            )
            for relation in workflow.relations
        ],
    )


def _fields(relation: Relation) -> str:
    return ", ".join(
        f"{field.name} {field.type}"
        + ("" if field.decimal_places is None else f".{field.decimal_places}")
        for field in relation.fields
    )
