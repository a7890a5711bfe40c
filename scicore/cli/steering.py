"""What `cancel`, `pause` and `resume` have in common: a wish that the master acts upon."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scicore.cli.output import print_json, say

if TYPE_CHECKING:
    from scicore.execution.messages import Condition

PATIENCE_S = 15.0  # how long to wait for the master's answer
_CONDITION = re.compile(r"\s*(\w+)\s*(<=|>=|!=|=|<|>)\s*(.*?)\s*")


def conditions(texts: Sequence[str]) -> tuple[Condition, ...]:
    """From `T1 >= 10` to a condition."""
    from scicore.errors import UsageError
    from scicore.execution.messages import Condition

    found = []
    for text in texts:
        match = _CONDITION.fullmatch(text)
        if match is None:
            raise UsageError(
                f"--where {text!r}: expected FIELD OPERATOR VALUE with one of = != < <= > >=",
                "e.g. --where 'T1 >= 10'",
            )
        found.append(Condition(*match.groups()))
    return tuple(found)


def steer(
    reference: str,
    action: str,
    database_url: str | None,
    as_json: bool,
    activity: str = "",
    where: tuple[Condition, ...] = (),
) -> None:
    """Leave the wish, wait for the master to act upon it, and say what became of it."""
    from scicore.errors import UsageError
    from scicore.model.activation import RunState
    from scicore.provenance.connection import connect, reading
    from scicore.provenance.reader import resolve_run, run_summary
    from scicore.provenance.steering import outcome, request

    engine = connect(database_url).engine
    with engine.begin() as connection:
        run_id = resolve_run(connection, reference)
        summary = run_summary(connection, run_id)
        if summary.state not in (RunState.RUNNING, RunState.PAUSED):
            raise UsageError(
                f"run {run_id} is {summary.state}; only a run that goes on can be steered"
            )
        if activity and activity not in {each.activity for each in summary.activities}:
            known = ", ".join(each.activity for each in summary.activities)
            raise UsageError(f"run {run_id} has no activity {activity!r}", f"known: {known}")
        number = request(connection, run_id, action, activity, where)
    deadline = time.monotonic() + PATIENCE_S
    answer = None
    while answer is None and time.monotonic() < deadline:
        time.sleep(0.1)
        with reading(engine) as connection:
            answer = outcome(connection, run_id, number)
    if as_json:
        print_json({"run_id": run_id, "number": number, "action": action, "outcome": answer})
    else:
        said = answer or "the master has not answered yet; it will act upon this when it does"
        say(f"run {run_id}: {said}")
