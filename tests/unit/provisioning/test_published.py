"""The papers' VM types stay as printed; today's are the default."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioning.catalog import CATALOG, REGION, catalog_text, load_catalog, load_types
from provisioning.published import PUBLISHED
from scicore.errors import UsageError

PRINTED_USD = {
    "t2.micro": 0.0116,
    "t2.2xlarge": 0.3712,
    "t3.medium": 0.0418,
    "t3.large": 0.0835,
    "c5.large": 0.0850,
    "m5.large": 0.0960,
    "c5n.large": 0.1080,
    "r5a.large": 0.1260,
    "a1.4xlarge": 0.4080,
}


def test_every_type_of_the_papers_ships_with_both_prices() -> None:
    assert {name: each.price_usd_per_hour for name, each in PUBLISHED.items()} == PRINTED_USD
    assert set(PRINTED_USD) <= set(CATALOG)
    assert {CATALOG[name].region for name in PRINTED_USD} == {REGION}
    assert CATALOG["r5a.large"].price_usd_per_hour == 0.113
    assert (CATALOG["c5n.large"].slots, PUBLISHED["c5n.large"].slots) == (2, 8)


def test_the_catalog_called_papers_has_the_printed_prices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = load_catalog(Path("papers"))
    assert catalog["t3.medium"].price_usd_per_hour == 0.0418
    assert catalog["m5.xlarge"] == CATALOG["m5.xlarge"]


def test_a_catalog_that_was_written_reads_the_same(tmp_path: Path) -> None:
    file = tmp_path / "catalog.toml"
    file.write_text(catalog_text(CATALOG.values(), "all"), encoding="utf-8")
    assert load_types(file) == CATALOG


def test_a_region_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "catalog.toml"
    file.write_text('[[vm_type]]\nname = "x"\nslots = 1\nregion = 7\n', encoding="utf-8")
    with pytest.raises(UsageError, match="expected a text"):
        load_types(file)
