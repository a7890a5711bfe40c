"""Settings of the environment that more than one room needs; only composition roots read them."""

from __future__ import annotations

import os
from pathlib import Path

from scicore.errors import UsageError

LEASE = "SCICUMULUS_LEASE_S"  # a slave that is silent for longer counts as dead
KEEP = "SCICUMULUS_KEEP_S"  # how long programs go on without a slave
DATABASE_PATIENCE = "SCICUMULUS_DATABASE_PATIENCE_S"  # how long a database may be away
SUPERVISED = "SCICUMULUS_SUPERVISED"  # set: somebody else shows the progress
TOLD = 80  # for its supervisor, a job adds this to its exit code: mpirun's own are small ones, too
# For gc.set_threshold: hardly any cycles are made here, and to look for them among the objects of
# a million activations takes a quarter of the time. What is imported alone are 150,000.
SELDOM = (250_000, 50, 100)
CATALOG = "SCICUMULUS_CATALOG"  # the user's own VM types and prices


def user_catalog() -> Path:
    """Where `cluster prices --refresh` writes, and every verb reads; it need not exist."""
    if chosen := os.environ.get(CATALOG):
        return Path(chosen)
    if home := os.environ.get("SCICUMULUS_HOME"):
        return Path(home) / "catalog.toml"
    config = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    if not config.is_absolute():
        config = Path("~/.config").expanduser()
    return config / "scicumulus" / "catalog.toml"


def seconds(name: str, default: float) -> float:
    text = os.environ.get(name, "")
    try:
        found = float(text or default)
    except ValueError:
        found = -1.0
    if not 0 < found < float("inf"):
        raise UsageError(f"{name}: found {text!r}, expected seconds, a number above 0")
    return found
