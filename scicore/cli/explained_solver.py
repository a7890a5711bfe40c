"""Which solver `mdp` has chosen for a plan, and why, as JSON and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from scicore.cli.output import print_table

if TYPE_CHECKING:
    from scicore.model.plan import Policy


def solver_document(policy: Policy) -> dict[str, object]:
    found: Any = policy
    choice = found["choice"]
    hour, load, result = choice["state"]
    return {
        "chosen": choice["solver"],
        "because": choice["because"],
        "state": {"hour": hour, "load": load, "latest_run": result},
        "activations_per_slot": found["now"][1],
        "experiences": choice["experiences"],
        "solvers": [
            {"solver": solver, "expected_usd": usd, "tried_in_this_state": tried}
            for solver, usd, tried in choice["solvers"]
        ],
    }


def print_solver(policy: Policy) -> None:
    told: Any = solver_document(policy)
    state = told["state"]
    click.echo(f"solver: {told['chosen']}, because {told['because']}")
    click.echo(
        f"at {state['hour']} h, {state['load']} load ({told['activations_per_slot']:.2f} "
        f"activations per slot), after a {state['latest_run']}; "
        f"runs experienced: {told['experiences']}"
    )
    print_table(
        ("", "solver", "expected USD", "tried in this state"),
        [
            (
                "chosen" if each["solver"] == told["chosen"] else "",
                each["solver"],
                f"{each['expected_usd']:.6f}",
                each["tried_in_this_state"],
            )
            for each in told["solvers"]
        ],
    )
    click.echo()
