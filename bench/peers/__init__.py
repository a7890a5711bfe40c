"""What other systems make of the same no-ops, where they are installed; most record nothing.

Each peer is a script, `python NAME.py KIND COUNT SLOTS`, that prints one JSON document with the
rate; KIND is `programs` (`/bin/true`) or `calls` (of a Python function). It may live in a virtual
environment of its own, so that ours stays clean.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

# How many of `count` a peer is given: the slow ones need not be waited for.
SHARES = {
    "mpi4py_futures": 1.0,
    "hyperqueue_jobs": 0.5,
    "parsl_htex": 0.5,
    "dask_distributed": 0.5,
    "snakemake_rules": 0.02,
}
KINDS = {"hyperqueue_jobs": ("programs",), "snakemake_rules": ("programs",)}  # others: both
PATIENCE_S = 600.0


def measure(name: str, kind: str, count: int, slots: int, python: str = "") -> float | None:
    """Per second; None when the peer is not installed, or does not know such work."""
    if kind not in KINDS.get(name, ("programs", "calls")):
        return None
    script = Path(__file__).with_name(f"{name}.py")
    words = [python or sys.executable, str(script), kind, str(max(20, int(count * SHARES[name])))]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    try:
        done = subprocess.run(
            [*words, str(slots)],
            check=True,
            capture_output=True,
            timeout=PATIENCE_S,
            env={**os.environ, **root},
        )
        return float(json.loads(done.stdout.splitlines()[-1])["per_s"])
    except (OSError, ValueError, IndexError, KeyError, subprocess.SubprocessError):
        return None
