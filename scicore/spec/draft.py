"""An activity as its own element tells it, before anybody knows who feeds it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scicore.model.workflow import (
    QUERIES,
    Field,
    FieldType,
    FileOperation,
    Operator,
    Relation,
    Staging,
)
from scicore.spec.program import DIRECTORY_TAGS
from scicore.spec.reader import Element, Findings
from scicore.spec.shape import choice, count, flag

_ALIASES = {"text": FieldType.STRING, "int": FieldType.FLOAT, "integer": FieldType.FLOAT}
_TYPES = {type_.value: type_ for type_ in FieldType} | _ALIASES
_COLUMNS = ("EWKFID", "IK", "OK")  # every relation has these in SQL, as in the original system
_MOST_DECIMALS = 99
# An activation is called TAG.LINE.NUMBER…, so that a dot in a tag could make two names equal.
_ACTIVITY_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,62}")  # becomes a directory
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_COUNTING = (Operator.SPLIT_MAP, Operator.FILTER, *QUERIES)  # what they give is what they say


@dataclass(frozen=True, slots=True)
class DraftField:
    field: Field
    element: Element
    staging: Staging | None  # what its operation and instrumented ask for

    @property
    def key(self) -> str:
        """Field names match whatever their case."""
        return self.field.name.casefold()


@dataclass(frozen=True, slots=True)
class Draft:
    element: Element
    operator: Operator | None  # None: not one of ours
    fields: tuple[DraftField, ...]
    inputs: tuple[Element, ...]  # one, or more for MR_QUERY; none with a defect
    output: Relation | None

    @property
    def tag(self) -> str:
        return self.element.get("tag")

    def fields_of(self, side: str, relation: str) -> dict[str, DraftField]:
        """What the activity says of a relation's fields, by folded name; the first one counts."""
        own: dict[str, DraftField] = {}
        for field in self.fields:
            if field.element.get(side) == relation:
                own.setdefault(field.key, field)
        return own


def read_draft(element: Element, findings: Findings) -> Draft:
    _check_name(element, "tag", _ACTIVITY_NAME, findings)
    for relation in element.all("relation"):
        choice(relation, "reltype", ("Input", "Output"), findings)
        _check_name(relation, "name", _NAME, findings)
    fields = tuple(_field(child, findings) for child in element.all("field"))
    for side in ("input", "output"):
        _refuse_twice(fields, side, findings)
    word = choice(element, "type", Operator, findings)
    operator = Operator(word) if word else None
    inputs = tuple(relations(element, "Input"))
    if operator is not Operator.MR_QUERY or not inputs:
        inputs = _only(element, "Input", inputs, findings)
    outputs = _only(element, "Output", relations(element, "Output"), findings)
    draft = Draft(element, operator, fields, inputs, output=None)
    if not outputs:
        return draft
    produced = _output(draft, outputs[0], findings)
    return Draft(element, operator, fields, inputs, produced)


def relations(activity: Element, side: str) -> list[Element]:
    """The <relation> elements of one side, Input or Output."""
    return [
        each
        for each in activity.all("relation")
        if each.get("reltype").casefold() == side.casefold()
    ]


def _check_name(
    element: Element, attribute: str, pattern: re.Pattern[str], findings: Findings
) -> None:
    name = element.get(attribute)
    told_already = not name.strip() and element.tag != "relation"  # it must not be empty
    if name and not told_already and not pattern.fullmatch(name):
        extra = "digits, _ or -" if pattern is _ACTIVITY_NAME else "digits or _"
        expected = f"a letter or _ and then up to 62 letters, {extra}"
        findings.at(element, attribute, f'{attribute}="{name}"', expected)


def _field(element: Element, findings: Findings) -> DraftField:
    """The field; with a wrong type a string, so that one mistake is told once."""
    _check_name(element, "name", _NAME, findings)
    name = element.get("name")
    if name.upper() in (*DIRECTORY_TAGS, *_COLUMNS):
        meaning = "a directory" if name.upper() in DIRECTORY_TAGS else "a column of every relation"
        expected = f"another name: {name.upper()} is {meaning}"
        findings.at(element, "name", f"a field called {name}", expected)
    word = choice(element, "type", _TYPES, findings)
    type_ = _TYPES.get(word, FieldType.STRING)
    places = None
    if element.get("decimalplaces"):
        places = count(element, "decimalplaces", 0, findings, least=0, most=_MOST_DECIMALS)
    operation = choice(element, "operation", FileOperation, findings)
    instrumented = flag(element, "instrumented", findings)
    staging = None
    if operation or instrumented:
        staging = Staging(name, FileOperation(operation) if operation else None, instrumented)
    if word:
        _warn_of_idle(element, type_, findings)
    is_float, is_file = type_ is FieldType.FLOAT, type_ is FieldType.FILE
    field = Field(name, type_, places if is_float else None)
    return DraftField(field, element, staging if is_file else None)


def _warn_of_idle(element: Element, type_: FieldType, findings: Findings) -> None:
    """Attributes that belong to fields of another type."""
    for attribute, belongs_to in (
        ("decimalplaces", FieldType.FLOAT),
        ("operation", FieldType.FILE),
        ("instrumented", FieldType.FILE),
    ):
        value = element.get(attribute)
        if value.casefold() not in ("", "f", "false") and type_ is not belongs_to:
            told = f"{attribute} of field {element.get('name')} has no effect"
            findings.warn(element.line_of(attribute), f"{told}: it is for {belongs_to} fields")


def _refuse_twice(fields: Iterable[DraftField], side: str, findings: Findings) -> None:
    seen: set[tuple[str, str]] = set()
    for field in fields:
        relation = field.element.get(side)
        if relation and (relation, field.key) in seen:
            found = f"a second field {field.field.name} in relation {relation}"
            findings.at(field.element, "name", found, "every field once, whatever its case")
        seen.add((relation, field.key))


def _only(
    activity: Element, side: str, found: Sequence[Element], findings: Findings
) -> tuple[Element, ...]:
    """The activity's one relation of a side, or none with a defect."""
    who, expected = f"activity {activity.get('tag')}", f"exactly one {side} relation per activity"
    if side == "Input":
        expected += "; MR_QUERY alone reads several"
    if not found:
        findings.at(activity, "", f"{who} without an {side} relation", expected)
    for extra in found[1:]:
        findings.at(extra, "", f"one more {side} relation in {who}", expected)
    return tuple(found) if len(found) == 1 else ()


def _output(draft: Draft, element: Element, findings: Findings) -> Relation | None:
    name = element.get("name")
    if not name:
        findings.at(element, "", "an Output relation without a name", 'name="…"')
        return None
    if element.get("dependency"):
        expected = "dependency on Input relations only"
        findings.at(element, "dependency", "an Output with a dependency", expected)
    for field in draft.fields:
        output = field.element.get("output")
        if output not in ("", name):
            found = f'field {field.field.name} with output="{output}"'
            expected = f"the output of activity {draft.tag}: {name}"
            findings.at(field.element, "output", found, expected)
    own = draft.fields_of("output", name)
    if not own and draft.operator in _COUNTING:
        found = f"the output {name} of a {draft.operator} without fields"
        findings.at(element, "", found, f'at least one <field … output="{name}"/>')
    return Relation(name, tuple(each.field for each in own.values()))
