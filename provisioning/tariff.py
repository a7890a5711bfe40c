"""What data cost between regions: [[transfer]] tables beside the VM types of a catalog's file."""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import Any

from scicore.errors import UsageError
from scicore.model.money import FREE, Tariff

_KEYS = ("from", "to", "usd_per_gb")
_EXAMPLE = 'write [[transfer]] tables with from = "us-east-1", to = "eu-west-1", usd_per_gb = 0.02'


def load_tariff(path: Path) -> Tariff:
    """The file has been read as a catalog before, so it is sound TOML; without one, data are
    free."""
    if not path.exists():
        return FREE
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("transfer", [])
    if not isinstance(entries, list):
        raise UsageError(f"catalog {path}: found {entries!r} as transfer", _EXAMPLE)
    prices: dict[tuple[str, str], float] = {}
    for number, entry in enumerate(entries, start=1):
        place = f"catalog {path}, transfer {number}"
        pair, usd_per_gb = _price(place, entry)
        if pair in prices:
            raise UsageError(f"{place}: from {pair[0]} to {pair[1]} has a price already")
        prices[pair] = usd_per_gb
    return Tariff(prices)


def _price(place: str, entry: Any) -> tuple[tuple[str, str], float]:
    if not isinstance(entry, dict) or sorted(entry) != sorted(_KEYS):
        found = ", ".join(entry) if isinstance(entry, dict) else repr(entry)
        raise UsageError(f"{place}: found {found}, expected {', '.join(_KEYS)}", _EXAMPLE)
    sender, receiver, usd = (entry[key] for key in _KEYS)
    for key, region in (("from", sender), ("to", receiver)):
        if not isinstance(region, str) or not region:
            raise UsageError(f"{place}: found {key} = {region!r}, expected a region", _EXAMPLE)
    number = isinstance(usd, int | float) and not isinstance(usd, bool)
    if not number or not 0 <= usd < math.inf:
        raise UsageError(f"{place}: found usd_per_gb = {usd!r}, expected a number, 0 or more")
    return (sender, receiver), float(usd)


def tariff_text(tariff: Tariff) -> str:
    """As it stands in the file."""
    lines: list[str] = []
    for (sender, receiver), usd in tariff.usd_per_gb.items():
        values = zip(_KEYS, (sender, receiver, usd), strict=True)
        lines += ["", "[[transfer]]", *(f"{key} = {json.dumps(value)}" for key, value in values)]
    return "\n".join([*lines, ""]) if lines else ""
