"""The VM types that ship with the system, and those that a user's catalog file adds.

Prices: on demand, Linux, USD per hour, as listed when this version was made; `scicumulus cluster
prices --refresh` asks AWS for those of today, and those of the papers are in `published.py`. Slots
are vCPUs. Speeds are per slot, relative to t2.micro; bandwidths are what a VM can keep up, not its
burst. They are rules of thumb until a run has been measured (docs/estimation.md). Boot is 0: a plan
counts from when its VMs are up.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from provisioning.published import PUBLISHED
from scicore.errors import UsageError
from scicore.model.cloud import VmType
from scicore.model.money import FREE, Tariff

REGION = "us-east-1"
PAPERS = Path("papers")  # instead of a catalog's file: the types as the papers have them
_GIB_MB = 1024


def _family(
    speed: float, *members: tuple[str, int, float, float, float]
) -> Iterable[tuple[str, VmType]]:
    """Members: name, slots, memory in GiB, USD per hour, MB per second."""
    for name, slots, memory_gib, price, bandwidth in members:
        memory_mb = round(memory_gib * _GIB_MB)
        yield (
            name,
            VmType(name, slots, memory_mb, speed, price, bandwidth_mb_s=bandwidth, region=REGION),
        )


CATALOG: Mapping[str, VmType] = dict(
    (
        *_family(
            1.0,
            ("t2.nano", 1, 0.5, 0.0058, 10.0),
            ("t2.micro", 1, 1, 0.0116, 20.0),
            ("t2.small", 1, 2, 0.023, 30.0),
            ("t2.medium", 2, 4, 0.0464, 40.0),
        ),
        *_family(
            1.25,
            ("t2.large", 2, 8, 0.0928, 62.5),
            ("t2.xlarge", 4, 16, 0.1856, 93.75),
            ("t2.2xlarge", 8, 32, 0.3712, 125.0),
            ("t3.micro", 2, 1, 0.0104, 20.0),
            ("t3.small", 2, 2, 0.0208, 30.0),
            ("t3.medium", 2, 4, 0.0416, 40.0),
            ("t3.large", 2, 8, 0.0832, 62.5),
            ("t3.xlarge", 4, 16, 0.1664, 125.0),
            ("t3.2xlarge", 8, 32, 0.3328, 125.0),
            ("m3.medium", 1, 3.75, 0.067, 40.0),
            ("m3.large", 2, 7.5, 0.133, 62.5),
            ("m3.xlarge", 4, 15, 0.266, 125.0),
            ("m3.2xlarge", 8, 30, 0.532, 125.0),
        ),
        *_family(
            1.4,
            ("m5.large", 2, 8, 0.096, 93.75),
            ("m5.xlarge", 4, 16, 0.192, 125.0),
            ("m5.2xlarge", 8, 32, 0.384, 250.0),
            ("m5.4xlarge", 16, 64, 0.768, 500.0),
            ("r5.large", 2, 16, 0.126, 93.75),
            ("r5.xlarge", 4, 32, 0.252, 125.0),
            ("r5.2xlarge", 8, 64, 0.504, 250.0),
        ),
        *_family(
            1.6,
            ("c5.large", 2, 4, 0.085, 93.75),
            ("c5.xlarge", 4, 8, 0.17, 125.0),
            ("c5.2xlarge", 8, 16, 0.34, 250.0),
            ("c5.4xlarge", 16, 32, 0.68, 500.0),
            ("c5n.large", 2, 5.25, 0.108, 375.0),
        ),
        *_family(1.3, ("r5a.large", 2, 16, 0.113, 93.75)),
        *_family(0.9, ("a1.4xlarge", 16, 32, 0.408, 500.0)),
    )
)

_REQUIRED = ("name", "slots")
_DEFAULTS: Mapping[str, float] = {
    "memory_mb": 0,  # not known: anything fits
    "speed": 1.0,
    "price_usd_per_hour": 0.0,
    "boot_s": 0.0,
    "bandwidth_mb_s": 125.0,
}
_WORDS = ("region",)
_WHOLE = {"slots", "memory_mb"}
_ABOVE_ZERO = {"slots", "speed", "bandwidth_mb_s"}
_EXAMPLE = 'write [[vm_type]] tables with name = "…", slots = 4 and, if they matter, ' + ", ".join(
    (*_DEFAULTS, *_WORDS)
)


def load_catalog(path: Path) -> dict[str, VmType]:
    """The shipped types and those of the file; the file's come first where names are the same."""
    if path == PAPERS and not path.exists():
        return {**CATALOG, **PUBLISHED}
    return {**CATALOG, **load_types(path)}


def load_types(path: Path) -> dict[str, VmType]:
    """Those of the file alone."""
    document = _document(path)
    unknown = sorted(set(document) - {"vm_type", "transfer"})
    entries = document.get("vm_type", [])
    if unknown or not isinstance(entries, list) or not entries:
        found = f"found {', '.join(unknown)}" if unknown else "found no [[vm_type]] table"
        raise UsageError(f"catalog {path}: {found}", _EXAMPLE)
    own: dict[str, VmType] = {}
    for number, entry in enumerate(entries, start=1):
        vm_type = _vm_type(f"catalog {path}, VM type {number}", entry)
        if vm_type.name in own:
            raise UsageError(f"catalog {path} has two VM types called {vm_type.name!r}")
        own[vm_type.name] = vm_type
    return own


def load_tariff(path: Path) -> Tariff:
    """What data cost between regions, from the file's [[transfer]] tables."""
    if path == PAPERS and not path.exists():
        return FREE
    entries = _document(path).get("transfer", [])
    example = 'write [[transfer]] tables with from = "eu-west-1", to = "us-east-1", usd_per_gb'
    prices: dict[tuple[str, str], float] = {}
    for number, entry in enumerate(entries if isinstance(entries, list) else [entries], start=1):
        place = f"catalog {path}, transfer {number}"
        if not isinstance(entry, dict) or set(entry) != {"from", "to", "usd_per_gb"}:
            raise UsageError(
                f"{place}: expected from, to and usd_per_gb, and nothing else", example
            )
        pair = entry["from"], entry["to"]
        if not all(isinstance(region, str) and region for region in pair):
            raise UsageError(f"{place}: expected the names of two regions", example)
        if pair in prices:
            raise UsageError(f"{place}: {pair[0]} to {pair[1]} has a price already")
        prices[pair] = _number(place, "usd_per_gb", entry["usd_per_gb"])
    return Tariff(prices)


def _document(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"catalog {path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"catalog {path} is no TOML: {error}", _EXAMPLE) from error


def catalog_text(types: Iterable[VmType], remark: str, tariff: Tariff = FREE) -> str:
    """A catalog's file; JSON's strings and numbers are TOML's."""
    lines = [f"# {remark}"]
    for vm_type in types:
        lines += ["", "[[vm_type]]"]
        lines += [
            f"{key} = {json.dumps(getattr(vm_type, key))}"
            for key in (*_REQUIRED, *_DEFAULTS, *_WORDS)
        ]
    for (sender, receiver), usd_per_gb in tariff.usd_per_gb.items():
        lines += [
            "",
            "[[transfer]]",
            f"from = {json.dumps(sender)}",
            f"to = {json.dumps(receiver)}",
        ]
        lines += [f"usd_per_gb = {json.dumps(usd_per_gb)}"]
    return "\n".join([*lines, ""])


def _vm_type(place: str, entry: Any) -> VmType:
    if not isinstance(entry, dict):
        raise UsageError(f"{place}: found {entry!r}, expected a table", _EXAMPLE)
    numeric = (*_REQUIRED[1:], *_DEFAULTS)
    known = (*_REQUIRED, *_DEFAULTS, *_WORDS)
    for name in entry:
        if name not in known:
            raise UsageError(f"{place}: {name!r} is not known", f"known keys: {', '.join(known)}")
    for name in _REQUIRED:
        if name not in entry:
            raise UsageError(f"{place} has no {name}", _EXAMPLE)
    name = entry["name"]
    if not isinstance(name, str) or not name or any(letter in name for letter in ", :\t\n"):
        raise UsageError(
            f"{place}: found the name {name!r}, expected a word without blanks, commas and colons"
        )
    if name == "local":
        raise UsageError(f"{place}: `local` is this machine and cannot be another type")
    region = entry.get("region", "")
    if not isinstance(region, str):
        raise UsageError(f"{place}: found region = {region!r}, expected a text")
    numbers = {key: _number(place, key, {**_DEFAULTS, **entry}[key]) for key in numeric}
    return VmType(
        name=name,
        slots=round(numbers["slots"]),
        memory_mb=round(numbers["memory_mb"]),
        speed=numbers["speed"],
        price_usd_per_hour=numbers["price_usd_per_hour"],
        boot_s=numbers["boot_s"],
        bandwidth_mb_s=numbers["bandwidth_mb_s"],
        region=region,
    )


def _number(place: str, key: str, value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    whole = key in _WHOLE
    least = "above 0" if key in _ABOVE_ZERO else "0 or more"
    if (
        not is_number
        or not math.isfinite(value)
        or value < 0
        or (key in _ABOVE_ZERO and value == 0)
        or (whole and value != round(value))
    ):
        kind = "a whole number" if whole else "a number"
        raise UsageError(f"{place}: found {key} = {value!r}, expected {kind} {least}")
    return float(value)
