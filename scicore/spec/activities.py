"""The conceptual half of a specification: its activities, producers first.

An activity is first read by itself, as a draft; then the drafts are linked, and only linked ones
can be judged: which fields they see decides which tags their commands may use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from scicore.model.workflow import (
    QUERIES,
    Activity,
    Operator,
    Relation,
    Source,
    Staging,
)
from scicore.spec import linking, program, query, warm
from scicore.spec.draft import Draft, DraftField, read_draft, relations
from scicore.spec.linking import External, Link, Linked
from scicore.spec.reader import Element, Findings, did_you_mean, one_of

_Known = Sequence[tuple[Link, Relation]]  # an activity's inputs, those without defects


def read_activities(
    conceptual: Element, findings: Findings
) -> tuple[tuple[Activity, ...], tuple[External, ...]]:
    """Activities, producers first, and what they read from outside; partial with defects."""
    elements = conceptual.all("activity")
    if not elements:
        findings.at(conceptual, "", "a workflow without activities", "at least one <activity>")
    drafts = [read_draft(element, findings) for element in elements]
    outputs = [each for element in elements for each in relations(element, "Output")]
    _refuse_again("activity with the tag", "tag", elements, findings)
    _refuse_again("output relation called", "name", outputs, findings)
    linked = linking.link(drafts, findings)
    externals = linking.externals(linked, findings)
    activities = [_activity(each, externals, findings) for each in linked]
    ordered = [activities[at] for at in linking.order(linked, findings)]
    return tuple(each for each in ordered if each is not None), tuple(externals.values())


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


def _activity(
    linked: Linked, externals: Mapping[str, External], findings: Findings
) -> Activity | None:
    """The finished activity, or None if a piece of it is missing."""
    draft = linked.draft
    sources = [(link, _relation(link, externals)) for link in linked.links]
    known = [(link, relation) for link, relation in sources if relation is not None]
    if known:
        _check_inputs(draft, known, findings)
    first = known[0][1] if known else None
    batch = warm.batch(draft.element, findings)
    seen = first  # whose fields the activity's texts may name
    if draft.operator in QUERIES:
        query.check_query(draft.element, draft.fields, findings)
    elif batch is not None or warm.names_function(draft.element):
        seen = warm.NO_FIELDS if first is not None else None
        warm.check(draft.element, draft.operator, batch, findings)
    if draft.operator not in QUERIES and not warm.names_function(draft.element):
        program.check_commands(draft.element, seen, findings)
    operand = _operand(draft, first, findings)
    from_dataset = bool(linked.links) and linked.links[0].producer is None
    needs = program.needs(draft.element, first, draft.operator, from_dataset, findings, seen)
    if first is None or len(known) < len(draft.inputs):
        return None
    if draft.operator is None or draft.output is None:
        return None
    link = known[0][0]
    staging = _staging(draft, link, first)
    if batch is not None and staging:
        warm.refuse_staging(draft.element, staging, findings)
    return Activity(
        tag=draft.tag,
        operator=draft.operator,
        command=draft.element.get("activation"),
        input=first,
        output=draft.output,
        producer=_tag(link),
        operand=operand,
        extractor=program.extractor(draft.element),
        description=draft.element.get("description"),
        alias=link.alias,
        also_reads=tuple(Source(relation, _tag(link), link.alias) for link, relation in known[1:]),
        template=draft.element.get("template"),
        staging=staging,
        cpus=needs.cpus,
        memory_mb=needs.memory_mb,
        runtime_s=needs.runtime_s,
        timeout_s=needs.timeout_s,
        environment=needs.environment,
        id_field=needs.id_field,
        parents_field=needs.parents_field,
        batch=batch if draft.operator not in QUERIES else None,
    )


def _relation(link: Link, externals: Mapping[str, External]) -> Relation | None:
    return link.producer.output if link.producer else externals[link.name].relation


def _tag(link: Link) -> str | None:
    return link.producer.tag if link.producer else None


def _staging(draft: Draft, link: Link, source: Relation) -> tuple[Staging, ...]:
    """How the input's files get into the workspace: as the reader says, else as their maker."""
    if draft.operator in QUERIES:
        return ()
    made = link.producer.fields_of("output", link.name) if link.producer else {}
    own = {field.key: field for field in draft.fields if _is_input(field, link, made)}
    wishes = {
        key: field.staging
        for fields in (made, own)
        for key, field in fields.items()
        if field.staging is not None
    }
    spelled = {name.casefold(): name for name in source.field_names}
    return tuple(
        replace(wish, field=spelled[key]) for key, wish in wishes.items() if key in spelled
    )


def _is_input(field: DraftField, link: Link, made: Mapping[str, DraftField]) -> bool:
    """Not a field that the activity makes itself: its operation is for whoever reads it."""
    return bool(field.element.get("input")) or (link.producer is not None and field.key in made)


def _check_inputs(draft: Draft, sources: _Known, findings: Findings) -> None:
    named = {
        name: relation
        for link, relation in sources
        for name in (link.reader.get("name"), relation.name)
        if name
    }
    everything = {name.casefold() for _, relation in sources for name in relation.field_names}
    for each in draft.fields:
        name, place = each.element.get("input"), each.element
        if name and name not in named:
            found = f'field {each.field.name} with input="{name}"'
            expected = f"the input of activity {draft.tag}: {one_of(named)}"
            findings.at(place, "input", found, expected)
        elif name:
            _check_input_field(each, named[name], findings)
        elif not place.get("output") and each.key not in everything:
            expected = f'input="{sources[0][1].name}" or output="…"'
            findings.at(place, "", f"field {each.field.name} in no relation", expected)


def _check_input_field(own: DraftField, relation: Relation, findings: Findings) -> None:
    field, place = own.field, own.element
    known = {each.name.casefold(): each for each in relation.fields}.get(own.key)
    if known is None:
        found = f"field {field.name} as input from {relation.name}, which has no such field"
        hint = did_you_mean(field.name, relation.field_names)
        findings.at(place, "name", found, f"one of {', '.join(relation.field_names)}{hint}")
    elif known.type is not field.type:
        found = f"field {field.name} of {relation.name} as {field.type}"
        findings.at(place, "type", found, f"{known.type}, as it is declared elsewhere")
    elif field.decimal_places not in (None, known.decimal_places):
        has = "without decimalplaces"
        if known.decimal_places is not None:
            has = f"with decimalplaces={known.decimal_places}"
        told = f"decimalplaces of field {field.name} has no effect: {relation.name} has it {has}"
        findings.warn(place.line_of("decimalplaces"), told)


def _operand(draft: Draft, source: Relation | None, findings: Findings) -> tuple[str, ...]:
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
