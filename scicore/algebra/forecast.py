"""The activations that a run is expected to have, told from the workflow and its datasets alone.

A plan is made before any program has run, so what programs will answer is assumed: a filter
passes its tuple, a SPLIT_MAP gives as many tuples as it is said to, and an output field that
also is an input field keeps its value. Where the run turns out as assumed, its activations bear
the very names forecast here, because both follow the same path rules. Queries are not among
them: they run in the database, take no VM, and only pass on who waits for whom.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scicore.algebra.request import Request, request_of
from scicore.model.activation import Path, activation_name
from scicore.model.workflow import QUERIES, Activity, Dataset, Operator, Relation, Workflow


@dataclass(frozen=True, slots=True)
class Forecast:
    names: tuple[str, ...]
    activities: tuple[str, ...]  # tag of each activation's activity
    edges: tuple[tuple[int, int], ...]  # parent index → child index, each once
    requests: tuple[Request, ...]  # what each activation asks for, as far as can be known


@dataclass(frozen=True, slots=True)
class _Tuple:
    """A tuple that is expected; of its values, those that can be known before the run."""

    path: Path
    values: Mapping[str, str]  # by field name in capitals
    producers: tuple[int, ...]  # indices of the activations that it waits for; none: a dataset


@dataclass(frozen=True, slots=True)
class _Activation:
    path: Path
    inputs: Sequence[_Tuple]


class _Expectation:
    """A forecast in the making."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.activities: list[str] = []
        self.edges: list[tuple[int, int]] = []
        self.requests: list[Request] = []
        self._named: dict[str, int] = {}  # by the value of an id field
        self._waits_for: list[tuple[int, str]] = []

    def add(self, activity: Activity, activation: _Activation) -> int:
        index = len(self.names)
        self.names.append(activation_name(activity.tag, activation.path))
        self.activities.append(activity.tag)
        self.edges.extend((parent, index) for parent in _parents(activation.inputs))
        values = activation.inputs[0].values if activation.inputs else {}
        self.requests.append(request_of(activity, values))
        if activity.parents_field:
            self._named[values[activity.id_field.upper()]] = index
            parents = values[activity.parents_field.upper()].split()
            self._waits_for.extend((index, parent) for parent in dict.fromkeys(parents))
        return index

    def finish(self) -> Forecast:
        explicit = (
            (self._named[parent], child)
            for child, parent in self._waits_for
            if parent in self._named
        )
        return Forecast(
            tuple(self.names),
            tuple(self.activities),
            (*self.edges, *explicit),
            tuple(self.requests),
        )


def forecast(workflow: Workflow, fan_out: Mapping[str, int] = {}) -> Forecast:
    """Expect activations activity by activity; `fan_out` tells how many tuples an activation of
    a SPLIT_MAP or a query gives.

    Linear in the number of activations and edges.
    """
    expected: dict[tuple[str | None, str], list[_Tuple]] = {  # by producer and relation
        (None, dataset.relation.name): _dataset_tuples(dataset) for dataset in workflow.datasets
    }
    expectation = _Expectation()
    for activity in workflow.activities:
        inputs = expected.get((activity.producer, activity.input.name), [])
        outputs = expected[activity.tag, activity.output.name] = []
        expected_count = fan_out.get(activity.tag, 1)
        if activity.operator in QUERIES:
            sources = [
                expected.get((source.producer, source.relation.name), [])
                for source in activity.sources
            ]
            outputs.extend(_query_outputs(sources, expected_count))
            continue
        for activation in _activations(activity, inputs):
            index = expectation.add(activity, activation)
            outputs.extend(_outputs(activity, activation, index, expected_count))
    return expectation.finish()


def _query_outputs(sources: Sequence[Sequence[_Tuple]], count: int) -> Iterable[_Tuple]:
    producers = tuple(_parents(item for source in sources for item in source))
    return (_Tuple((1, number), {}, producers) for number in range(1, count + 1))


def _dataset_tuples(dataset: Dataset) -> list[_Tuple]:
    names = _folded(dataset.relation)
    return [
        _Tuple((line,), dict(zip(names, row, strict=True)), producers=())
        for line, row in enumerate(dataset.rows, start=1)
    ]


def _activations(activity: Activity, inputs: Sequence[_Tuple]) -> Iterable[_Activation]:
    if activity.operator is Operator.REDUCE:
        groups = _groups(activity, inputs)
        return (_Activation((rank,), group) for rank, group in enumerate(groups, start=1))
    return (_Activation(item.path, (item,)) for item in inputs)


def _groups(activity: Activity, inputs: Sequence[_Tuple]) -> list[list[_Tuple]]:
    """Tuples of equal operand values together, in the order of these values as strings.

    A single tuple whose operand is unknown might belong to any group or to one of its own; then
    nothing about the groups is known, and one group of everything is expected.
    """
    operand = [name.upper() for name in activity.operand]
    groups: dict[tuple[str, ...], list[_Tuple]] = {}
    for item in inputs:
        if any(name not in item.values for name in operand):
            return [list(inputs)]
        groups.setdefault(tuple(item.values[name] for name in operand), []).append(item)
    return [groups[values] for values in sorted(groups)]


def _parents(inputs: Iterable[_Tuple]) -> Iterable[int]:
    """Each parent once, even if it gave several tuples to the same group."""
    return dict.fromkeys(parent for item in inputs for parent in item.producers)


def _outputs(activity: Activity, activation: _Activation, index: int, fan_out: int) -> list[_Tuple]:
    values = _carried(activation.inputs, activity.output)
    if activity.operator is Operator.SPLIT_MAP:
        paths = [(*activation.path, number) for number in range(1, fan_out + 1)]
    else:
        paths = [activation.path]
    return [_Tuple(path, values, producers=(index,)) for path in paths]


def _carried(inputs: Sequence[_Tuple], output: Relation) -> dict[str, str]:
    """The values that output fields take from same-named input fields.

    A group hands on only what all of its tuples agree upon, its operand above all.
    """
    first, *others = inputs
    return {
        name: first.values[name]
        for name in _folded(output)
        if name in first.values
        and all(item.values.get(name) == first.values[name] for item in others)
    }


def _folded(relation: Relation) -> list[str]:
    """Field names match whatever their case, as tags do."""
    return [name.upper() for name in relation.field_names]
