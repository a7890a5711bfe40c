"""One contract for every ledger of clusters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from provisioning.catalog import CATALOG
from provisioning.ledger import Busy, Ledger, MemoryLedger
from scicore.model.cluster import ClusterRecord, Instance, Intent, Outcome, Wanted
from scicore.provenance.clusters import ClusterLedger

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
RECORD = ClusterRecord("m", "ada", "ec2", "2xt2.micro", None, NOW + timedelta(hours=1), NOW, 0.5)
INTENT = Intent(
    "scicumulus-1",
    CATALOG["t2.micro"],
    ("t2.micro-1", "t2.micro-2"),
    False,
    NOW,
    NOW + timedelta(hours=1),
)
MADE = (Instance("i-1", "t2.micro-1", NOW), Instance("i-2", "t2.micro-2", NOW))


@pytest.fixture(params=["memory", "postgres"])
def ledger(request: pytest.FixtureRequest, engine: Engine) -> Iterator[Ledger]:
    found: Ledger = MemoryLedger() if request.param == "memory" else ClusterLedger(engine, Busy)
    yield found
    for record in found.all_open():
        found.end(record.name, NOW)


def test_a_cluster_is_remembered_as_it_was_begun_launched_and_ended(ledger: Ledger) -> None:
    token = f"scicumulus-{type(ledger).__name__}"
    intent = replace(INTENT, token=token)
    assert ledger.open("m") is None
    ledger.begin(RECORD)
    assert ledger.open("m") == RECORD
    ledger.intend("m", intent)
    assert ledger.open("m") == replace(RECORD, intents=(intent,))
    intent = replace(intent, intended_at=NOW + timedelta(seconds=1))
    ledger.ask_again("m", token, NOW + timedelta(seconds=1))
    assert ledger.open("m") == replace(RECORD, intents=(intent,))
    ledger.settle("m", token, Outcome.LAUNCHED, MADE)
    launched = replace(intent, outcome=Outcome.LAUNCHED, instances=MADE)
    assert ledger.open("m") == replace(RECORD, intents=(launched,))
    ledger.complete("m")
    ledger.want_down("m")
    ledger.instances_ended("m", ["i-1"], NOW + timedelta(minutes=5))
    ledger.instances_ended("m", ["i-1", "i-9"], NOW + timedelta(minutes=9))  # the first one counts
    ended = (replace(MADE[0], ended_at=NOW + timedelta(minutes=5)), MADE[1])
    found = replace(
        RECORD,
        wanted=Wanted.DOWN,
        complete=True,
        intents=(replace(launched, instances=ended),),
    )
    assert ledger.all_open() == (found,)
    ledger.end("m", NOW)
    assert ledger.all_open() == ()
    ledger.begin(RECORD)  # its name is free again
    assert ledger.open("m") == RECORD


def test_clusters_that_are_not_known_can_be_ended_all_the_same(ledger: Ledger) -> None:
    ledger.want_down("nobody")
    ledger.instances_ended("nobody", ["i-1"], NOW)
    ledger.end("nobody", NOW)
    assert ledger.open("nobody") is None


def test_a_cluster_is_held_by_one_and_is_free_again_afterwards(ledger: Ledger) -> None:
    with ledger.hold("m"):
        with pytest.raises(Busy, match="at work on cluster m"), ledger.hold("m"):
            pass
        with ledger.hold("n"):
            pass
    with ledger.hold("m"):
        pass
