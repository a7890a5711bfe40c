"""A schedule plan as a Python object: make one, compare it, look into it, run it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from scicore.notebook.command_line import call
from scicore.notebook.frame import frame
from scicore.notebook.front import OF_A_PLAN, Front

if TYPE_CHECKING:
    from pandas import DataFrame

    from scicore.notebook.run import Run


def plan(
    spec: str | os.PathLike[str],
    *,
    fleet: str | None = None,
    algorithm: str | None = None,
    seed: int = 0,
    budget: str | float | None = None,
    settings: Mapping[str, object] | None = None,
    catalog: str | os.PathLike[str] | None = None,
    transfer: str | None = None,
    boot: bool = True,
    objective: str | None = None,
    deadline: str | float | None = None,
    max_cost: float | None = None,
    confidence: float = 0.9,
    quota: int | None = None,
    database_url: str | None = None,
    progress: bool = True,
) -> Plan:
    """Make a schedule plan for the workflow `spec` and store it, as `scicumulus plan` does.

    `budget` is a time such as "5s", or seconds; `settings` are the planner's parameters.

    With `objective` ("makespan", "cost", "balanced" or "pareto"), `deadline` (a time, or seconds),
    `max_cost` (USD) or `fleet="auto"`, all plans that trade time for money are made and stored:
    they are the `front` of the one that these words choose. Limits that no plan keeps with the
    `confidence` asked for raise nothing: look at `plan.front.kept`. `quota` is how many vCPUs
    "auto" may rent.
    """
    cloud = ["--catalog", os.fspath(catalog)] if catalog is not None else []
    cloud += ["--transfer", transfer] if transfer is not None else []
    cloud += [] if boot else ["--no-boot"]
    cloud += ["--seed", str(seed)]
    cloud += ["--budget", str(budget)] if budget is not None else []
    own = ["--fleet", fleet] if fleet is not None else []
    own += ["--algorithm", algorithm] if algorithm is not None else []
    for name, value in (settings or {}).items():
        own += ["--set", f"{name}={value}"]
    limits = {"--objective": objective, "--deadline": deadline, "--max-cost": max_cost}
    for name, value in (limits | {"--quota": quota}).items():
        own += [name, str(value)] if value is not None else []
    own += ["--confidence", str(confidence)]
    asked = os.fspath(spec), *cloud
    document = call("plan", *asked, *own, database_url=database_url, progress=progress)
    return _plan_of(document, asked, database_url)


def _plan_of(document: Mapping[str, Any], asked: tuple[str, ...], url: str | None) -> Plan:
    """The plan that was chosen, with its front if one was made."""
    common = {name: document[name] for name in _COMMON}
    own = {name: document[name] for name in OF_A_PLAN}
    chosen = Plan(document["plan_id"], **common, **own, _asked=asked, _database_url=url)
    if "front" not in document:
        return chosen
    plans = [
        Plan(
            row["plan_id"],
            **common,
            **{name: row[name] for name in OF_A_PLAN},
            _asked=asked,
            _database_url=url,
        )
        for row in document["front"]
    ]
    told = {name: document[name] for name in ("kept", "probability", "confidence")}
    return replace(chosen, front=Front(tuple(plans), **told, _rows=tuple(document["front"])))


@dataclass(frozen=True, slots=True)
class Plan:
    id: int
    algorithm: str
    seed: int
    fleet: str
    activations: int
    makespan_s: float  # predicted
    cost_usd: float  # predicted
    lower_bound_s: float  # no schedule on this fleet is faster
    gap: float  # at most so far from the optimum: 0.1 = 10%
    planning_s: float
    _asked: tuple[str, ...] = field(repr=False)  # the words that tell workflow, seed, budget
    _database_url: str | None = field(repr=False)
    front: Front | None = field(default=None, repr=False)  # that it was chosen from

    def compare(self, algorithms: Sequence[str] | None = None, progress: bool = True) -> DataFrame:
        """What other planners make of the same workflow, fleet, seed and budget, best first.

        Without `algorithms`: all but the slow ones. Nothing is stored.
        """
        names = ["--algorithms", ",".join(algorithms)] if algorithms is not None else []
        where = (*self._asked, "--fleet", self.fleet)
        document = call(
            "compare", *where, *names, database_url=self._database_url, progress=progress
        )
        results: list[dict[str, Any]] = sorted(
            document["results"], key=lambda each: (each["makespan_s"], each["planning_s"])
        )
        columns = list(results[0]) if results else ["algorithm"]
        return frame(columns, [list(each.values()) for each in results])

    def assignments(self) -> DataFrame:
        """A row per activation, in the order of execution: its VM, predicted start and finish."""
        return self._frame(_ASSIGNMENTS)

    def curve(self) -> DataFrame:
        """How the plan got better while it was learned; empty for planners that do not learn."""
        return self._frame(_CURVE)

    def run(self, *, progress: bool = True, check: bool = True) -> Run:
        """Run the workflow by this plan."""
        from scicore.notebook.run import run

        return run(
            self._asked[0],
            plan=self,
            database_url=self._database_url,
            progress=progress,
            check=check,
        )

    def _frame(self, sql: str) -> DataFrame:
        from scicore.notebook.run import database_of
        from scicore.provenance.queries import run_query

        answer = run_query(database_of(self._database_url).engine, sql, {"plan": self.id})
        return frame(answer.columns, answer.rows)


_COMMON = ("algorithm", "seed", "activations", "planning_s")  # to all plans of a front
_ASSIGNMENTS = """
    SELECT position, activation, activity, vm, start_s, finish_s
    FROM assignment WHERE plan_id = :plan ORDER BY position
"""
_CURVE = """
    SELECT (point->>0)::int AS episodes, (point->>1)::float AS best_makespan_s
    FROM policy, jsonb_array_elements(policy.policy->'learning_curve')
         WITH ORDINALITY AS curve (point, place)
    WHERE plan_id = :plan ORDER BY place
"""
