"""What is remembered of a Q table when the fleet or the input has changed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from scicore.errors import UsageError
from scicore.model.cloud import VmType, parse_fleet
from scicore.model.plan import Policy
from scicore.model.problem import Problem
from scicore.planners import planner
from scicore.planners.q_table import recalled

CATALOG = {name: VmType(name, 1, 0, 1.0, 0.0) for name in ("small", "large", "new")}


def problem(fleet: str, *activations: str) -> Problem:
    """Activations are named ACTIVITY.NUMBER."""
    vms = parse_fleet(fleet, CATALOG)
    return Problem(
        activations,
        tuple(name.partition(".")[0] for name in activations),
        (),
        vms,
        np.ones((len(activations), len(vms.vms))),
    )


BEFORE = problem("2xsmall,1xlarge", "fit.1", "fit.2", "plot.1")


def policy() -> Policy:
    """Stored and read again, as it is between two plans."""
    made = planner("reassign", {"episodes": "3"}).plan(BEFORE, 1).policy
    stored: Policy = json.loads(json.dumps(made))
    return {**stored, "q": [[1.0, 2.0, 3.0], [5.0, 6.0, 7.0], [10.0, 20.0, 30.0]]}


def table(after: Problem) -> list[list[float]]:
    found: list[list[float]] = recalled(policy(), after, np.random.default_rng(0)).q.tolist()
    return found


def test_the_same_problem_gets_the_same_table() -> None:
    assert table(BEFORE) == policy()["q"]


def test_the_order_of_names_does_not_matter() -> None:
    assert table(problem("2xsmall,1xlarge", "plot.1", "fit.2")) == [[10, 20, 30], [5, 6, 7]]


def test_another_vm_of_a_known_type_gets_the_mean_of_the_type() -> None:
    assert table(problem("3xsmall", "fit.1")) == [[1, 2, 1.5]]


def test_another_activation_of_a_known_activity_gets_the_mean_of_the_activity() -> None:
    assert table(problem("2xsmall,1xlarge", "fit.9")) == [[3, 4, 5]]


def test_what_nobody_has_seen_is_random() -> None:
    ((known, strange),) = table(problem("1xsmall,1xnew", "fit.1"))
    assert known == 1
    assert 0 <= strange < 1
    assert all(0 <= value < 1 for value in table(problem("1xsmall", "merge.1"))[0])


def test_statistics_stay_with_the_vms_that_are_still_there() -> None:
    old = policy()
    memory = recalled(old, problem("1xlarge,1xsmall,1xnew", "fit.1"), np.random.default_rng(0))
    executed = dict(zip(old["vms"], old["executed"], strict=True))  # type: ignore[call-overload]
    assert memory.executed.tolist() == [executed["large-1"], executed["small-1"], 0]


def test_a_warm_start_begins_where_the_last_learning_ended() -> None:
    """With alpha 0 nothing is learned: what goes in comes out."""
    again = planner("reassign", {"alpha": "0", "episodes": "1"}).plan(BEFORE, 9, policy=policy())
    assert again.policy is not None
    assert again.policy["q"] == policy()["q"]


def test_learning_goes_on_after_a_warm_start() -> None:
    again = planner("reassign", {"episodes": "2"}).plan(BEFORE, 9, policy=policy())
    assert again.policy is not None
    before, after = policy()["executed"], again.policy["executed"]
    assert sum(after) == sum(before) + 2 * 3  # type: ignore[call-overload]


def test_a_policy_of_another_algorithm_is_refused() -> None:
    with pytest.raises(UsageError, match="'biases', expected a 'q-table'"):
        planner("reassign").plan(BEFORE, 0, policy={"kind": "biases"})
