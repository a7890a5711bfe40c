"""SciCumulus-RL: scientific workflows under MPI, with schedule plans and queryable provenance.

    import scicore
    run = scicore.run("workflow.xml", fleet="2xlocal")
    run.activations()      # a pandas DataFrame; docs/python.md has the rest

Nothing is imported before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scicore.errors import RunFailed, ScicumulusError
    from scicore.notebook.front import Front
    from scicore.notebook.plan import Plan, plan
    from scicore.notebook.run import Run, attach, run

__version__ = "0.1.0"
__all__ = [
    "Front",
    "Plan",
    "Run",
    "RunFailed",
    "ScicumulusError",
    "__version__",
    "attach",
    "plan",
    "run",
]

_HOME = {
    "Front": "scicore.notebook.front",
    "Plan": "scicore.notebook.plan",
    "Run": "scicore.notebook.run",
    "RunFailed": "scicore.errors",
    "ScicumulusError": "scicore.errors",
    "attach": "scicore.notebook.run",
    "plan": "scicore.notebook.plan",
    "run": "scicore.notebook.run",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module 'scicore' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
