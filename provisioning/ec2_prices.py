"""VM types as AWS describes and prices them today. The clients are handed in."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from provisioning.provider import ProviderError
from scicore.model.cloud import VmType

_MB_PER_GBIT = 125.0


def refreshed(
    ec2: Any, pricing: Any, region: str, known: Mapping[str, VmType], names: Collection[str]
) -> list[VmType]:
    """The types of these names that the region has. Speeds stay as they are known: AWS has none."""
    pages = ec2.get_paginator("describe_instance_types").paginate(
        Filters=[{"Name": "instance-type", "Values": sorted(names)}]
    )
    found = []
    for page in pages:
        for told in page["InstanceTypes"]:
            price = _price(pricing, region, told["InstanceType"])
            if price is not None:
                found.append(_vm_type(told, known.get(told["InstanceType"]), price, region))
    if not found:
        raise ProviderError(
            f"{region} has none of {', '.join(sorted(names))}", "choose others, or another --region"
        )
    return sorted(found, key=lambda each: each.name)


def _vm_type(told: Mapping[str, Any], before: VmType | None, price: float, region: str) -> VmType:
    name = told["InstanceType"]
    base = before or VmType(name, 1, 0, 1.0, 0.0)
    cards = told.get("NetworkInfo", {}).get("NetworkCards") or [{}]
    gbit = cards[0].get("BaselineBandwidthInGbps")
    return replace(
        base,
        slots=int(told["VCpuInfo"]["DefaultVCpus"]),
        memory_mb=int(told["MemoryInfo"]["SizeInMiB"]),
        price_usd_per_hour=price,
        bandwidth_mb_s=base.bandwidth_mb_s if gbit is None else gbit * _MB_PER_GBIT,
        region=region,
    )


def _price(pricing: Any, region: str, name: str) -> float | None:
    """On demand, Linux without licences, shared hardware; None where it is not sold."""
    wanted = {
        "instanceType": name,
        "regionCode": region,
        "operatingSystem": "Linux",
        "preInstalledSw": "NA",
        "tenancy": "Shared",
        "capacitystatus": "Used",
    }
    filters = [
        {"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()
    ]
    answer = pricing.get_products(ServiceCode="AmazonEC2", Filters=filters)
    for text in answer["PriceList"]:
        for offer in json.loads(text)["terms"].get("OnDemand", {}).values():
            for rate in offer["priceDimensions"].values():
                price = float(rate["pricePerUnit"].get("USD", 0.0))
                if rate["unit"] == "Hrs" and price > 0:
                    return price
    return None
