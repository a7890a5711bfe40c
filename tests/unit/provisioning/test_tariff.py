"""Prices of data between regions, from a catalog's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioning.catalog import load_types
from provisioning.tariff import load_tariff, tariff_text
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


def test_without_prices_or_a_file_data_are_free(tmp_path: Path) -> None:
    assert load_tariff(written(tmp_path, TYPE)) == FREE == load_tariff(tmp_path / "none.toml")


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    tariff = Tariff({("us", "japan"): 0.2, ("japan", "us"): 0.15})
    assert load_tariff(written(tmp_path, TYPE + tariff_text(tariff))) == tariff
    assert tariff_text(FREE) == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PRICE + PRICE, "transfer 2: from us to japan has a price already"),
        ("transfer = 3", "found 3 as transfer"),
        ('[[transfer]]\nfrom = "us"\n', "found from, expected from, to, usd_per_gb"),
        (PRICE.replace('"us"', "7"), "found from = 7, expected a region"),
        (PRICE.replace("0.2", "-1"), "found usd_per_gb = -1, expected a number, 0 or more"),
        (PRICE.replace("0.2", '"dear"'), "found usd_per_gb = 'dear'"),
    ],
)
def test_a_price_that_makes_no_sense_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_tariff(written(tmp_path, text))
