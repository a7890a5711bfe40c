"""The program dies at each of its calls to EC2, and nothing of it stays behind."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from provisioning.ledger import Busy, Ledger, MemoryLedger
from scicore.provenance.clusters import ClusterLedger
from scicore.provenance.connection import connect
from tests.integration.conftest import NewDatabase
from tests.integration.ec2_account import (
    OWNER,
    Account,
    add_foreign_things,
    driver,
    foreign_things,
    left_of,
)
from tests.integration.ec2_stand_in import Ec2Server

KILLED = 9
MOST_CALLS = 60
FLEET = "1xt2.micro,1xt2.2xlarge"
LEFT_WHEN_UP = 4  # two VMs, a group, a key
# Before a call it has not happened; after it, it has, but nobody was told.
MOMENTS = {"before": "before-send.ec2", "after": "response-received.ec2"}


@pytest.fixture(scope="module")
def url(new_database: NewDatabase, schema: str) -> str:
    return new_database(schema)


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    engine = connect(url).engine
    yield ClusterLedger(engine, Busy)
    engine.dispose()


def dies_at(call: int, event: str, work: Callable[[Account], Any], url: str | None) -> bool:
    """In a process of its own; False if it came to its end before that call."""
    provider = driver()  # its connections are the child's alone
    child = os.fork()
    if child:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, KILLED), f"call {call}: exit code {code}"
        return code == KILLED
    try:
        left = [call]

        def count(**_: Any) -> None:
            left[0] -= 1
            if left[0] == 0:
                os._exit(KILLED)

        provider._ec2.meta.events.register(event, count)
        ledger = ClusterLedger(connect(url).engine, Busy) if url else MemoryLedger()
        work(Account(provider, ledger))
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


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
    ec2: Ec2Server, ledger: Ledger, url: str, moment: str
) -> None:
    add_foreign_things()
    ec2.behave(blind=2, slow=2)

    def attempt(call: int) -> bool:
        killed = dies_at(call, MOMENTS[moment], lambda user: user.up(fleet=FLEET), url)
        if killed:
            Account(ledger=ledger).ending.sweep(OWNER)
            assert left_of() == [], f"killed {moment} call {call}"
            assert ledger.all_open() == ()
            ec2.forget_ended()
        return killed

    every_call(attempt, least=11)
    assert len(left_of()) == LEFT_WHEN_UP  # sweep is given something to do, or it proves nothing
    Account(ledger=ledger).ending.down("m", OWNER)


@pytest.mark.parametrize("moment", MOMENTS)
def test_down_killed_at_any_call_is_healed_by_sweep(
    ec2: Ec2Server, ledger: Ledger, url: str, moment: str
) -> None:
    add_foreign_things()
    ec2.behave(slow=2)

    def attempt(call: int) -> bool:
        Account(ledger=ledger).up(fleet="1xt2.micro")
        down = dies_at(call, MOMENTS[moment], lambda user: user.ending.down("m", OWNER), url)
        Account(ledger=ledger).ending.sweep(OWNER)
        assert left_of() == [], f"killed {moment} call {call}"
        ec2.forget_ended()
        return down

    every_call(attempt, least=6)


def test_up_killed_and_the_database_lost_is_healed_when_the_lease_is_over(ec2: Ec2Server) -> None:
    add_foreign_things()

    def attempt(call: int) -> bool:
        killed = dies_at(call, MOMENTS["after"], lambda user: user.up(fleet=FLEET), None)
        before = left_of()
        Account().ending.sweep(OWNER)
        assert left_of() == before  # the lease goes on: it may be somebody's
        Account(ahead=timedelta(hours=2)).ending.sweep(OWNER)
        assert left_of() == [], f"killed after call {call}"
        ec2.forget_ended()
        return killed

    every_call(attempt, least=11)


@pytest.mark.parametrize("moment", MOMENTS)
def test_up_killed_at_a_launch_goes_on_when_it_is_typed_again(
    ec2: Ec2Server, ledger: Ledger, url: str, moment: str
) -> None:
    ec2.behave(blind=2)
    event = f"{MOMENTS[moment]}.RunInstances"

    def attempt(call: int) -> bool:
        killed = dies_at(call, event, lambda user: user.up(fleet=FLEET), url)
        again = Account(ledger=ledger)
        assert len(again.up(fleet=FLEET)) == 2
        assert len(left_of()) == LEFT_WHEN_UP, f"killed {moment} launch {call}"
        again.ending.down("m", OWNER)
        assert left_of() == []
        ec2.forget_ended()
        return killed

    every_call(attempt, least=2)
