"""Where clusters are rented and ended: whom it asks, where it writes down, how it waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from provisioning.ledger import Ledger
from provisioning.provider import Provider


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a provider."""

    poll_s: float = 3.0
    settle_s: float = 300.0  # after a call, until what it made can surely be seen
    boot_s: float = 600.0
    end_s: float = 900.0
    asks: int = 3  # how often a launch is sent when no answer comes


@dataclass(frozen=True, slots=True)
class Desk:
    provider: Provider
    ledger: Ledger
    now: Callable[[], datetime]
    sleep: Callable[[float], None]
    say: Callable[[str], None]
    patience: Patience = Patience()
