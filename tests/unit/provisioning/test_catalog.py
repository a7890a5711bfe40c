"""VM types: what ships, and what a user's catalog adds."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from provisioning.catalog import CATALOG, catalog_text, load_catalog, load_tariff, load_types
from scicore.errors import UsageError
from scicore.model.cloud import VmType, parse_fleet
from scicore.model.money import Tariff


def written(path: Path, text: str) -> Path:
    file = path / "catalog.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_types_of_the_benchmark_fleets_are_as_the_design_says() -> None:
    told = {
        name: (vm.slots, vm.speed, vm.bandwidth_mb_s, vm.price_usd_per_hour)
        for name in ("t2.micro", "t2.large", "t2.2xlarge", "c5.xlarge")
        for vm in [CATALOG[name]]
    }
    assert told == {
        "t2.micro": (1, 1.0, 20.0, 0.0116),
        "t2.large": (2, 1.25, 62.5, 0.0928),
        "t2.2xlarge": (8, 1.25, 125.0, 0.3712),
        "c5.xlarge": (4, 1.6, 125.0, 0.17),
    }


def test_within_a_family_more_money_never_buys_less() -> None:
    for family in {name.partition(".")[0] for name in CATALOG}:
        members = [vm for name, vm in CATALOG.items() if name.partition(".")[0] == family]
        members.sort(key=lambda vm: vm.price_usd_per_hour)
        for cheap, dear in pairwise(members):
            assert cheap.slots <= dear.slots
            assert cheap.memory_mb <= dear.memory_mb
            assert cheap.bandwidth_mb_s <= dear.bandwidth_mb_s


def test_a_catalog_file_adds_its_types_to_those_that_ship(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        """
        [[vm_type]]
        name = "big"
        slots = 64
        memory_mb = 131072
        speed = 2.5
        price_usd_per_hour = 3.2
        boot_s = 40
        bandwidth_mb_s = 1250

        [[vm_type]]
        name = "t2.micro"
        slots = 1
        """,
    )
    catalog = load_catalog(file)
    assert catalog["big"] == VmType("big", 64, 131072, 2.5, 3.2, 40.0, 1250.0)
    assert catalog["t2.micro"] == VmType("t2.micro", 1, 0, 1.0, 0.0)
    assert catalog["c5.xlarge"] == CATALOG["c5.xlarge"]
    assert parse_fleet("2xbig", catalog).slots == 128


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[vm_type]]\nslots = 1", "VM type 1 has no name"),
        ('[[vm_type]]\nname = "a"', "VM type 1 has no slots"),
        ('[[vm_type]]\nname = "a"\nslots = 0', "found slots = 0, expected a whole number above 0"),
        ('[[vm_type]]\nname = "a"\nslots = 1.5', "found slots = 1.5"),
        ('[[vm_type]]\nname = "a"\nslots = true', "found slots = True"),
        ('[[vm_type]]\nname = "a"\nslots = 1\nspeed = nan', "found speed = nan"),
        ('[[vm_type]]\nname = "a"\nslots = 1\nboot_s = -1', "expected a number 0 or more"),
        ('[[vm_type]]\nname = "a"\nslots = 1\ncolour = "red"', "'colour' is not known"),
        ('[[vm_type]]\nname = "a,b"\nslots = 1', "without blanks, commas"),
        ('[[vm_type]]\nname = "local"\nslots = 1', "`local` is this machine"),
        ('[[vm_type]]\nname = "a"\nslots = 1\n' * 2, "two VM types called 'a'"),
        ("vm_type = 3", r"no \[\[vm_type\]\] table"),
        ("vm_type = [3]", "found 3, expected a table"),
        ("", r"no \[\[vm_type\]\] table"),
        ("[other]", "found other"),
        ("= nonsense", "is no TOML"),
    ],
)
def test_what_is_wrong_with_a_catalog_is_said(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        load_catalog(written(tmp_path, text))


TYPE = '[[vm_type]]\nname = "a"\nslots = 1\n'
WAY = '[[transfer]]\nfrom = "eu"\nto = "us"\nusd_per_gb = 0.02\n'


def test_prices_of_data_between_regions_are_read_and_written_again(tmp_path: Path) -> None:
    file = written(tmp_path, TYPE + WAY)
    tariff = load_tariff(file)
    assert tariff == Tariff({("eu", "us"): 0.02})
    again = written(tmp_path, catalog_text(load_types(file).values(), "again", tariff))
    assert (load_types(again), load_tariff(again)) == ({"a": VmType("a", 1, 0, 1.0, 0.0)}, tariff)
    assert load_tariff(written(tmp_path, TYPE)) == Tariff()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[[transfer]]\nfrom = "eu"', "transfer 1: expected from, to and usd_per_gb"),
        (WAY.replace('"us"', "1"), "names of two regions"),
        (WAY.replace("0.02", "-1"), "found usd_per_gb = -1, expected a number 0 or more"),
        (WAY + WAY, "transfer 2: eu to us has a price already"),
    ],
)
def test_what_is_wrong_with_such_prices_is_said(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        load_tariff(written(tmp_path, TYPE + text))


def test_a_catalog_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.toml cannot be read"):
        load_catalog(tmp_path / "none.toml")
