"""Who feeds whom: the inputs of activities find their producers, or the datasets they need."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scicore.model.workflow import Field, Relation
from scicore.spec.draft import Draft, DraftField
from scicore.spec.reader import Element, Findings, did_you_mean


@dataclass(frozen=True, slots=True)
class Link:
    """Where one input of an activity comes from."""

    reader: Element  # the <relation reltype="Input">
    name: str  # of the relation itself, never an alias
    producer: Draft | None  # None: a dataset

    @property
    def alias(self) -> str:
        """The reader's own name for the relation, if it has one."""
        name = self.reader.get("name")
        return name if name != self.name else ""


@dataclass(frozen=True, slots=True)
class Linked:
    draft: Draft
    links: tuple[Link, ...]  # as many as the draft has inputs, unless there are defects


@dataclass(frozen=True, slots=True)
class External:
    """A relation that no activity produces, so a dataset has to."""

    relation: Relation
    readers: tuple[Element, ...]  # the <relation reltype="Input"> that name it


def link(drafts: Sequence[Draft], findings: Findings) -> tuple[Linked, ...]:
    """Every draft with its inputs; in the order of the drafts."""
    producers = {draft.output.name: draft for draft in reversed(drafts) if draft.output}
    tags = {draft.tag: draft for draft in reversed(drafts)}
    linked = []
    for draft in drafts:
        found = [_link(draft, reader, producers, tags, findings) for reader in draft.inputs]
        links = tuple(each for each in found if each is not None)
        _refuse_same_names(draft, links, findings)
        linked.append(Linked(draft, links))
    _refuse_other_spellings(linked, findings)
    return tuple(linked)


def _link(
    draft: Draft,
    reader: Element,
    producers: Mapping[str, Draft],
    tags: Mapping[str, Draft],
    findings: Findings,
) -> Link | None:
    """Find who produces an activity's input; None when the text does not say."""
    name, dependency = reader.get("name"), reader.get("dependency")
    by_name = producers.get(name)
    if not dependency:
        if not name:
            expected = "name of a dataset or of an output, or dependency on an activity"
            findings.at(reader, "", "an Input relation without name or dependency", expected)
            return None
        return Link(reader, name, by_name)
    producer = tags.get(dependency)
    if producer is None:
        others = [tag for tag in tags if tag != draft.tag]
        expected = f"the tag of another activity{did_you_mean(dependency, others)}"
        findings.at(reader, "dependency", f'dependency="{dependency}"', expected)
    elif by_name is not None and by_name is not producer:
        found = f"an input that depends on {dependency} but is named {name}"
        expected = f"one of the two: {name} is what activity {by_name.tag} produces"
        findings.at(reader, "dependency", found, expected)
    elif producer.output is not None:
        return Link(reader, producer.output.name, producer)
    return None


def _refuse_same_names(draft: Draft, links: Iterable[Link], findings: Findings) -> None:
    """A query knows its inputs by name, so each needs one of its own."""
    seen: set[str] = set()
    for each in links:
        name = each.alias or each.name
        if name.casefold() in seen:
            found = f"a second input called {name} in activity {draft.tag}"
            expected = "every input once; a query may use it as often as it likes"
            findings.at(each.reader, "name", found, expected)
        seen.add(name.casefold())


def _refuse_other_spellings(linked: Iterable[Linked], findings: Findings) -> None:
    """SQL does not tell Numbers from numbers, so neither may a workflow."""
    spellings: dict[str, str] = {}
    for each in linked:
        named = [(link.name, link.reader) for link in each.links]
        if each.draft.output is not None:
            named.append((each.draft.output.name, each.draft.element))
        for name, place in named:
            first = spellings.setdefault(name.casefold(), name)
            if first != name:
                found = f"the relation {name} beside {first}"
                findings.at(place, "name", found, "one spelling, or names that differ more")


def externals(linked: Iterable[Linked], findings: Findings) -> dict[str, External]:
    """Every dataset relation, with the fields that any of its readers declares."""
    fields: dict[str, dict[str, Field]] = {}
    readers: dict[str, list[Element]] = {}
    for each in linked:
        for source in each.links:
            if source.producer is not None:
                continue
            readers.setdefault(source.name, []).append(source.reader)
            known = fields.setdefault(source.name, {})
            for key, own in each.draft.fields_of("input", source.name).items():
                known[key] = _merged(known.get(key), own)
    for name, known in fields.items():
        if not known:
            expected = f'at least one <field … input="{name}"/>'
            findings.at(readers[name][0], "", f"the input {name} without fields", expected)
    return {
        name: External(Relation(name, tuple(known.values())), tuple(readers[name]))
        for name, known in fields.items()
    }


def _merged(known: Field | None, own: DraftField) -> Field:
    """One field out of what two readers say; where they contradict each other, the first wins."""
    if known is None:
        return own.field
    if known.decimal_places is None and known.type is own.field.type:
        return Field(known.name, known.type, own.field.decimal_places)
    return known


def order(linked: Sequence[Linked], findings: Findings) -> list[int]:
    """Indices with producers before consumers, else as written; empty if there are cycles."""
    index = {id(each.draft): at for at, each in enumerate(linked)}
    edges = {
        (index[id(source.producer)], at)
        for at, each in enumerate(linked)
        for source in each.links
        if source.producer is not None
    }
    missing = [0] * len(linked)  # producers that stand nowhere yet
    for _, consumer in edges:
        missing[consumer] += 1
    free = [at for at, count in enumerate(missing) if not count]
    ordered: list[int] = []
    while free:
        producer = heapq.heappop(free)
        ordered.append(producer)
        for consumer in (consumer for source, consumer in edges if source == producer):
            missing[consumer] -= 1
            if not missing[consumer]:
                heapq.heappush(free, consumer)
    if len(ordered) == len(linked):
        return ordered
    _tell_cycles(linked, edges, findings)
    return []


def _tell_cycles(linked: Sequence[Linked], edges: set[tuple[int, int]], findings: Findings) -> None:
    import networkx as nx  # slow to import, and good workflows do not need it

    graph: nx.DiGraph[int] = nx.DiGraph(edges)
    for knot in nx.strongly_connected_components(graph):
        first = min(knot)
        if len(knot) == 1 and not graph.has_edge(first, first):
            continue
        cycle = [edge[0] for edge in nx.find_cycle(graph.subgraph(knot), first)]
        path = [linked[at].draft.tag for at in (*cycle, cycle[0])]
        expected = "activities that feed each other in one direction: take one input away"
        findings.at(linked[first].draft.element, "", f"the cycle {' → '.join(path)}", expected)
