"""What happens when EC2 does not do as it should: waited for, rolled back, told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from provisioning.catalog import CATALOG
from provisioning.ec2 import Ec2, Ec2Settings
from provisioning.fleet import substitutes
from provisioning.provider import ProviderError, Shortage, Unanswered
from scicore.model.cluster import Outcome
from tests.integration.ec2_account import OWNER, Account, alive, client, left_of
from tests.integration.ec2_stand_in import Ec2Server


def test_throttling_is_waited_for(account: Account, ec2: Ec2Server) -> None:
    ec2.fail("RunInstances", "RequestLimitExceeded", 503, times=1)
    assert len(account.up()) == 3


def test_throttling_without_end_is_rolled_back(account: Account, ec2: Ec2Server) -> None:
    ec2.fail("RunInstances", "RequestLimitExceeded", 503, times=-1, type="t2.micro")
    with pytest.raises(
        Unanswered, match=r"launching 2 x t2\.micro: EC2 answers RequestLimitExceeded"
    ):
        account.up()
    assert left_of() == []


def test_what_is_not_visible_yet_is_waited_for_and_also_ended(
    account: Account, ec2: Ec2Server
) -> None:
    ec2.behave(blind=3, slow=2)
    assert len(account.up()) == 3
    account.ending.down("m", OWNER)
    assert left_of() == []

    ec2.fail("RunInstances", "InsufficientInstanceCapacity", 500, times=-1, type="t2.micro")
    with pytest.raises(Shortage):
        account.up("n")  # its t2.2xlarge is launched, but not to be seen when it is to be ended
    assert left_of() == []


@pytest.mark.parametrize(
    ("code", "status", "told", "hint"),
    [
        ("InsufficientInstanceCapacity", 500, "EC2 has no t2.micro for us now", "substitutes"),
        ("VcpuLimitExceeded", 400, "quota does not allow that many t2.micro", "Service Quotas"),
    ],
)
def test_a_shortage_is_explained_and_the_whole_request_rolled_back(
    account: Account, ec2: Ec2Server, code: str, status: int, told: str, hint: str
) -> None:
    ec2.fail("RunInstances", code, status, times=-1, type="t2.micro")
    with pytest.raises(Shortage, match=told) as refused:
        account.up()
    assert hint in refused.value.hint
    assert "launched 1 x t2.2xlarge" in account.said
    assert left_of() == []
    assert account.ledger.all_open() == ()


def test_a_shortage_is_solved_by_the_cheapest_type_that_can_do_the_work(
    account: Account, ec2: Ec2Server
) -> None:
    ec2.fail("RunInstances", "VcpuLimitExceeded", times=-1, type="t2.2xlarge")
    machines = account.up(substitutes_from=CATALOG)
    assert {each.vm: each.vm_type for each in machines} == {
        "t2.2xlarge-1": "t3.2xlarge",
        "t2.micro-1": "t2.micro",
        "t2.micro-2": "t2.micro",
    }
    record = account.ledger.open("m")
    assert record is not None
    assert [(each.vm_type.name, each.outcome) for each in record.intents] == [
        ("t2.2xlarge", Outcome.SHORTAGE),
        ("t3.2xlarge", Outcome.LAUNCHED),
        ("t2.micro", Outcome.LAUNCHED),
    ]


def test_a_replacement_that_is_short_is_solved_the_same_way_and_the_ledger_tells_its_type(
    account: Account, ec2: Ec2Server
) -> None:
    account.up(fleet="1xt2.micro")
    ec2.fail("RunInstances", "InsufficientInstanceCapacity", 500, times=-1, type="t2.micro")
    order = replace(account.replacement("1xt2.micro"), substitutes_from=CATALOG)
    made = account.launching.add(order, instead_of="t2.micro-1")
    smallest, *_ = substitutes(CATALOG["t2.micro"], CATALOG, {"t2.micro"})
    assert (made.vm, made.vm_type) == ("t2.micro-2", smallest.name)
    record = account.ledger.open("m")
    assert record is not None
    assert record.intents[-1].vm_type == smallest  # with the price that the bill will have
    assert [instance["InstanceType"] for instance in alive()] == [smallest.name]


def test_a_substitute_never_breaks_the_budget(account: Account, ec2: Ec2Server) -> None:
    ec2.fail("RunInstances", "VcpuLimitExceeded", times=-1, type="t2.micro")
    with pytest.raises(Shortage):
        account.up(substitutes_from=CATALOG, most_usd_per_hour=0.38)
    assert left_of() == []


def test_credentials_that_expire_half_way_leave_what_the_next_sweep_ends(
    account: Account, ec2: Ec2Server
) -> None:
    def expire(**_: Any) -> None:
        ec2.fail("*", "RequestExpired", times=-1)

    account.provider._ec2.meta.events.register_last("after-call.ec2.RunInstances", expire)
    with pytest.raises(ProviderError, match="does not accept the credentials") as refused:
        account.up()
    assert "aws sso login" in refused.value.hint
    assert any("cluster sweep" in line for line in account.said)
    ec2.behave(faults=[])
    assert len(alive()) == 1
    later_on = Account(ledger=account.ledger)
    later_on.ending.sweep(OWNER)
    assert left_of() == []


def test_an_error_answer_although_the_instances_exist_launches_nothing_twice(
    account: Account, ec2: Ec2Server
) -> None:
    ec2.fail("RunInstances", "InternalError", 500, times=1, after=True)
    assert len(account.up()) == 3
    assert len(alive()) == 3


def test_instances_that_exist_though_ec2_only_ever_says_error_are_found_and_ended(
    account: Account, ec2: Ec2Server
) -> None:
    ec2.fail("RunInstances", "InternalError", 500, times=-1, after=True, type="t2.micro")
    ec2.behave(blind=4)
    with pytest.raises(Unanswered):
        account.up()
    assert left_of() == []
    assert len(account.provider.observe()) == 3  # remembered, but ended


def test_a_machine_that_ends_while_it_starts_takes_the_whole_request_with_it(
    account: Account,
) -> None:
    def end_one(parsed: dict[str, Any], **_: Any) -> None:
        client().terminate_instances(InstanceIds=[parsed["Instances"][0]["InstanceId"]])

    account.provider._ec2.meta.events.register("after-call.ec2.RunInstances", end_one)
    with pytest.raises(ProviderError, match="ended while starting"):
        account.up()
    assert left_of() == []


def test_no_network_is_told_with_what_to_do(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(Unanswered, match="AWS cannot be reached"):
        Ec2(Ec2Settings()).observe()


def test_no_credentials_are_told_with_what_to_do(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with pytest.raises(ProviderError, match="no AWS credentials") as refused:
        Ec2(Ec2Settings()).observe()
    assert "AWS_PROFILE" in refused.value.hint
