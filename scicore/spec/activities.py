"""The conceptual half of a specification: activities, their relations and who feeds whom.

An activity is first read by itself, as a draft; then the drafts are linked, and only linked ones
can be judged: which fields they see decides which tags their commands may use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import networkx as nx

from scicore.algebra import command_check
from scicore.algebra.template import substitute, tags
from scicore.model.workflow import Activity, Field, FieldType, Operator, Relation
from scicore.spec.reader import Element, Findings, choice, did_you_mean, one_of

DIRECTORY_TAGS = ("WFDIR", "EXPDIR")

_OPERATORS = tuple(operator.value for operator in Operator)
_QUERIES = ("SR_QUERY", "MR_QUERY")
_COUNTING = (Operator.SPLIT_MAP, Operator.FILTER)  # how many tuples they give is what they say
_ALIASES = {"text": FieldType.STRING, "int": FieldType.FLOAT, "integer": FieldType.FLOAT}
_TYPES = {type_.value: type_ for type_ in FieldType} | _ALIASES
_ACTIVITY_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,62}")  # becomes a directory
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class External:
    """A relation that no activity produces, so a dataset has to."""

    relation: Relation
    readers: tuple[Element, ...]  # the <relation reltype="Input"> that name it


@dataclass(frozen=True, slots=True)
class _Draft:
    element: Element
    operator: Operator | None  # None: not one of ours
    fields: tuple[tuple[Field, Element], ...]
    input: Element | None  # None: not exactly one
    output: Relation | None

    @property
    def tag(self) -> str:
        return self.element.get("tag")


@dataclass(frozen=True, slots=True)
class _Link:
    """Where an activity's tuples come from."""

    reader: Element  # the <relation reltype="Input">
    name: str  # of the relation itself, never an alias
    producer: _Draft | None  # None: a dataset


_Linked = tuple[_Draft, _Link | None]


def read_activities(
    conceptual: Element, findings: Findings
) -> tuple[tuple[Activity, ...], tuple[External, ...]]:
    """Activities, producers first, and what they read from outside; partial with defects."""
    elements = conceptual.all("activity")
    if not elements:
        findings.at(conceptual, "", "a workflow without activities", "at least one <activity>")
    drafts = [_draft(element, findings) for element in elements]
    outputs = [each for element in elements for each in _relations(element, "Output")]
    _refuse_again("activity with the tag", "tag", elements, findings)
    _refuse_again("output relation called", "name", outputs, findings)
    linked = [(draft, _link(draft, drafts, findings)) for draft in drafts]
    externals = _externals(linked, findings)
    activities = [_activity(draft, link, externals, findings) for draft, link in linked]
    ordered = [activities[at] for at in _order(linked, findings)]
    return tuple(each for each in ordered if each is not None), tuple(externals.values())


def _relations(activity: Element, side: str) -> list[Element]:
    return [each for each in activity.all("relation") if each.get("reltype") == side]


def _refuse_again(
    what: str, attribute: str, elements: Iterable[Element], findings: Findings
) -> None:
    seen: set[str] = set()
    for element in elements:
        name = element.get(attribute)
        if name and name in seen:
            expected = f"a {attribute} of its own"
            findings.at(element, attribute, f"a second {what} {name}", expected)
        seen.add(name)


def _draft(element: Element, findings: Findings) -> _Draft:
    _check_name(element, "tag", _ACTIVITY_NAME, findings)
    if element.get("template"):
        found = "a template directory, which this version does not support yet"
        expected = "a command that takes its values as arguments, without template"
        findings.at(element, "template", found, expected)
    for relation in element.all("relation"):
        choice(relation, "reltype", ("Input", "Output"), findings)
        _check_name(relation, "name", _NAME, findings)
    fields = tuple((_field(child, findings), child) for child in element.all("field"))
    input_, output = (_only(element, side, findings) for side in ("Input", "Output"))
    produced = None if output is None else _output_relation(output, fields, findings)
    return _Draft(element, _operator(element, findings), fields, input_, produced)


def _check_name(
    element: Element, attribute: str, pattern: re.Pattern[str], findings: Findings
) -> None:
    name = element.get(attribute)
    if name.strip() and not pattern.fullmatch(name):
        extra = "_ . -" if pattern is _ACTIVITY_NAME else "_"
        expected = f"a letter or _ and then up to 62 letters, digits or {extra}"
        findings.at(element, attribute, f'{attribute}="{name}"', expected)


def _operator(element: Element, findings: Findings) -> Operator | None:
    if element.get("type") in _QUERIES:
        found = f'type="{element.get("type")}", which this version does not support yet'
        findings.at(element, "type", found, one_of(_OPERATORS))
        return None
    word = choice(element, "type", _OPERATORS, findings)
    return Operator(word) if word else None


def _field(element: Element, findings: Findings) -> Field:
    """The field; with a wrong type a string, so that one mistake is told once."""
    _check_name(element, "name", _NAME, findings)
    name = element.get("name")
    if name.upper() in DIRECTORY_TAGS:
        expected = f"another name: %={name.upper()}% is a directory of the workflow"
        findings.at(element, "name", f"a field called {name}", expected)
    word = choice(element, "type", _TYPES, findings)
    return Field(name, _TYPES.get(word, FieldType.STRING))


def _only(activity: Element, side: str, findings: Findings) -> Element | None:
    """The activity's one relation of a side."""
    relations = _relations(activity, side)
    who, expected = f"activity {activity.get('tag')}", f"exactly one {side} relation per activity"
    if not relations:
        findings.at(activity, "", f"{who} without an {side} relation", expected)
    for extra in relations[1:]:
        findings.at(extra, "", f"one more {side} relation in {who}", expected)
    return relations[0] if len(relations) == 1 else None


def _output_relation(
    element: Element, fields: Iterable[tuple[Field, Element]], findings: Findings
) -> Relation | None:
    name = element.get("name")
    if not name:
        findings.at(element, "", "an Output relation without a name", 'name="…"')
        return None
    if element.get("dependency"):
        expected = "dependency on Input relations only"
        findings.at(element, "dependency", "an Output with a dependency", expected)
    own = _own_fields(fields, "output", name, findings)
    return Relation(name, tuple(field for field, _ in own.values()))


def _own_fields(
    fields: Iterable[tuple[Field, Element]], side: str, relation: str, findings: Findings
) -> dict[str, tuple[Field, Element]]:
    """What one activity says of a relation's fields, by folded name."""
    own: dict[str, tuple[Field, Element]] = {}
    for field, place in fields:
        if place.get(side) != relation:
            continue
        if own.setdefault(field.name.casefold(), (field, place))[1] is not place:
            found = f"a second field {field.name} in relation {relation}"
            findings.at(place, "name", found, "every field once, whatever its case")
    return own


def _link(draft: _Draft, drafts: Sequence[_Draft], findings: Findings) -> _Link | None:
    """Find who produces an activity's input; None when the text does not say."""
    reader = draft.input
    if reader is None:
        return None
    name, dependency = reader.get("name"), reader.get("dependency")
    by_name = next((each for each in drafts if each.output and each.output.name == name), None)
    if not dependency:
        if not name:
            expected = "name of a dataset or of an output, or dependency on an activity"
            findings.at(reader, "", "an Input relation without name or dependency", expected)
            return None
        return _Link(reader, name, by_name)
    producer = next((each for each in drafts if each.tag == dependency), None)
    if producer is None:
        others = [each.tag for each in drafts if each is not draft]
        expected = f"the tag of another activity{did_you_mean(dependency, others)}"
        findings.at(reader, "dependency", f'dependency="{dependency}"', expected)
    elif by_name is not None and by_name is not producer:
        found = f"an input that depends on {dependency} but is named {name}"
        expected = f"one of the two: {name} is what activity {by_name.tag} produces"
        findings.at(reader, "dependency", found, expected)
    elif producer.output is not None:
        return _Link(reader, producer.output.name, producer)
    return None


def _externals(linked: Sequence[_Linked], findings: Findings) -> dict[str, External]:
    """Every dataset relation, with the fields that any of its readers declares."""
    fields: dict[str, dict[str, Field]] = {}
    readers: dict[str, list[Element]] = {}
    for draft, link in linked:
        if link is None or link.producer is not None:
            continue
        readers.setdefault(link.name, []).append(link.reader)
        known = fields.setdefault(link.name, {})
        for key, (field, _) in _own_fields(draft.fields, "input", link.name, findings).items():
            known.setdefault(key, field)
    for name, known in fields.items():
        if not known:
            expected = f'at least one <field … input="{name}"/>'
            findings.at(readers[name][0], "", f"the input {name} without fields", expected)
    return {
        name: External(Relation(name, tuple(known.values())), tuple(readers[name]))
        for name, known in fields.items()
    }


def _activity(
    draft: _Draft, link: _Link | None, externals: Mapping[str, External], findings: Findings
) -> Activity | None:
    """The finished activity, or None if a piece of it is missing."""
    element, source = draft.element, None
    if link is not None:
        source = link.producer.output if link.producer else externals[link.name].relation
    if link is not None and source is not None:
        _check_inputs(draft, link, source, findings)
    if draft.output is not None:
        _check_outputs(draft, draft.output, findings)
        if not draft.output.fields and draft.operator in _COUNTING:
            found = f"the output {draft.output.name} of a {draft.operator} without fields"
            expected = f'at least one <field … output="{draft.output.name}"/>'
            findings.at(element, "", found, expected)
    if element.get("type") not in _QUERIES:  # theirs is SQL, not a command
        for attribute in ("activation", "extractor"):
            _check_command(element, attribute, source, findings)
    operand = _operand(draft, source, findings)
    if link is None or source is None or draft.operator is None or draft.output is None:
        return None
    return Activity(
        tag=draft.tag,
        operator=draft.operator,
        command=element.get("activation"),
        input=source,
        output=draft.output,
        producer=link.producer.tag if link.producer else None,
        operand=operand,
        extractor=element.get("extractor"),
        description=element.get("description"),
    )


def _check_inputs(draft: _Draft, link: _Link, source: Relation, findings: Findings) -> None:
    names = dict.fromkeys(name for name in (link.reader.get("name"), link.name) if name)
    declared = {field.name.casefold(): field for field in source.fields}
    for field, place in draft.fields:
        relation, known = place.get("input"), declared.get(field.name.casefold())
        if relation and relation not in names:
            found = f'field {field.name} with input="{relation}"'
            expected = f"the input of activity {draft.tag}: {one_of(names)}"
            findings.at(place, "input", found, expected)
        elif relation and known is None:
            found = f"field {field.name} as input from {link.name}, which has no such field"
            hint = did_you_mean(field.name, source.field_names)
            findings.at(place, "name", found, f"one of {', '.join(source.field_names)}{hint}")
        elif relation and known is not None and known.type is not field.type:
            found = f"field {field.name} of {link.name} as {field.type}"
            findings.at(place, "type", found, f"{known.type}, as it is declared elsewhere")
        elif not relation and not place.get("output") and known is None:
            expected = f'input="{link.name}" or output="…"'
            findings.at(place, "", f"field {field.name} in no relation", expected)


def _check_outputs(draft: _Draft, output: Relation, findings: Findings) -> None:
    for field, place in draft.fields:
        if place.get("output") not in ("", output.name):
            found = f'field {field.name} with output="{place.get("output")}"'
            expected = f"the output of activity {draft.tag}: {output.name}"
            findings.at(place, "output", found, expected)


def _check_command(
    element: Element, attribute: str, source: Relation | None, findings: Findings
) -> None:
    command = element.get(attribute)
    problem = command_check.defect(command) if command.strip() else None
    if problem is not None:
        findings.at(element, attribute, *problem)
    used = tags(command)
    if "%=" in substitute(command, dict.fromkeys(used, " ")):
        told = f"{attribute} has a %= that is no tag like %=NAME%: it is left as it is"
        findings.warn(element.line_of(attribute), told)
    known = (*source.field_names, *DIRECTORY_TAGS) if source is not None else used
    folded = {name.casefold() for name in known}
    for tag in used:
        if tag.casefold() not in folded:
            expected = f"one of {', '.join(f'%={name}%' for name in known)}"
            expected += did_you_mean(tag, known)
            findings.at(element, attribute, f"the tag %={tag}% in {attribute}", expected)


def _operand(draft: _Draft, source: Relation | None, findings: Findings) -> tuple[str, ...]:
    """The grouping fields, spelled as in the relation."""
    text = draft.element.get("operand")
    words = [word.strip() for word in re.split("[,;]", text) if word.strip()]
    if draft.operator is not Operator.REDUCE:
        if words and draft.operator is not None:
            found = f'operand="{text}" with type {draft.operator}'
            findings.at(draft.element, "operand", found, "an operand with REDUCE only")
        return ()
    if not words:
        found = f"REDUCE activity {draft.tag} without an operand"
        expected = "operand with the fields to group by, separated by commas"
        findings.at(draft.element, "operand", found, expected)
    known = {name.casefold(): name for name in source.field_names} if source else {}
    for word in words:
        if source is not None and word.casefold() not in known:
            expected = f"fields of {source.name}: {', '.join(source.field_names)}"
            expected += did_you_mean(word, source.field_names)
            findings.at(draft.element, "operand", f"operand {word}", expected)
    return tuple(dict.fromkeys(known.get(word.casefold(), word) for word in words))


def _order(linked: Sequence[_Linked], findings: Findings) -> list[int]:
    """Indices with producers before consumers, else as written; empty if there are cycles."""
    index = {id(draft): at for at, (draft, _) in enumerate(linked)}
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(index.values())
    for at, (_, link) in enumerate(linked):
        if link is not None and link.producer is not None:
            graph.add_edge(index[id(link.producer)], at)
    if nx.is_directed_acyclic_graph(graph):
        return list(nx.lexicographical_topological_sort(graph))
    for cycle in nx.simple_cycles(graph):  # disjoint: an activity has one producer
        first = cycle.index(min(cycle))
        path = [linked[at][0].tag for at in (*cycle[first:], *cycle[: first + 1])]
        expected = "activities that feed each other in one direction: take one input away"
        findings.at(linked[min(cycle)][0].element, "", f"the cycle {' → '.join(path)}", expected)
    return []
