"""The VM types that ship with the system. Prices: on demand, us-east-1, Linux, USD per hour.

Speeds are relative to t2.micro's core; slots are vCPUs.
"""

from __future__ import annotations

from collections.abc import Mapping

from scicore.model.cloud import VmType

CATALOG: Mapping[str, VmType] = {
    vm_type.name: vm_type
    for vm_type in (
        VmType("t2.micro", 1, 1024, speed=1.0, price_usd_per_hour=0.0116, bandwidth_mb_s=20.0),
        VmType("t2.large", 2, 8192, speed=1.25, price_usd_per_hour=0.0928, bandwidth_mb_s=62.5),
        VmType("t2.2xlarge", 8, 32768, speed=1.25, price_usd_per_hour=0.3712),
        VmType("c5.xlarge", 4, 8192, speed=1.6, price_usd_per_hour=0.17),
    )
}
