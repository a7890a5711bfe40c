"""The activations that a run is expected to have, told from the workflow and its datasets alone.

A plan is made before any program has run, so what programs will answer is assumed: a filter
passes its tuple, a SPLIT_MAP gives as many tuples as it is said to, and an output field that
also is an input field keeps its value. Where the run turns out as assumed, its activations bear
the very names forecast here, because both follow the same path rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scicore.model.activation import Path, activation_name
from scicore.model.workflow import Activity, Dataset, Operator, Relation, Workflow


@dataclass(frozen=True, slots=True)
class Forecast:
    names: tuple[str, ...]  # parents stand before their children
    activities: tuple[str, ...]  # tag of each activation's activity
    edges: tuple[tuple[int, int], ...]  # parent index → child index, each once


@dataclass(frozen=True, slots=True)
class _Tuple:
    """A tuple that is expected; of its values, those that can be known before the run."""

    path: Path
    values: Mapping[str, str]  # by field name in capitals
    producer: int | None  # index of the activation that gives it; None = a dataset


@dataclass(frozen=True, slots=True)
class _Activation:
    path: Path
    inputs: Sequence[_Tuple]


def forecast(workflow: Workflow, fan_out: Mapping[str, int] = {}) -> Forecast:
    """Expect activations activity by activity; `fan_out` tells how many tuples a SPLIT_MAP gives.

    Linear in the number of activations and edges.
    """
    expected: dict[tuple[str | None, str], list[_Tuple]] = {  # by producer and relation
        (None, dataset.relation.name): _dataset_tuples(dataset) for dataset in workflow.datasets
    }
    names: list[str] = []
    activities: list[str] = []
    edges: list[tuple[int, int]] = []
    for activity in workflow.activities:
        inputs = expected.get((activity.producer, activity.input.name), [])
        outputs = expected[activity.tag, activity.output.name] = []
        for activation in _activations(activity, inputs):
            index = len(names)
            names.append(activation_name(activity.tag, activation.path))
            activities.append(activity.tag)
            edges.extend((parent, index) for parent in _parents(activation.inputs))
            outputs.extend(_outputs(activity, activation, index, fan_out.get(activity.tag, 1)))
    return Forecast(tuple(names), tuple(activities), tuple(edges))


def _dataset_tuples(dataset: Dataset) -> list[_Tuple]:
    names = _folded(dataset.relation)
    return [
        _Tuple((line,), dict(zip(names, row, strict=True)), producer=None)
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
    return dict.fromkeys(item.producer for item in inputs if item.producer is not None)


def _outputs(activity: Activity, activation: _Activation, index: int, fan_out: int) -> list[_Tuple]:
    values = _carried(activation.inputs, activity.output)
    if activity.operator is Operator.SPLIT_MAP:
        paths = [(*activation.path, number) for number in range(1, fan_out + 1)]
    else:
        paths = [activation.path]
    return [_Tuple(path, values, producer=index) for path in paths]


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
