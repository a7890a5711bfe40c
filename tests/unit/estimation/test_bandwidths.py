"""Network speeds, as files that were moved tell them."""

from __future__ import annotations

import pytest

from scicore.estimation import estimate_bandwidths
from scicore.estimation.bandwidths import ENOUGH, LEAST_BYTES
from scicore.model.cloud import Fleet, VmType, parse_fleet
from scicore.model.estimate import Bandwidth, Source
from scicore.model.transfer import Moved, Way

MB = 1_000_000
TYPES = {name: VmType(name, 1, 1024, 1.0, 0.1, bandwidth_mb_s=125.0) for name in ("small", "large")}


@pytest.fixture
def fleet() -> Fleet:
    return parse_fleet("2xsmall,1xlarge", TYPES)


def moved(mb_per_s: float, count: int = ENOUGH, way: Way = Way.FETCH, mb: int = 10) -> list[Moved]:
    return [Moved("small", way, mb * MB, mb / mb_per_s)] * count


def of_small(fleet: Fleet, seen: list[Moved]) -> Bandwidth:
    _, (small, _) = estimate_bandwidths(fleet, seen)
    return small


def test_what_was_measured_is_in_the_fleet_and_the_rest_is_as_the_catalog_says(
    fleet: Fleet,
) -> None:
    measured, (small, large) = estimate_bandwidths(fleet, moved(40.0))
    assert [vm.type.bandwidth_mb_s for vm in measured.vms] == pytest.approx([40.0, 40.0, 125.0])
    assert [vm.id for vm in measured.vms] == [vm.id for vm in fleet.vms]
    assert (small.source, small.samples, small.spread) == (Source.TRANSFERS, ENOUGH, 0.0)
    assert large == Bandwidth("large", Source.CATALOG, 125.0, 0, None)


def test_too_few_transfers_or_too_small_ones_say_nothing(fleet: Fleet) -> None:
    few = moved(40.0, count=ENOUGH - 1)
    # One is short of enough: what is too small, took no time, or moved nothing does not fill it up.
    nothing = [
        Moved("small", Way.FETCH, LEAST_BYTES - 1, 1.0),
        Moved("small", Way.FETCH, MB, 0.0),
        Moved("small", Way.FETCH, MB, float("nan")),
        Moved("small", Way.FETCH, 0, 1.0),
    ]
    assert estimate_bandwidths(fleet, few + nothing)[0] == fleet
    assert of_small(fleet, few + nothing).source is Source.CATALOG
    assert of_small(fleet, few + moved(40.0, 1)).source is Source.TRANSFERS


def test_a_quarter_of_wild_values_does_not_matter_and_large_files_count_more(fleet: Fleet) -> None:
    stalled = moved(40.0, count=9) + moved(0.01, count=3)
    assert of_small(fleet, stalled).mb_per_s == pytest.approx(40.0)
    mostly_small = moved(5.0, count=9, mb=1) + moved(80.0, count=3, mb=100)
    assert of_small(fleet, mostly_small).mb_per_s == pytest.approx(80.0)


def test_up_and_down_together_take_as_long_as_they_did(fleet: Fleet) -> None:
    both = moved(20.0, way=Way.UPLOAD) + moved(60.0, way=Way.FETCH)
    mb_per_s = of_small(fleet, both).mb_per_s
    assert 2 / mb_per_s == pytest.approx(1 / 20 + 1 / 60)
