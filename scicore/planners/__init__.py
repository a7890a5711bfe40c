"""Planners: a problem in, a plan out. One file per algorithm, all of them in one table."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from scicore.errors import UsageError
from scicore.model.parameters import read_settings
from scicore.planners.base import Planner
from scicore.planners.brs import Brs
from scicore.planners.dqn import Dqn
from scicore.planners.exact import Exact
from scicore.planners.fcfs import Fcfs
from scicore.planners.ga import Ga
from scicore.planners.gtbga import Gtbga
from scicore.planners.heft import Heft
from scicore.planners.max_min import MaxMin
from scicore.planners.mct import Mct
from scicore.planners.mdp import Mdp
from scicore.planners.min_min import MinMin
from scicore.planners.mopso import Mopso
from scicore.planners.nsga2 import Nsga2
from scicore.planners.peft import Peft
from scicore.planners.reassign import Reassign
from scicore.planners.reassign_pareto import ReassignPareto
from scicore.planners.reassign_plus import ReassignPlus
from scicore.planners.round_robin import RoundRobin

PLANNERS: Mapping[str, type[Planner[Any]]] = {
    "fcfs": Fcfs,
    "round-robin": RoundRobin,
    "min-min": MinMin,
    "max-min": MaxMin,
    "mct": Mct,
    "heft": Heft,
    "peft": Peft,
    "reassign": Reassign,
    "reassign-plus": ReassignPlus,
    "reassign-pareto": ReassignPareto,
    "dqn": Dqn,
    "nsga2": Nsga2,
    "mopso": Mopso,
    "gtbga": Gtbga,
    "exact": Exact,
    "brs": Brs,
    "ga": Ga,
    "mdp": Mdp,
}
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
