"""Does a tuple meet the conditions under which a user cancels what consumes it?"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scicore.execution.messages import Condition
from scicore.model.activation import Activation
from scicore.model.workflow import Activity

OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Cancellation:
    """A standing wish: it holds for activations that appear later, too."""

    activity: str  # empty = any
    conditions: tuple[Condition, ...]

    def covers(self, activity: Activity, activation: Activation) -> bool:
        if self.activity and activity.tag != self.activity:
            return False
        if not self.conditions:
            return True
        rows = (
            activity.input.as_mapping(data.row)
            for data in activation.inputs
            if data.relation == activity.input.name
        )
        return any(all(meets(row, condition) for condition in self.conditions) for row in rows)


def meets(row: Mapping[str, str], condition: Condition) -> bool:
    """A tuple without the field meets no condition on it."""
    folded = {name.upper(): value for name, value in row.items()}
    value = folded.get(condition.field.upper())
    if value is None:
        return False
    compare = OPERATORS[condition.operator]
    try:
        return compare(float(value), float(condition.value))
    except ValueError:
        return compare(value, condition.value)
