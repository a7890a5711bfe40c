"""How far runtimes scatter around their estimates, activation by activation."""

from __future__ import annotations

from collections.abc import Sequence

from scicore.model.estimate import Estimate, Grounds
from scicore.model.plan import Plan


def spreads_of(grounds: Grounds, plan: Plan, unknown: float) -> tuple[float, ...]:
    """Sigma, on a log scale, of each activation on the VM that the plan has for it.

    As measured for its activity on that VM type; else on any VM type; else what is said for the
    unknown.
    """
    measured = _measured(grounds.estimates)
    types = {vm.id: vm.type.name for vm in plan.fleet.vms}
    on = {each.activation: types[each.vm] for each in plan.assignments}
    problem = grounds.problem
    return tuple(
        measured.get((activity, on[name]), measured.get((activity, ""), unknown))
        for name, activity in zip(problem.activations, problem.activities, strict=True)
    )


def _measured(estimates: Sequence[Estimate]) -> dict[tuple[str, str], float]:
    """By activity and VM type; under no type, the widest of all."""
    known: dict[tuple[str, str], float] = {}
    for each in estimates:
        if each.spread is not None:
            known[each.activity, each.vm_type] = each.spread
            known[each.activity, ""] = max(each.spread, known.get((each.activity, ""), 0.0))
    return known
