"""Prices of data between regions, from a catalog's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioning.catalog import catalog_text, load_tariff, load_types
from scicore.errors import UsageError
from scicore.model.money import FREE, Tariff

TYPE = '[[vm_type]]\nname = "big"\nslots = 1\nregion = "us"\n'
PRICE = '[[transfer]]\nfrom = "us"\nto = "japan"\nusd_per_gb = 0.2\n'


def written(path: Path, text: str) -> Path:
    file = path / "catalog.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_prices_stand_beside_the_types(tmp_path: Path) -> None:
    file = written(tmp_path, TYPE + PRICE)
    assert load_tariff(file) == Tariff({("us", "japan"): 0.2})
    assert list(load_types(file)) == ["big"]


def test_without_prices_data_are_free(tmp_path: Path) -> None:
    assert load_tariff(written(tmp_path, TYPE)) == FREE == load_tariff(Path("papers"))


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    tariff = Tariff({("us", "japan"): 0.2, ("japan", "us"): 0.15})
    (kind,) = load_types(written(tmp_path, TYPE)).values()
    assert load_tariff(written(tmp_path, catalog_text([kind], "all", tariff))) == tariff


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PRICE + PRICE, "transfer 2: us to japan has a price already"),
        ("transfer = 3", "transfer 1: expected from, to and usd_per_gb"),
        ('[[transfer]]\nfrom = "us"\n', "expected from, to and usd_per_gb"),
        (PRICE.replace('"us"', "7"), "expected the names of two regions"),
        (PRICE.replace("0.2", "-1"), "found usd_per_gb = -1, expected a number 0 or more"),
        (PRICE.replace("0.2", '"dear"'), "found usd_per_gb = 'dear'"),
    ],
)
def test_a_price_that_makes_no_sense_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_tariff(written(tmp_path, text))
