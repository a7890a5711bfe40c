"""The program dies at each of its calls to EC2, and nothing of it stays behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from provisioning.ledger import Busy
from scicore.provenance.clusters import ClusterLedger
from scicore.provenance.connection import connect
from tests.integration.conftest import NewDatabase
from tests.integration.ec2_account import (
    OWNER,
    Account,
    add_foreign_things,
    foreign_things,
    left_of,
)
from tests.integration.ec2_mortal import Mortal, mortal
from tests.integration.ec2_stand_in import Ec2Server

MOST_CALLS = 60
FLEET = "1xt2.micro,1xt2.2xlarge"
LEFT_WHEN_UP = 4  # two VMs, a group, a key
# Before a call it has not happened; after it, it has, but nobody was told.
MOMENTS = {"before": "before-send.ec2", "after": "response-received.ec2"}


@pytest.fixture(scope="module")
def url(new_database: NewDatabase, schema: str) -> str:
    return new_database(schema)


@pytest.fixture
def healer(ec2: Ec2Server, url: str) -> Iterator[Account]:
    """Who types the next command."""
    engine = connect(url).engine
    yield Account(ledger=ClusterLedger(engine, Busy))
    engine.dispose()


@pytest.fixture(scope="module")
def somebody(ec2_server: Ec2Server) -> Iterator[Mortal]:
    with mortal(ec2_server.environment()) as found:
        yield found


def every_call(attempt: Callable[[int], bool], least: int) -> None:
    """Kill at the first, the second, … until the program comes to its end; foreign things stay."""
    foreign = foreign_things()
    for call in range(1, MOST_CALLS):
        if not attempt(call):
            assert call > least, f"only {call - 1} calls"
            assert foreign_things() == foreign
            return
    raise AssertionError("it never came to its end")


@pytest.mark.parametrize("moment", MOMENTS)
def test_up_killed_at_any_call_is_healed_by_sweep(
    ec2: Ec2Server, somebody: Mortal, healer: Account, url: str, moment: str
) -> None:
    add_foreign_things()
    ec2.behave(blind=2, slow=2)

    def attempt(call: int) -> bool:
        killed = somebody.dies(call, MOMENTS[moment], url, up=FLEET)
        if killed:
            healer.afresh().ending.sweep(OWNER)
            assert left_of() == [], f"killed {moment} call {call}"
            assert healer.ledger.all_open() == ()
            ec2.forget_ended()
        return killed

    every_call(attempt, least=12)
    assert len(left_of()) == LEFT_WHEN_UP  # sweep is given something to do, or it proves nothing
    healer.afresh().ending.down("m", OWNER)


@pytest.mark.parametrize("moment", MOMENTS)
def test_down_killed_at_any_call_is_healed_by_sweep(
    ec2: Ec2Server, somebody: Mortal, healer: Account, url: str, moment: str
) -> None:
    add_foreign_things()
    ec2.behave(slow=2)

    def attempt(call: int) -> bool:
        healer.afresh().up(fleet="1xt2.micro")
        killed = somebody.dies(call, MOMENTS[moment], url, down="m")
        healer.afresh().ending.sweep(OWNER)
        assert left_of() == [], f"killed {moment} call {call}"
        ec2.forget_ended()
        return killed

    every_call(attempt, least=6)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_replacement_killed_at_any_call_ends_with_its_cluster(
    ec2: Ec2Server, somebody: Mortal, healer: Account, url: str, moment: str
) -> None:
    ec2.behave(blind=1)

    def attempt(call: int) -> bool:
        healer.afresh().up(fleet="1xt2.micro")
        killed = somebody.dies(call, MOMENTS[moment], url, add="1xt2.micro")
        healer.afresh().ending.down("m", OWNER)
        assert left_of() == [], f"killed {moment} call {call}"
        assert healer.ledger.all_open() == ()
        ec2.forget_ended()
        return killed

    every_call(attempt, least=4)


def test_up_killed_and_the_database_lost_is_healed_when_the_lease_is_over(
    ec2: Ec2Server, somebody: Mortal
) -> None:
    add_foreign_things()
    healer = Account()

    def attempt(call: int) -> bool:
        killed = somebody.dies(call, MOMENTS["after"], None, up=FLEET)
        before = left_of()
        healer.afresh().ending.sweep(OWNER)
        assert left_of() == before  # the lease goes on: it may be somebody's
        Account(healer.provider, ahead=timedelta(hours=2)).ending.sweep(OWNER)
        assert left_of() == [], f"killed after call {call}"
        ec2.forget_ended()
        return killed

    every_call(attempt, least=12)


@pytest.mark.parametrize("moment", MOMENTS)
def test_up_killed_at_a_launch_goes_on_when_it_is_typed_again(
    ec2: Ec2Server, somebody: Mortal, healer: Account, url: str, moment: str
) -> None:
    ec2.behave(blind=2)
    event = f"{MOMENTS[moment]}.RunInstances"

    def attempt(call: int) -> bool:
        killed = somebody.dies(call, event, url, up=FLEET)
        assert len(healer.afresh().up(fleet=FLEET)) == 2
        assert len(left_of()) == LEFT_WHEN_UP, f"killed {moment} launch {call}"
        healer.afresh().ending.down("m", OWNER)
        assert left_of() == []
        ec2.forget_ended()
        return killed

    every_call(attempt, least=2)
