"""A language of elements and attributes as a table, and how a document is held against it.

Words only, no meaning; the readers of single attributes at the end are for whoever knows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from scicore.algebra.output import is_number
from scicore.spec.markup import SECRET
from scicore.spec.reader import Element, Findings, did_you_mean, one_of

_SECRET_TEXT = ("credentials", "access_key", "secret_access_key", "password")
_SECRET_VARIABLE = re.compile(
    r"passw|secret|access_?key|api_?key|credential|(^|_)token$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Shape:
    """What may be written in an element."""

    required: tuple[str, ...] = ()  # attributes, and none of them empty
    optional: tuple[str, ...] = ()
    idle: Mapping[str, tuple[tuple[str, ...], str]] = field(default_factory=dict)
    """Attributes without effect: the values that ask for nothing, and why it is so."""
    children: Mapping[str, Shape] = field(default_factory=dict)
    needed: tuple[str, ...] = ()  # children that must be there
    text: bool = False
    repeatable: bool = False
    unused: str = ""  # the element is accepted and left alone; what to tell the user


def check(element: Element, shape: Shape, findings: Findings) -> None:
    """Compare an element and all below it with the language."""
    if element.text and not shape.text:
        findings.warn(element.line, f"the text inside <{element.tag}> is ignored")
    known = (*shape.required, *shape.optional, *shape.idle)
    for name in shape.required:
        if not element.get(name).strip():
            missing = "an empty" if name in element.attributes else "no"
            findings.defect(
                element.line_of(name),
                f"<{element.tag}> with {missing} {name}",
                f'<{element.tag} {name}="…">',
            )
    for name, value in element.attributes.items():
        line = element.line_of(name)
        if name not in known:
            hint = did_you_mean(name, known)
            findings.warn(line, f"<{element.tag}> has no attribute {name}: it is ignored{hint}")
        elif name in shape.idle and value and not _asks_for_nothing(value, shape.idle[name][0]):
            why = shape.idle[name][1]
            findings.warn(line, f"{name} of <{element.tag}> has no effect: {why}")
    for name in shape.needed:
        if element.first(name) is None:
            findings.at(element, "", f"no <{name}> inside <{element.tag}>", f"<{name} …>")
    seen: set[str] = set()
    for child in element.children:
        _check_child(child, element, shape, child.tag in seen, findings)
        seen.add(child.tag)


def _asks_for_nothing(value: str, defaults: Iterable[str]) -> bool:
    return value.casefold() in [default.casefold() for default in defaults]


def _check_child(
    child: Element, parent: Element, shape: Shape, again: bool, findings: Findings
) -> None:
    known = shape.children.get(child.tag)
    if known is None:
        names = one_of(f"<{name}>" for name in shape.children) if shape.children else "nothing"
        hint = did_you_mean(child.tag, shape.children)
        where = f"inside <{parent.tag}>"
        findings.defect(child.line, f"<{child.tag}> {where}", f"{names} {where}{hint}")
    elif again and not known.repeatable:
        findings.defect(child.line, f"a second <{child.tag}>", "only one of them")
    elif known.unused:
        findings.warn(child.line, f"<{child.tag}> is not used: {known.unused}")
    else:
        check(child, known, findings)


def refuse_secrets(root: Element, findings: Findings) -> None:
    """Only a database password is let through: it is of no use to us, and masked."""
    for element in root.walk():
        attributes = element.attributes.items()
        names = [name for name, value in attributes if value and SECRET.search(name)]
        variable = element.get("name") if element.tag == "environment" else ""
        if element.tag == "database" and names == ["password"]:
            told = "the password in <database> is not used; better take it out of this file"
            findings.warn(element.line_of("password"), told)
        elif names or (element.tag in _SECRET_TEXT and element.text):
            findings.defect(
                element.line_of(names[0]) if names else element.line,
                f"a secret in <{element.tag}>" + (f": {', '.join(names)}" if names else ""),
                "no secrets in this file: run `aws configure` and set AWS_PROFILE, or set"
                " AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment",
            )
        elif _SECRET_VARIABLE.search(variable) and element.get("value"):
            expected = (
                "no secrets in this file: set the variable where scicumulus is started, the"
                " programs inherit it, or give them the name of a file that holds it"
            )
            findings.at(element, "value", f"the value of the secret variable {variable}", expected)


def choice(element: Element, attribute: str, known: Iterable[str], findings: Findings) -> str:
    """The known word that the attribute is, whatever its case; empty if it is none."""
    value, words = element.get(attribute), tuple(known)
    for word in words:
        if value.casefold() == word.casefold():
            return word
    if value.strip():  # `check` tells of a missing one
        expected = one_of(words) + did_you_mean(value, words)
        findings.at(element, attribute, f'{attribute}="{value}"', expected)
    return ""


def count(
    element: Element,
    attribute: str,
    default: int,
    findings: Findings,
    least: int = 1,
    most: int = 999_999_999,
) -> int:
    """The attribute as a whole number; the default when it is not given."""
    value = element.get(attribute)
    if re.fullmatch("[0-9]{1,9}", value) and least <= int(value) <= most:
        return int(value)
    if value:
        limit = "up" if most == 999_999_999 else f"to {most}"
        expected = f"a whole number from {least} {limit}"
        findings.at(element, attribute, f'{attribute}="{value}"', expected)
    return default


def quantity(element: Element, attribute: str, unit: str, findings: Findings) -> float:
    """The attribute as a number above 0; 0 when it is not given."""
    value = element.get(attribute)
    if not value:
        return 0.0
    if is_number(value) and float(value) > 0:
        return float(value)
    findings.at(element, attribute, f'{attribute}="{value}"', f"a number of {unit} above 0")
    return 0.0


def share(element: Element, attribute: str, findings: Findings) -> float:
    """The attribute as a number from 0 to 1; 0 when it is not given."""
    value = element.get(attribute)
    if not value:
        return 0.0
    if is_number(value) and 0 <= float(value) <= 1:
        return float(value)
    findings.at(element, attribute, f'{attribute}="{value}"', "a share from 0 to 1, as in 0.9")
    return 0.0


def flag(element: Element, attribute: str, findings: Findings) -> bool:
    """True or false, or the T or F of the original's database."""
    value = element.get(attribute)
    if value.casefold() in ("t", "f"):
        return value.casefold() == "t"
    return choice(element, attribute, ("true", "false"), findings) == "true"
