"""Planners: a problem in, a plan out. One file per algorithm, all of them in one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from scicore.errors import UsageError
from scicore.model.parameters import read_settings
from scicore.planners.base import Planner

_FILES = {
    "fcfs": "fcfs.Fcfs",
    "round-robin": "round_robin.RoundRobin",
    "min-min": "min_min.MinMin",
    "max-min": "max_min.MaxMin",
    "mct": "mct.Mct",
    "heft": "heft.Heft",
    "peft": "peft.Peft",
    "reassign": "reassign.Reassign",
    "reassign-plus": "reassign_plus.ReassignPlus",
    "reassign-pareto": "reassign_pareto.ReassignPareto",
    "dqn": "dqn.Dqn",
    "nsga2": "nsga2.Nsga2",
    "mopso": "mopso.Mopso",
    "gtbga": "gtbga.Gtbga",
    "exact": "exact.Exact",
    "brs": "brs.Brs",
    "ga": "ga.Ga",
    "mdp": "mdp.Mdp",
}


class _Planners(Mapping[str, type[Planner[Any]]]):
    """A planner is imported when it is asked for: a run needs one or two of them."""

    def __getitem__(self, name: str) -> type[Planner[Any]]:
        module, kind = _FILES[name].split(".")
        found: type[Planner[Any]] = getattr(import_module(f"scicore.planners.{module}"), kind)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_FILES)

    def __len__(self) -> int:
        return len(_FILES)


PLANNERS = _Planners()
DEFAULT = "reassign-plus"
# As <algorithm> says it; the papers' own is `reassign`.
ALIASES = dict.fromkeys(("q-learning", "qlearning", "q_learning"), "reassign-plus")


def planner(name: str, settings: Mapping[str, str] | None = None) -> Planner[Any]:
    """The planner of that name; `settings` are its parameters as the user wrote them."""
    name = ALIASES.get(name.lower(), name)
    if name in PLANNERS:
        kind = PLANNERS[name]
        return kind(read_settings(kind.settable, name, settings or {}))
    close = get_close_matches(name.lower(), PLANNERS, n=1, cutoff=0.5)
    guess = f"; did you mean {close[0]!r}?" if close else ""
    raise UsageError(
        f"algorithm {name!r} is not known{guess}", f"known algorithms: {', '.join(PLANNERS)}"
    )
