"""Clusters in EC2: what is asked for, and what happens when EC2 does not do as it should."""

from __future__ import annotations

import base64
import json
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from provisioning.catalog import CATALOG
from provisioning.ec2 import Ec2, Ec2Settings
from provisioning.fleet import substitutes
from provisioning.launching import Stopped
from provisioning.ledger import Busy
from provisioning.provider import MachineState, ProviderError, Shortage, Unanswered
from scicore.errors import UsageError
from scicore.model.cluster import Outcome, Wanted
from tests.acceptance.console import eventually
from tests.integration.ec2_account import (
    FLEET,
    KEY,
    OWNER,
    Account,
    add_foreign_things,
    alive,
    client,
    foreign_things,
    later,
    left_of,
    session,
)
from tests.integration.ec2_stand_in import IMAGE, Ec2Server

HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBl1c3QgYSBob3N0IGtleSBvZiBhIHRlc3QgbWFjaGluZQ"


@pytest.fixture
def account(ec2: Ec2Server) -> Account:
    return Account()


def user_data_of(instance: str) -> str:
    answer = client().describe_instance_attribute(InstanceId=instance, Attribute="userData")
    return base64.b64decode(answer["UserData"]["Value"]).decode()


# --- what is asked for --------------------------------------------------------------------------


def test_a_cluster_is_launched_as_it_should_be_and_leaves_nothing(account: Account) -> None:
    machines = account.up()
    assert [(each.vm, each.vm_type, each.state) for each in machines] == [
        ("t2.2xlarge-1", "t2.2xlarge", MachineState.RUNNING),
        ("t2.micro-1", "t2.micro", MachineState.RUNNING),
        ("t2.micro-2", "t2.micro", MachineState.RUNNING),
    ]
    assert all(each.address and each.private_address and each.user == "admin" for each in machines)

    (group,) = client().describe_security_groups(GroupNames=[f"scicumulus-{OWNER}-m"])[
        "SecurityGroups"
    ]
    admitted = sorted(
        (rule["FromPort"], rule["ToPort"], source)
        for rule in group["IpPermissions"]
        for source in [
            *(each["CidrIp"] for each in rule["IpRanges"]),
            *(each["GroupId"] for each in rule["UserIdGroupPairs"]),
        ]
    )
    itself = group["GroupId"]
    assert admitted == sorted([(22, 22, "192.0.2.7/32"), (22, 22, itself), (1024, 65535, itself)])
    for instance in alive():
        assert instance["MetadataOptions"]["HttpTokens"] == "required"
        assert instance["MetadataOptions"]["InstanceMetadataTags"] == "enabled"
        assert instance["ImageId"] == IMAGE
        assert [each["GroupId"] for each in instance["SecurityGroups"]] == [itself]
        assert instance["KeyName"] == f"scicumulus-{OWNER}-m"
        tags = {each["Key"]: each["Value"] for each in instance["Tags"]}
        assert tags["scicumulus:run"] == "plan 7"
        assert tags["scicumulus:owner"] == OWNER
        shutdown = client().describe_instance_attribute(
            InstanceId=instance["InstanceId"], Attribute="instanceInitiatedShutdownBehavior"
        )
        assert shutdown["InstanceInitiatedShutdownBehavior"]["Value"] == "terminate"

    assert account.ending.down("m", OWNER) == 3
    assert left_of() == []


def test_user_data_holds_the_lease_timer_and_our_public_key_alone(account: Account) -> None:
    machine, *_ = account.up(fleet="1xt2.micro")
    head, _, document = user_data_of(machine.id).partition("\n")
    assert head == "#cloud-config"
    config = json.loads(document)
    assert config.pop("ssh_authorized_keys") == [KEY]
    assert (config.pop("ssh_pwauth"), config.pop("disable_root")) == (False, True)
    assert [each["path"] for each in config.pop("write_files")] == [
        "/var/lib/scicumulus/lease",
        "/usr/local/sbin/scicumulus-lease",
        "/etc/systemd/system/scicumulus-lease.service",
        "/etc/systemd/system/scicumulus-lease.timer",
    ]
    assert config.pop("runcmd") == [
        ["systemctl", "daemon-reload"],
        ["systemctl", "enable", "--now", "scicumulus-lease.timer"],
    ]
    assert config == {}


def test_spot_vms_are_asked_for_once_and_end_when_they_are_taken_away(account: Account) -> None:
    asked: list[dict[str, Any]] = []
    account.provider._ec2.meta.events.register(
        "before-parameter-build.ec2.RunInstances", lambda params, **_: asked.append(params)
    )
    account.up(fleet="1xt2.micro", spot=True)
    assert asked[0]["InstanceMarketOptions"] == {
        "MarketType": "spot",
        "SpotOptions": {
            "SpotInstanceType": "one-time",
            "InstanceInterruptionBehavior": "terminate",
        },
    }
    kinds = [each["ResourceType"] for each in asked[0]["TagSpecifications"]]
    assert kinds == ["instance", "volume", "spot-instances-request"]


def test_the_image_of_an_arm_vm_is_one_for_arm(account: Account) -> None:
    asked: list[str] = []
    own = boto3.Session()
    listen = "before-parameter-build.ssm"
    own.events.register(listen, lambda params, **_: asked.append(params["Name"]))
    Account(Ec2(Ec2Settings(), own)).up(fleet="1xa1.4xlarge,1xt2.micro")
    assert asked == [
        "/aws/service/debian/release/12/latest/arm64",
        "/aws/service/debian/release/12/latest/amd64",
    ]


def test_host_keys_are_those_that_the_console_shows(account: Account, ec2: Ec2Server) -> None:
    machine, *_ = account.up(fleet="1xt2.micro")
    assert account.provider.host_keys(machine) == ()
    block = (
        f"-----BEGIN SSH HOST KEY KEYS-----\n{HOST_KEY} root@ip\n-----END SSH HOST KEY KEYS-----"
    )
    ec2.behave(console=f"ssh-rsa AAAAforged someone\n[ 12.0] cloud-init\n{block}\nlogin:")
    assert account.provider.host_keys(machine) == (HOST_KEY,)


def test_prices_and_types_of_today_come_from_aws(account: Account) -> None:
    found = account.provider.prices(CATALOG, ["t2.micro", "c5n.large"])
    told = [(t.name, t.slots, t.memory_mb, t.price_usd_per_hour, t.region) for t in found]
    assert told == [
        ("c5n.large", 2, 5376, 0.42, "us-east-1"),
        ("t2.micro", 1, 1024, 0.42, "us-east-1"),
    ]
    assert [each.speed for each in found] == [1.6, 1.0]  # AWS has none


def test_everything_that_is_called_is_in_the_documented_policy(
    account: Account, ec2: Ec2Server
) -> None:
    page = Path(__file__).parents[2] / "docs" / "cloud.md"
    policy = json.loads(page.read_text(encoding="utf-8").split("```json")[1].split("```")[0])
    allowed = {
        action.partition(":")[2]
        for statement in policy["Statement"]
        for action in [statement["Action"]]
        for action in ([action] if isinstance(action, str) else action)
    }
    machine, *_ = account.up()
    account.up(lease_until=later(hours=2))
    account.provider.host_keys(machine)
    account.provider.prices(CATALOG, ["t2.micro"])
    subnet = client().describe_subnets()["Subnets"][0]["SubnetId"]
    elsewhere = Account(Ec2(Ec2Settings(subnet=subnet)))
    elsewhere.up("n", "1xt2.micro")
    elsewhere.ending.sweep(OWNER)
    for name in ("m", "n"):
        account.ending.down(name, OWNER)
    called = {call.rpartition(".")[2] for call in ec2.calls()}
    assert called == allowed


# --- again, and again ---------------------------------------------------------------------------


def test_up_again_changes_nothing_but_the_lease(account: Account) -> None:
    first = account.up()
    again = account.up(lease_until=later(hours=5))
    assert [each.id for each in again] == [each.id for each in first]
    assert {each.lease_until > later(hours=4) for each in again} == {True}
    assert len(alive()) == 3


def test_up_again_replaces_a_lost_vm(account: Account) -> None:
    first = {each.vm: each.id for each in account.up()}
    client().terminate_instances(InstanceIds=[first["t2.micro-1"]])
    again = {each.vm: each.id for each in account.up()}
    assert again["t2.micro-1"] != first["t2.micro-1"]
    assert again["t2.micro-2"] == first["t2.micro-2"]
    assert account.ending.down("m", OWNER) == 3
    assert left_of() == []


def test_a_vm_that_joins_replaces_a_lost_one_and_leaves_the_others_alone(
    account: Account, ec2: Ec2Server
) -> None:
    first = {each.vm: each.id for each in account.up()}
    wanted = account.order(fleet="3xt2.micro")
    other = replace(wanted, fleet=FLEET, vms=wanted.vms[2:])
    ec2.behave(blind=2)
    made = account.launching.add(other, instead_of="t2.micro-1")
    assert (made.vm, made.lease_until > later()) == ("t2.micro-3", True)
    assert {each["InstanceId"] for each in alive()} == {
        made.id, first["t2.micro-2"], first["t2.2xlarge-1"],
    }  # fmt: skip
    record = account.ledger.open("m")
    assert record is not None
    ended = {each.vm for intent in record.intents for each in intent.instances if each.ended_at}
    assert ended == {"t2.micro-1"}

    # One that cannot be had, or does not come up, takes nobody with it.
    ec2.fail("RunInstances", "InsufficientInstanceCapacity", 500, times=-1)
    another = replace(other, vms=(replace(wanted.vms[0], id="t2.micro-4"),))
    with pytest.raises(Shortage):
        account.launching.add(another)
    ec2.behave(faults=[])
    assert len(alive()) == 3
    assert account.ending.down("m", OWNER) == 3
    assert left_of() == []


def test_vms_get_an_instance_profile_if_one_is_asked_for(ec2: Ec2Server) -> None:
    iam = session().client("iam")
    iam.create_instance_profile(InstanceProfileName="data")
    profiled = Account(Ec2(Ec2Settings(instance_profile="data")))
    profiled.up("p", "1xt2.micro")
    (made,) = alive()
    assert made["IamInstanceProfile"]["Arn"].endswith("/data")
    profiled.ending.down("p", OWNER)


def test_another_fleet_under_the_same_name_is_refused(account: Account) -> None:
    account.up()
    with pytest.raises(UsageError, match=r"cluster m exists with the fleet 2xt2\.micro"):
        account.up(fleet="1xt2.micro")
    assert len(alive()) == 3


def test_a_cluster_that_the_database_does_not_know_is_refused_and_can_be_ended(
    account: Account,
) -> None:
    account.up()
    amnesiac = Account()
    with pytest.raises(UsageError, match="that this database knows nothing of"):
        amnesiac.up()
    assert amnesiac.ending.down("m", OWNER) == 3
    assert left_of() == []


# --- when EC2 fails -----------------------------------------------------------------------------


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


# --- ending -------------------------------------------------------------------------------------


def _wanted(account: Account) -> Wanted | None:
    record = account.ledger.open("m")
    return record.wanted if record else None


def test_down_during_up_ends_both(account: Account) -> None:
    """Between the two launches, from another thread."""
    ended: list[int] = []
    other = Account(ledger=account.ledger, stands_still=True)
    thread = threading.Thread(target=lambda: ended.append(other.ending.down("m", OWNER)))

    def down_begins(**_: Any) -> None:
        if thread.ident is None:
            thread.start()
            eventually(lambda: _wanted(account) is Wanted.DOWN, "the other command")

    account.provider._ec2.meta.events.register("after-call.ec2.RunInstances", down_begins)
    with pytest.raises(Stopped, match="ended by another command"):
        account.up()
    thread.join(timeout=60)
    assert ended
    assert left_of() == []


def test_sweep_ends_what_outlived_its_lease_and_nothing_else(account: Account) -> None:
    add_foreign_things()
    foreign = foreign_things()
    assert len(foreign) >= 6
    account.up("old", "1xt2.micro", lease_until=later(hours=-1))
    account.up("new", "1xt2.micro")
    forgetful = Account()
    planned = forgetful.ending.sweep(OWNER, dry_run=True)
    assert len(alive()) == 5
    judgement = forgetful.ending.sweep(OWNER)
    assert planned.verdicts == judgement.verdicts
    told = {each.machine.cluster: (each.end, each.why[:12]) for each in judgement.verdicts}
    assert told == {
        "old": (True, "its lease en"),
        "new": (False, "leased until"),
        "m-of-bob": (False, "belongs to b"),
    }
    assert foreign_things() == foreign
    assert [each.cluster for each in forgetful.provider.observe("new")] == ["new"]
    later_on = Account(ahead=timedelta(hours=2))
    later_on.ending.sweep(OWNER)
    assert left_of() == []
    assert foreign_things() == foreign


def test_sweep_leaves_alone_what_another_command_works_on(account: Account) -> None:
    account.up(lease_until=later(hours=-1))
    with account.ledger.hold("m"):
        judgement = account.ending.sweep(OWNER)
        assert {each.why for each in judgement.verdicts} == {"a command is at work on its cluster"}
        with pytest.raises(Busy):
            account.up()
    assert len(alive()) == 3
