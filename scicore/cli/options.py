"""Options that several verbs share, and the values they take."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from scicore.model.workflow import Workflow

_F = TypeVar("_F", bound=Callable[..., Any])

_UNITS_S = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def duration_s(value: str) -> float:
    """5s, 2m, 500ms, 1h; a bare number is seconds."""
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([a-z]*)\s*", value.lower())
    if match is None or match[2] not in _UNITS_S:
        raise click.BadParameter(f"found {value!r}, expected a time such as 5s, 500ms, 2m or 1h")
    return float(match[1]) * _UNITS_S[match[2]]


def share(value: str) -> float:
    """A number from 0 to 1, or a percentage."""
    text = value.strip()
    try:
        number = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise click.BadParameter(f"found {value!r}, expected a share from 0 to 1, or 0% to 100%")
    return number


fleet_option = click.option(
    "--fleet", metavar="FLEET", help="VMs, as COUNTxTYPE,…; default: one local per core."
)
seed_option = click.option("--seed", default=0, show_default=True, help="Same seed, same result.")
algorithm_option = click.option(
    "--algorithm",
    metavar="NAME",
    help="Planner; default: the workflow's, or our learner. `compare --help` lists them.",
)
budget_option = click.option(
    "--budget", type=duration_s, metavar="TIME", help="Plan for so long at most, e.g. 5s or 2m."
)
replace_option = click.option(
    "--replace",
    "replacements",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="On rented VMs: launch others for up to N that are lost.",
)
substitutes_option = click.option(
    "--allow-substitutes",
    "substitutes",
    is_flag=True,
    help="Other types that can do the work, if one is short.",
)
sizing_option = click.option(
    "--sizing",
    metavar="NAME",
    help="Who sizes activations: quantile (on), fixed, feedback, gradient-bandit, q-learning, "
    "with parameters as in quantile,price=8; off. Default: the workflow's, or off.",
)
settings_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the planner, e.g. alpha=0.5; may be repeated.",
)


def sizing_of(wanted: str | None, workflow: Workflow | None = None) -> str:
    """What the user says, else the workflow; empty = off. Unknown sizers are refused."""
    text = wanted if wanted is not None else workflow.sizing if workflow is not None else ""
    if not text:
        return ""
    from scicore.sizing import sizing

    chosen = sizing(text)
    return "" if chosen is None else chosen.text


def problem_options(command: _F) -> _F:
    """What a planner and a simulator are told about the cloud."""
    return fleet_option(cloud_options(command))


def cloud_options(command: _F) -> _F:
    """The same without the fleet."""
    for option in reversed(
        (
            click.option(
                "--catalog",
                type=click.Path(path_type=Path, dir_okay=False),
                metavar="FILE",
                help="TOML with further VM types, in [[vm_type]] tables; `papers`: as published.",
            ),
            click.option(
                "--transfer",
                type=click.Choice(["none", "edge", "shared"]),
                help="How data moves: not at all, from VM to VM, through a shared storage; "
                "default: edge, or none where all VMs are this machine.",
            ),
            click.option("--no-boot", is_flag=True, help="VMs are up when the run starts."),
            click.option(
                "--processors",
                is_flag=True,
                help="A VM is one processor as fast as all its slots, as in the papers.",
            ),
        )
    ):
        command = option(command)
    return command
