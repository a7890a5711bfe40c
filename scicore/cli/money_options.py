"""Options of verbs that weigh time against money."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from scicore.cli.options import duration_s, share

if TYPE_CHECKING:
    from scicore.cli.tradeoff import Doubt
    from scicore.model.objective import Objective

_F = TypeVar("_F", bound=Callable[..., Any])


def usd(value: str) -> float:
    """5, 0.25 or $5."""
    try:
        return float(value.strip().removeprefix("$"))
    except ValueError:
        raise click.BadParameter(f"found {value!r}, expected USD such as 5 or 0.25") from None


deadline_option = click.option(
    "--deadline", type=duration_s, metavar="TIME", help="The run has to end by then, e.g. 2h."
)
max_cost_option = click.option(
    "--max-cost", type=usd, metavar="USD", help="The run may cost so much, e.g. 5."
)
noise_option = click.option(
    "--noise",
    type=click.FloatRange(0, 5),
    default=0.3,
    show_default=True,
    metavar="SIGMA",
    help="How far runtimes scatter that no earlier run tells about (log-normal).",
)


def front_options(command: _F) -> _F:
    """What `plan` is told about time and money."""
    for option in reversed(
        (
            click.option(
                "--objective",
                type=click.Choice(["makespan", "cost", "balanced", "pareto"]),
                help="Which plan of the front is wanted. `pareto`, or a limit alone: the fastest "
                "under --max-cost, the cheapest before --deadline, else the balanced one.",
            ),
            deadline_option,
            max_cost_option,
            click.option(
                "--confidence",
                type=share,
                default="0.9",
                show_default=True,
                metavar="SHARE",
                help="Limits are kept in at least this share of runs.",
            ),
            noise_option,
            click.option(
                "--quota",
                type=click.IntRange(1),
                envvar="SCICUMULUS_VCPU_QUOTA",
                metavar="VCPUS",
                help="With --fleet auto: so many vCPUs may be rented at once; default: 32.",
            ),
            click.option(
                "--picture",
                type=click.Path(path_type=Path, dir_okay=False),
                metavar="FILE",
                help="Draw the front as FILE.svg or FILE.png.",
            ),
        )
    ):
        command = option(command)
    return command


def objective_of(
    goal: str | None, deadline_s: float | None, max_cost_usd: float | None
) -> Objective:
    from scicore.model.objective import Goal, Objective

    return Objective(Goal(goal or Goal.PARETO), deadline_s, max_cost_usd)


def doubt_of(confidence: float, noise: float, seed: int) -> Doubt:
    from scicore.cli.tradeoff import Doubt
    from scicore.errors import UsageError

    if not 0 < confidence < 1:
        raise UsageError(
            f"--confidence {confidence:g}: expected more than 0 and less than 1, e.g. 0.9"
        )
    return Doubt(confidence, noise, seed=seed)
