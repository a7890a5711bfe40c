"""What an activity runs and needs: commands, templates, resources, explicit edges."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scicore.algebra import command_check
from scicore.algebra.template import substitute, tags
from scicore.model.workflow import ALLOCATED_TAGS, QUERIES, Activity, FieldType, Operator, Relation
from scicore.spec.reader import Element, Findings, did_you_mean
from scicore.spec.shape import count, quantity

DIRECTORY_TAGS = ("WFDIR", "EXPDIR", "RUNDIR")
GIVEN_TAGS = (*DIRECTORY_TAGS, *ALLOCATED_TAGS)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNITS = {"memory": "megabytes", "runtime": "seconds"}


@dataclass(frozen=True, slots=True)
class Needs:
    """The part of an Activity that the original language lacks."""

    cpus: str = "1"
    memory_mb: str = "0"
    runtime_s: str = ""
    timeout_s: float = 0.0
    environment: tuple[tuple[str, str], ...] = ()
    id_field: str = ""
    parents_field: str = ""


def extractor(element: Element) -> str:
    """The attribute, or the element that some versions of the original had instead."""
    child = element.first("extractor")
    return element.get("extractor") or (child.get("invocation") if child else "")


def check_commands(element: Element, source: Relation | None, findings: Findings) -> None:
    child = element.first("extractor")
    places = [(element, "activation"), (element, "extractor")]
    if child is not None:
        places.append((child, "invocation"))
        if element.get("extractor"):
            found = "an extractor as an attribute and as an element"
            findings.at(child, "", found, "one of the two")
    for place, attribute in places:
        command = place.get(attribute)
        problem = command_check.defect(command) if command.strip() else None
        if problem is not None:
            findings.at(place, attribute, *problem)
        _check_tags(place, attribute, source, findings)


def needs(
    element: Element,
    source: Relation | None,
    operator: Operator | None,
    from_dataset: bool,
    findings: Findings,
    seen: Relation | None = None,
) -> Needs:
    """`seen` has the fields that variables may name, if those are not all of the source's."""
    timeout_s = quantity(element, "timeout", "seconds", findings)
    if operator in QUERIES:
        return Needs(timeout_s=timeout_s)
    for attribute in ("cpus", *_UNITS):
        _check_need(element, attribute, source, findings)
    id_field, parents_field = (
        _edge_field(element, attribute, source, findings) for attribute in ("id", "parents")
    )
    explicit = id_field or parents_field
    complete = id_field and parents_field and operator is Operator.MAP and from_dataset
    if explicit and not complete:
        found = f"explicit edges in activity {element.get('tag')}"
        expected = "both id and parents, in a MAP activity that reads a dataset"
        findings.at(element, "id" if id_field else "parents", found, expected)
    return Needs(
        cpus=element.get("cpus") or "1",
        memory_mb=element.get("memory") or "0",
        runtime_s=element.get("runtime"),
        timeout_s=timeout_s,
        environment=_environment(element, source if seen is None else seen, findings),
        id_field=id_field,
        parents_field=parents_field,
    )


def _check_need(
    element: Element, attribute: str, source: Relation | None, findings: Findings
) -> None:
    """A number, or one tag that gives it per activation."""
    text = element.get(attribute)
    field = need_field(text)
    if field:
        _check_tags(element, attribute, source, findings, DIRECTORY_TAGS)
        known = {each.name.casefold(): each for each in source.fields} if source else {}
        if field.casefold() in known and known[field.casefold()].type is not FieldType.FLOAT:
            found = f"{attribute} from the {known[field.casefold()].type} field {field}"
            findings.at(element, attribute, found, "a float field")
    elif tags(text):
        found, expected = f'{attribute}="{text}"', "a number, or one tag and nothing else"
        findings.at(element, attribute, found, expected)
    elif attribute == "cpus":
        count(element, attribute, 1, findings)
    else:
        quantity(element, attribute, _UNITS[attribute], findings)


def need_field(text: str) -> str:
    """The field behind cpus, memory or runtime, when it is a tag."""
    found = tags(text)
    return found[0] if len(found) == 1 and text.strip() == f"%={found[0]}%" else ""


def _edge_field(
    element: Element, attribute: str, source: Relation | None, findings: Findings
) -> str:
    name = element.get(attribute)
    if not name or source is None:
        return name
    known = {each.casefold(): each for each in source.field_names}
    if name.casefold() not in known:
        hint = did_you_mean(name, source.field_names)
        expected = f"a field of {source.name}: {', '.join(source.field_names)}{hint}"
        findings.at(element, attribute, f'{attribute}="{name}"', expected)
    return known.get(name.casefold(), name)


def _environment(
    element: Element, source: Relation | None, findings: Findings
) -> tuple[tuple[str, str], ...]:
    variables: dict[str, str] = {}
    for child in element.all("environment"):
        name = child.get("name")
        if name and not _VARIABLE.fullmatch(name):
            expected = "the name of a variable: letters, digits and _"
            findings.at(child, "name", f'name="{name}"', expected)
        elif name in variables:
            findings.at(child, "name", f"the variable {name} twice", "every variable once")
        _check_tags(child, "value", source, findings)
        variables[name] = child.get("value")
    return tuple(variables.items())


def _check_tags(
    element: Element,
    attribute: str,
    source: Relation | None,
    findings: Findings,
    given: Sequence[str] = GIVEN_TAGS,
) -> None:
    text = element.get(attribute)
    used = tags(text)
    if "%=" in substitute(text, dict.fromkeys(used, " ")):
        told = f"{attribute} has a %= that is no tag like %=NAME%: it is left as it is"
        findings.warn(element.line_of(attribute), told)
    if source is not None and not source.fields:
        given = DIRECTORY_TAGS  # a process that serves many is started for none of them
    known = (*source.field_names, *given) if source is not None else used
    for tag in _unknown(used, known):
        expected = f"one of {', '.join(f'%={name}%' for name in known)}{did_you_mean(tag, known)}"
        findings.at(element, attribute, f"the tag %={tag}% in {attribute}", expected)


def _unknown(used: Iterable[str], known: Sequence[str]) -> list[str]:
    folded = {name.casefold() for name in known}
    return [tag for tag in used if tag.casefold() not in folded]


def check_templates(
    conceptual: Element,
    activities: Sequence[Activity],
    directories: Mapping[str, str],
    findings: Findings,
) -> None:
    """A template directory is there, and its files have no tags that nobody can fill in."""
    elements = {each.get("tag"): each for each in conceptual.all("activity")}
    for activity in activities:
        if not activity.template or activity.operator in QUERIES:
            continue
        element = elements[activity.tag]
        unknown = [tag for tag in tags(activity.template) if tag.upper() not in directories]
        if unknown:
            found = f"the tag %={unknown[0]}% in template"
            findings.at(element, "template", found, "no other tags than %=WFDIR% and %=EXPDIR%")
            continue
        directory = Path(directories["WFDIR"], substitute(activity.template, directories))
        if not directory.is_dir():
            what = "is not a directory" if directory.exists() else "is not there"
            found = f"the template {directory}, which {what}"
            findings.at(element, "template", found, "a directory with the files of a workspace")
            continue
        _check_template_files(directory, activity, element, findings)


def _check_template_files(
    directory: Path, activity: Activity, element: Element, findings: Findings
) -> None:
    known = (*activity.input.field_names, *GIVEN_TAGS)
    for file in sorted(path for path in directory.rglob("*") if path.is_file()):
        try:
            text = file.read_bytes().decode("utf-8")
        except UnicodeDecodeError:  # binary files have no tags
            continue
        except OSError as error:
            found = f"the template's file {file}, which cannot be read: {error.strerror}"
            findings.at(element, "template", found, "files that every activation can copy")
            continue
        for tag in _unknown(tags(text), known):
            found = f"the tag %={tag}% in the template's file {file.name}"
            expected = f"one of {', '.join(f'%={name}%' for name in known)}"
            findings.at(element, "template", found, expected + did_you_mean(tag, known))
