"""What is paid beside the hours of VMs: data that move from region to region.

The rule of the hours themselves is `billed_s` in cloud.py. What a whole schedule costs is added up
in one place, kernel/billing.py, from these two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scicore.model.cloud import VmType

BYTES_PER_GB = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Tariff:
    """Prices of data between regions, USD per GB; a pair that is not listed is free."""

    usd_per_gb: Mapping[tuple[str, str], float] = field(default_factory=dict)  # (from, to)

    def between(self, sender: VmType, receiver: VmType) -> float:
        """USD per GB from one VM to the other; within a region data are free."""
        if sender.region == receiver.region:
            return 0.0
        return self.usd_per_gb.get((sender.region, receiver.region), 0.0)


FREE = Tariff()
