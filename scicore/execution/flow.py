"""Dataflow: a tuple that appears becomes an activation of every activity that consumes it.

MAP, SPLIT_MAP and FILTER take a tuple as soon as it is there. REDUCE and queries wait until no
more tuples of their inputs can come; REDUCE takes them group by group, a query all at once. What
a failed activation would have fed is created as blocked, so that nothing is left out of the
books; what a cancelled one would have fed does not exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from scicore.execution.edges import Edges
from scicore.execution.ids import Ids
from scicore.model.activation import Activation, DataTuple, Path, activation_name
from scicore.model.workflow import QUERIES, Activity, Operator, Row, Workflow

Group = tuple[str, ...]  # the operand values that a group's tuples share
GATHERING = QUERIES | {Operator.REDUCE}  # operators that wait for all tuples of their inputs


class Growth:
    """What has newly appeared."""

    __slots__ = (
        "blocked",
        "blocked_later",
        "cancelled_later",
        "fed",
        "locked",
        "ready",
        "tuples",
        "unlocked",
    )

    def __init__(self) -> None:
        self.tuples: list[tuple[DataTuple, int | None]] = []  # with their maker
        self.ready: list[Activation] = []
        self.blocked: list[tuple[Activation, int]] = []  # with the failed one
        # With explicit edges: activations that appear locked, and what becomes of them later.
        self.locked: list[Activation] = []
        self.unlocked: list[tuple[int, tuple[int, ...]]] = []  # with its parents' tuples
        self.blocked_later: list[tuple[int, int]] = []  # with the failed one
        self.cancelled_later: list[int] = []
        self.fed: list[str] = []  # activities that will have no more activations


@dataclass(slots=True)
class _Progress:
    """How far one activity is."""

    activity: Activity
    gives: str  # its output relation
    gives_several: bool  # one activation may give more tuples than one
    edges: tuple[int, int]  # where its tuples name an activation and its parents, if they do
    awaited: int = 0  # activities that feed it and are not done
    feeds: list[_Progress] = field(default_factory=list)
    open: int = 0  # its activations that have not ended
    fed: bool = False  # no more tuples of its input can come, and what gathers has been given them
    done: bool = False
    groups: dict[Group, list[DataTuple]] = field(default_factory=dict)  # of what gathers
    poisoned: dict[Group, int] = field(default_factory=dict)  # groups that a failure cut short
    poisoned_by: int | None = None  # a failure that may belong to any group


class Flow:
    def __init__(self, workflow: Workflow) -> None:
        self.ids = Ids()
        self._workflow = workflow
        self._progress = {
            activity.tag: _Progress(
                activity,
                activity.output.name,
                activity.operator is Operator.SPLIT_MAP or activity.operator in QUERIES,
                _edge_places(activity),
            )
            for activity in workflow.activities
        }
        self._consumers = {
            activity.tag: workflow.consumers(activity.tag, activity.output.name)
            for activity in workflow.activities
        }
        for progress in self._progress.values():
            producers = {source.producer for source in progress.activity.sources} - {None}
            progress.awaited = len(producers)
            for producer in producers:
                assert producer is not None
                self._progress[producer].feeds.append(progress)
        self.undone = len(self._progress)  # activities that may still have work; 0 = the end
        self._edges = Edges()

    def start(self) -> Growth:
        """The datasets' tuples and what consumes them."""
        growth = Growth()
        for dataset in self._workflow.datasets:
            consumers = self._workflow.consumers(None, dataset.relation.name)
            for line, row in enumerate(dataset.rows, start=1):
                self._add_tuple(growth, dataset.relation.name, (line,), row, None, consumers)
        free, locked = self._edges.connect()
        growth.ready.extend(free)
        growth.locked.extend(locked)
        for progress in self._progress.values():
            self._settle(growth, progress)
        return growth

    def finished(self, activation: Activation, rows: tuple[Row, ...]) -> Growth:
        growth = Growth()
        tag = activation.activity
        progress = self._progress[tag]
        progress.open -= 1
        path, consumers = activation.path, self._consumers[tag]
        for number, row in enumerate(rows, start=1):
            if progress.gives_several:
                path = (*activation.path, number)
            self._add_tuple(growth, progress.gives, path, row, activation.id, consumers)
        if self._edges.any:
            made = [data.id for data, _ in growth.tuples]
            growth.unlocked.extend(self._edges.finished(activation.id, made))
        if not progress.open:
            self._settle(growth, progress)
        return growth

    def failed(self, activation: Activation) -> Growth:
        growth = Growth()
        progress = self._progress[activation.activity]
        progress.open -= 1
        known = _carried(progress.activity, activation.inputs)
        self._block_consumers(growth, progress.activity, activation.path, known, activation.id)
        ended = {activation.activity: progress}
        for child in self._edges.gone(activation.id):
            below = ended[child.activity] = self._progress[child.activity]
            below.open -= 1
            growth.blocked_later.append((child.id, activation.id))
            known = _carried(below.activity, child.inputs)
            self._block_consumers(growth, below.activity, child.path, known, activation.id)
        for progress in ended.values():
            self._settle(growth, progress)
        return growth

    def cancelled(self, activation: Activation) -> Growth:
        """It gives no tuples, and nothing misses them; only who named it as parent goes too."""
        growth = Growth()
        ended = {activation.activity: self._progress[activation.activity]}
        ended[activation.activity].open -= 1
        for child in self._edges.gone(activation.id):
            below = ended[child.activity] = self._progress[child.activity]
            below.open -= 1
            growth.cancelled_later.append(child.id)
        for progress in ended.values():
            self._settle(growth, progress)
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
        data = DataTuple(self.ids.of_tuple(relation, path), relation, path, row)
        growth.tuples.append((data, maker))
        for consumer in consumers:
            progress = self._progress[consumer.tag]
            if consumer.operator in GATHERING:
                progress.groups.setdefault(_group(consumer, row), []).append(data)
                continue
            progress.open += 1
            activation = self._activation(consumer, path, (data,))
            if consumer.parents_field:
                id_place, parents_place = progress.edges
                self._edges.add(activation, row[id_place], tuple(row[parents_place].split()))
            else:
                growth.ready.append(activation)

    def _activation(
        self, activity: Activity, path: Path, inputs: tuple[DataTuple, ...]
    ) -> Activation:
        id = self.ids.of_activation(activation_name(activity.tag, path))
        return Activation(id, activity.tag, path, inputs)

    def _block_consumers(
        self, growth: Growth, activity: Activity, path: Path, known: Mapping[str, str], cause: int
    ) -> None:
        """Everything downstream of a tuple that will never come."""
        for consumer in self._consumers[activity.tag]:
            if consumer.operator in GATHERING:
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
        if operand and all(name in known for name in operand):
            progress.poisoned.setdefault(tuple(known[name] for name in operand), cause)
        elif progress.poisoned_by is None:
            progress.poisoned_by = cause

    def _settle(self, growth: Growth, ended: _Progress) -> None:
        """An activity whose input is complete and whose activations have ended is done; then so
        may be those that it feeds."""
        left = [ended]
        for progress in left:
            if not progress.fed and progress.awaited == 0:
                progress.fed = True
                if progress.activity.operator in GATHERING:
                    self._close_groups(growth, progress)
                growth.fed.append(progress.activity.tag)
            if progress.fed and progress.open == 0 and not progress.done:
                progress.done = True
                self.undone -= 1
                for consumer in progress.feeds:
                    consumer.awaited -= 1
                    left.append(consumer)

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
    if not groups and (progress.poisoned_by is not None or progress.activity.operator in QUERIES):
        groups = {()}  # a query runs over empty relations, too
    for group in sorted(groups):
        tuples = progress.groups.get(group, ())
        yield group, tuple(sorted(tuples, key=lambda data: (data.relation, data.path)))


def _edge_places(activity: Activity) -> tuple[int, int]:
    if not activity.parents_field:
        return -1, -1
    names = activity.input.field_names
    return names.index(activity.id_field), names.index(activity.parents_field)


def _group(reduce: Activity, row: Row) -> Group:
    if not reduce.operand:
        return ()
    values = {name.upper(): value for name, value in reduce.input.as_mapping(row).items()}
    return tuple(values[name.upper()] for name in reduce.operand)


def _names(activity: Activity) -> frozenset[str]:
    return frozenset(name.upper() for name in activity.output.field_names)


def _carried(activity: Activity, inputs: tuple[DataTuple, ...]) -> dict[str, str]:
    """Values that a failed activation's output would have taken over from its input."""
    if not inputs or activity.operator in QUERIES:
        return {}
    values = activity.input.as_mapping(inputs[0].row)
    operand = {name.upper() for name in activity.operand}
    return {
        name.upper(): value
        for name, value in values.items()
        if name.upper() in _names(activity)
        and (activity.operator is not Operator.REDUCE or name.upper() in operand)
    }
