"""Dataflow: a tuple that appears becomes an activation of every activity that consumes it.

MAP, SPLIT_MAP and FILTER take a tuple as soon as it is there. REDUCE waits until no more tuples
of its input can come, then takes them group by group. What a failed activation would have fed
is created as blocked, so that nothing is left out of the books.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from scicore.model.activation import Activation, DataTuple, Path, activation_key
from scicore.model.workflow import Activity, Operator, Row, Workflow

Group = tuple[str, ...]  # the operand values that a group's tuples share


@dataclass(slots=True)
class Growth:
    """What has newly appeared."""

    tuples: list[tuple[DataTuple, int | None]] = field(default_factory=list)  # with their maker
    ready: list[Activation] = field(default_factory=list)
    blocked: list[tuple[Activation, int]] = field(default_factory=list)  # with the failed one


@dataclass(slots=True)
class _Progress:
    """How far one activity is."""

    activity: Activity
    open: int = 0  # its activations that have not ended
    fed: bool = False  # no more tuples of its input can come
    done: bool = False
    groups: dict[Group, list[DataTuple]] = field(default_factory=dict)  # REDUCE only
    poisoned: dict[Group, int] = field(default_factory=dict)  # groups that a failure cut short
    poisoned_by: int | None = None  # a failure that may belong to any group


class Flow:
    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self._progress = {
            activity.tag: _Progress(activity, fed=activity.producer is None)
            for activity in workflow.activities
        }
        self._consumers = {
            activity.tag: workflow.consumers(activity.tag, activity.output.name)
            for activity in workflow.activities
        }
        self._tuples = 0
        self._activations = 0

    @property
    def done(self) -> bool:
        """Nothing is left to run, and nothing can appear any more."""
        return all(progress.done for progress in self._progress.values())

    def start(self) -> Growth:
        """The datasets' tuples and what consumes them."""
        growth = Growth()
        for dataset in self._workflow.datasets:
            consumers = self._workflow.consumers(None, dataset.relation.name)
            for line, row in enumerate(dataset.rows, start=1):
                self._add_tuple(growth, dataset.relation.name, (line,), row, None, consumers)
        self._settle(growth)
        return growth

    def finished(self, activation: Activation, rows: tuple[Row, ...]) -> Growth:
        growth = Growth()
        progress = self._progress[activation.activity]
        progress.open -= 1
        activity = progress.activity
        for number, row in enumerate(rows, start=1):
            splits = activity.operator is Operator.SPLIT_MAP
            path = (*activation.path, number) if splits else activation.path
            self._add_tuple(
                growth,
                activity.output.name,
                path,
                row,
                activation.id,
                self._consumers[activity.tag],
            )
        self._settle(growth)
        return growth

    def failed(self, activation: Activation) -> Growth:
        growth = Growth()
        progress = self._progress[activation.activity]
        progress.open -= 1
        known = _carried(progress.activity, activation.inputs)
        self._block_consumers(growth, progress.activity, activation.path, known, activation.id)
        self._settle(growth)
        return growth

    def _add_tuple(
        self,
        growth: Growth,
        relation: str,
        path: Path,
        row: Row,
        maker: int | None,
        consumers: tuple[Activity, ...],
    ) -> None:
        self._tuples += 1
        data = DataTuple(self._tuples, relation, path, row)
        growth.tuples.append((data, maker))
        for consumer in consumers:
            if consumer.operator is Operator.REDUCE:
                groups = self._progress[consumer.tag].groups
                groups.setdefault(_group(consumer, row), []).append(data)
            else:
                self._progress[consumer.tag].open += 1
                growth.ready.append(self._activation(consumer, path, (data,)))

    def _activation(
        self, activity: Activity, path: Path, inputs: tuple[DataTuple, ...]
    ) -> Activation:
        self._activations += 1
        key = activation_key(activity.tag, activity.command, (data.row for data in inputs))
        return Activation(self._activations, activity.tag, path, key, inputs)

    def _block_consumers(
        self, growth: Growth, activity: Activity, path: Path, known: Mapping[str, str], cause: int
    ) -> None:
        """Everything downstream of a tuple that will never come."""
        for consumer in self._consumers[activity.tag]:
            if consumer.operator is Operator.REDUCE:
                self._poison(consumer, known, cause)
                continue
            growth.blocked.append((self._activation(consumer, path, ()), cause))
            carried = {name: value for name, value in known.items() if name in _names(consumer)}
            self._block_consumers(growth, consumer, path, carried, cause)

    def _poison(self, reduce: Activity, known: Mapping[str, str], cause: int) -> None:
        """A group without all its tuples would give a wrong result: it must not run.

        The group is known when the operand's values were carried along from the input of what
        failed; else every group may be the one.
        """
        progress = self._progress[reduce.tag]
        operand = [name.upper() for name in reduce.operand]
        if all(name in known for name in operand):
            progress.poisoned.setdefault(tuple(known[name] for name in operand), cause)
        elif progress.poisoned_by is None:
            progress.poisoned_by = cause

    def _settle(self, growth: Growth) -> None:
        """Activities whose input is complete and whose activations have ended are done."""
        for progress in self._progress.values():  # producers stand before their consumers
            if progress.done:
                continue
            producer = progress.activity.producer
            if not progress.fed and producer and self._progress[producer].done:
                progress.fed = True
            if progress.fed and progress.activity.operator is Operator.REDUCE:
                self._close_groups(growth, progress)
            progress.done = progress.fed and progress.open == 0

    def _close_groups(self, growth: Growth, progress: _Progress) -> None:
        reduce = progress.activity
        for rank, (group, inputs) in enumerate(_ranked(progress), start=1):
            activation = self._activation(reduce, (rank,), inputs)
            cause = progress.poisoned.get(group, progress.poisoned_by)
            if cause is None:
                progress.open += 1
                growth.ready.append(activation)
            else:
                growth.blocked.append((activation, cause))
                known = dict(zip((name.upper() for name in reduce.operand), group, strict=False))
                carried = {name: value for name, value in known.items() if name in _names(reduce)}
                self._block_consumers(growth, reduce, activation.path, carried, cause)
        progress.groups, progress.poisoned, progress.poisoned_by = {}, {}, None


def _ranked(progress: _Progress) -> Iterator[tuple[Group, tuple[DataTuple, ...]]]:
    """Groups in the order of their operand values, tuples in the order of their paths."""
    groups: set[Group] = {*progress.groups, *progress.poisoned}
    if not groups and progress.poisoned_by is not None:
        groups = {()}
    for group in sorted(groups):
        tuples = progress.groups.get(group, ())
        yield group, tuple(sorted(tuples, key=lambda data: data.path))


def _group(reduce: Activity, row: Row) -> Group:
    values = {name.upper(): value for name, value in reduce.input.as_mapping(row).items()}
    return tuple(values[name.upper()] for name in reduce.operand)


def _names(activity: Activity) -> frozenset[str]:
    return frozenset(name.upper() for name in activity.output.field_names)


def _carried(activity: Activity, inputs: tuple[DataTuple, ...]) -> dict[str, str]:
    """Values that a failed activation's output would have taken over from its input."""
    if not inputs:
        return {}
    values = activity.input.as_mapping(inputs[0].row)
    operand = {name.upper() for name in activity.operand}
    return {
        name.upper(): value
        for name, value in values.items()
        if name.upper() in _names(activity)
        and (activity.operator is not Operator.REDUCE or name.upper() in operand)
    }
