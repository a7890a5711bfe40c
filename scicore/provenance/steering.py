"""What users ask of a run while it goes on: written by the command line, read by the master."""

from __future__ import annotations

import getpass
import json
import socket
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection, text

from scicore.execution.messages import Condition


@dataclass(frozen=True, slots=True)
class Steering:
    number: int  # 1, 2, … within the run
    action: str  # cancel, pause, resume
    activity: str  # empty = the whole run
    conditions: tuple[Condition, ...]


def request(
    connection: Connection,
    run_id: int,
    action: str,
    activity: str = "",
    conditions: Sequence[Condition] = (),
) -> int:
    """Leave a wish for the master; returns its number. The run's row is locked for the count."""
    connection.execute(
        text("SELECT FROM run WHERE run_id = :run FOR NO KEY UPDATE"), {"run": run_id}
    )
    number = connection.execute(
        text(
            """
            INSERT INTO steering (run_id, number, action, activity, conditions, requested_by)
            SELECT :run, 1 + coalesce(max(number), 0), :action, nullif(:activity, ''),
                   cast(:conditions AS jsonb), :who
            FROM steering WHERE run_id = :run
            RETURNING number
            """
        ),
        {
            "run": run_id,
            "action": action,
            "activity": activity,
            "conditions": json.dumps(msgspec.to_builtins(list(conditions))),
            "who": f"{getpass.getuser()}@{socket.gethostname()}",
        },
    ).scalar_one()
    return int(number)


def pending(connection: Connection, run_id: int) -> list[Steering]:
    """The wishes that the master has not handled yet, oldest first."""
    rows = connection.execute(
        text(
            "SELECT number, action, coalesce(activity, ''), conditions FROM steering "
            "WHERE run_id = :run AND handled_at IS NULL ORDER BY number"
        ),
        {"run": run_id},
    )
    return [
        Steering(number, action, activity, msgspec.convert(conditions, tuple[Condition, ...]))
        for number, action, activity, conditions in rows
    ]


def outcome(connection: Connection, run_id: int, number: int) -> str | None:
    """What the master did about a wish; None while it has not."""
    answer: str | None = connection.scalar(
        text("SELECT outcome FROM steering WHERE run_id = :run AND number = :number"),
        {"run": run_id, "number": number},
    )
    return answer
