"""Explicit edges in datasets: every parent is there, every id once, nobody waits in a circle."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scicore.model.workflow import Activity
from scicore.spec.dataset import RowDefects, Table
from scicore.spec.reader import Findings

_PATH_SHOWN = 10  # activations of a cycle


@dataclass(frozen=True, slots=True)
class _Named:
    """An activation by the name that its tuple gives it."""

    defects: RowDefects  # of its file
    line: int
    parents: tuple[str, ...]


def check_edges(
    activities: Iterable[Activity], tables: Mapping[str, Table], findings: Findings
) -> None:
    """Names are unique, parents are known, and no activation waits for itself. Linear."""
    files = {table.file: RowDefects(table.file, findings) for table in tables.values()}
    named: dict[str, _Named] = {}
    for activity in activities:
        if activity.id_field and activity.parents_field and activity.input.name in tables:
            table = tables[activity.input.name]
            _collect(activity, table, files[table.file], named)
    for name, each in named.items():
        for parent in each.parents:
            if parent == name:
                each.defects.tell(each.line, f"{name} as its own parent", "other parents, or none")
            elif parent not in named:
                expected = "the id of another activation of this workflow"
                each.defects.tell(each.line, f"the parent {parent} of {name}", expected)
    _refuse_cycles(named)
    for defects in files.values():
        defects.close()


def _collect(
    activity: Activity, table: Table, defects: RowDefects, named: dict[str, _Named]
) -> None:
    names = table.relation.field_names
    if activity.id_field not in names or activity.parents_field not in names:
        return  # which has been told
    at_id, at_parents = names.index(activity.id_field), names.index(activity.parents_field)
    for row, line in zip(table.rows, table.lines, strict=True):
        if len(row) < len(names):
            continue  # a column is missing, which has been told
        name = row[at_id]
        if len(name.split()) != 1 or name.strip() != name:
            expected = "one word: blanks separate parents from each other"
            defects.tell(line, f"the id {name[:40]!r}", expected)
        elif name in named:
            found = f"a second activation with the id {name}"
            defects.tell(line, found, "an id of its own in the whole workflow")
        else:
            named[name] = _Named(defects, line, tuple(dict.fromkeys(row[at_parents].split())))


def _refuse_cycles(named: Mapping[str, _Named]) -> None:
    """Take away what has no parents left until only cycles and what hangs on them remain."""
    waiting = {
        name: sum(parent in named and parent != name for parent in each.parents)
        for name, each in named.items()
    }
    children: dict[str, list[str]] = {}
    for name, each in named.items():
        for parent in each.parents:
            if parent in named and parent != name:
                children.setdefault(parent, []).append(name)
    free = deque(name for name, count in waiting.items() if not count)
    while free:
        for child in children.get(free.popleft(), ()):
            waiting[child] -= 1
            if not waiting[child]:
                free.append(child)
    stuck = {name for name, count in waiting.items() if count}
    if not stuck:
        return
    cycle = _cycle(named, stuck)
    path = [*cycle[:_PATH_SHOWN], *(["…"] if len(cycle) > _PATH_SHOWN else []), cycle[0]]
    first = named[cycle[0]]
    expected = "activations that wait for each other in one direction: take one parent away"
    first.defects.tell(first.line, f"the cycle {' → '.join(path)}", expected)


def _cycle(named: Mapping[str, _Named], stuck: set[str]) -> list[str]:
    """One cycle, in the direction of the data, from its first activation in the file on."""
    name = next(name for name in named if name in stuck)
    seen: dict[str, int] = {}
    while name not in seen:
        seen[name] = len(seen)
        name = next(parent for parent in named[name].parents if parent in stuck and parent != name)
    backwards = list(seen)[seen[name] :]
    forwards = backwards[::-1]
    first = forwards.index(min(forwards, key=lambda each: named[each].line))
    return forwards[first:] + forwards[:first]
