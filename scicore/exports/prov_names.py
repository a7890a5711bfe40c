"""What things of a run are called in W3C PROV: stable URNs, the same in every export."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from prov.constants import PROV_LABEL, PROV_TYPE
from prov.identifier import Namespace, QualifiedName

from scicore.exports.lineage import DataFile
from scicore.exports.snapshot import Head

TERMS = Namespace("sc", "urn:scicumulus:terms/")
FIELD = Namespace("field", "urn:scicumulus:field/")  # a tuple's values, by field
RUN = Namespace("run", "urn:scicumulus:run:")
WORKFLOW = Namespace("workflow", "urn:scicumulus:workflow:")
PLAN = Namespace("plan", "urn:scicumulus:plan:")
AGENT = Namespace("agent", "urn:scicumulus:agent:")
NAMESPACES = (TERMS, FIELD, RUN, WORKFLOW, PLAN, AGENT)

_PLAIN = re.compile(r"[0-9A-Za-z_-]+(?:\.[0-9A-Za-z_-]+)*")

Value = str | int | float | bool | datetime | QualifiedName
Formal = Mapping[QualifiedName, Value | None]


@dataclass(frozen=True, slots=True)
class Statement:
    kind: QualifiedName  # prov:Entity, prov:Usage, …
    id: QualifiedName
    formal: Formal  # what PROV itself defines for the kind
    others: tuple[tuple[QualifiedName, Value], ...] = ()


class Names:
    def __init__(self, head: Head) -> None:
        run = head.run
        self.run = RUN[str(run.run_id)]
        self.specification = WORKFLOW[run.workflow_digest]
        self.plan = PLAN[str(run.plan_id)]
        self.user = AGENT[f"user/{_quoted(run.user_name)}"]
        self.software = AGENT[f"software/{_quoted(run.version)}"]
        self.vms = {vm.vm: self.part("vm", vm.vm) for vm in head.vms}

    def part(self, *path: str | int) -> QualifiedName:
        """Something of this run: run:12/tuple/88."""
        steps = (str(step) if isinstance(step, int) else _quoted(step) for step in path)
        # Not RUN[…]: a namespace keeps every name that it is asked for, and here come millions.
        return QualifiedName(RUN, "/".join((self.run.localpart, *steps)))

    def activation(self, activation_id: int) -> QualifiedName:
        return self.part("activation", activation_id)

    def tuple(self, tuple_id: int) -> QualifiedName:
        return self.part("tuple", tuple_id)

    def file(self, file: DataFile) -> QualifiedName:
        return self.part("file", file.tuple_id, file.field)

    def definition(self, activity: str) -> QualifiedName:
        return WORKFLOW[f"{self.specification.localpart}/activity/{_quoted(activity)}"]


def field_name(name: str) -> QualifiedName:
    return FIELD[_quoted(name)]


def element(
    kind: QualifiedName,
    id: QualifiedName,
    types: tuple[QualifiedName, ...],
    label: str,
    formal: Mapping[QualifiedName, datetime | None] | None = None,
    **attributes: str | int | float | bool | datetime | None,
) -> Statement:
    """An entity, activity or agent; attributes that are unknown or empty are left out."""
    others: list[tuple[QualifiedName, Value]] = [(PROV_TYPE, each) for each in types]
    others.append((PROV_LABEL, label))
    others += told(**attributes)
    times = {name: moment(at) for name, at in (formal or {}).items()}
    return Statement(kind, id, times, tuple(others))


def told(
    **attributes: str | int | float | bool | datetime | None,
) -> list[tuple[QualifiedName, Value]]:
    """Attributes in our own vocabulary, without those that say nothing."""
    return [
        (TERMS[name], value.astimezone(UTC) if isinstance(value, datetime) else value)
        for name, value in attributes.items()
        if value is not None and value != ""
    ]


def moment(at: datetime | None) -> datetime | None:
    return None if at is None else at.astimezone(UTC)


def _quoted(text: str) -> str:
    """As a step of a URN and of PROV-N's local names: what is unusual is percent-encoded."""
    if _PLAIN.fullmatch(text):
        return text
    return quote(text, safe="").replace("~", "%7E").replace(".", "%2E")
