"""VM types with the slots, memory and prices that the papers print, for comparisons with them.

What they print is not what EC2 sells under these names: the table of the multi-agent paper gives
c5n.large 8 vCPUs (EC2: 2). Speeds are ours: per slot, relative to t2.micro.
"""

from __future__ import annotations

from collections.abc import Mapping

from scicore.model.cloud import VmType

_GIB_MB = 1024


def _type(
    name: str, slots: int, memory_gib: int, price: float, region: str, speed: float
) -> tuple[str, VmType]:
    return name, VmType(name, slots, memory_gib * _GIB_MB, speed, price, region=region)


PUBLISHED: Mapping[str, VmType] = dict(
    (
        # ReASSIGN, Table I: VMs in N. Virginia at the prices of that place
        _type("t2.micro", 1, 1, 0.0116, "us-east-1", 1.0),
        _type("t2.2xlarge", 8, 16, 0.3712, "us-east-1", 1.25),
        # Multi-agent deep Q-learning, Table 1
        _type("t3.medium", 2, 8, 0.0418, "us-east-2", 1.25),
        _type("t3.large", 2, 8, 0.0835, "us-east-2", 1.25),
        _type("c5.large", 4, 16, 0.0850, "us-east-2", 1.6),
        _type("m5.large", 4, 16, 0.0960, "us-east-2", 1.4),
        _type("c5n.large", 8, 32, 0.1080, "us-east-2", 1.6),
        _type("r5a.large", 8, 32, 0.1260, "us-east-2", 1.3),
        _type("a1.4xlarge", 8, 32, 0.4080, "us-east-2", 0.9),
    )
)
