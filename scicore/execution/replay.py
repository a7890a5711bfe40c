"""The event log: every event of a run, from which the whole run can be decided again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from scicore.execution.core import Execution, Output
from scicore.execution.messages import Event
from scicore.model.activation import Dispatch
from scicore.model.plan import Plan
from scicore.model.workflow import Workflow

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Event).decode


def to_line(event: Event) -> bytes:
    return _encode(event) + b"\n"


def from_lines(lines: Iterable[bytes]) -> Iterator[Event]:
    return (_decode(line) for line in lines)


def replay(
    workflow: Workflow,
    plan: Plan,
    events: Iterable[Event],
    dispatch: Dispatch = Dispatch.ADAPTIVE,
    *,
    ahead: bool = False,
) -> list[list[Output]]:
    """`ahead`: as in the engine, whose logs are so."""
    execution = Execution(workflow, plan, dispatch, ahead=ahead)
    return [execution.handle(event) for event in events]
