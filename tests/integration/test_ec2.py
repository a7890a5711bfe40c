"""Clusters in EC2: what is asked for."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import boto3

from provisioning.catalog import CATALOG
from provisioning.ec2 import Ec2, Ec2Settings
from provisioning.provider import MachineState
from tests.integration.ec2_account import (
    KEY,
    OWNER,
    Account,
    alive,
    client,
    later,
    left_of,
    session,
)
from tests.integration.ec2_stand_in import IMAGE, Ec2Server

HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBl1c3QgYSBob3N0IGtleSBvZiBhIHRlc3QgbWFjaGluZQ"


def user_data_of(instance: str) -> str:
    answer = client().describe_instance_attribute(InstanceId=instance, Attribute="userData")
    return base64.b64decode(answer["UserData"]["Value"]).decode()


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


def test_vms_get_an_instance_profile_if_one_is_asked_for(ec2: Ec2Server) -> None:
    iam = session().client("iam")
    iam.create_instance_profile(InstanceProfileName="data")
    profiled = Account(Ec2(Ec2Settings(instance_profile="data")))
    profiled.up("p", "1xt2.micro")
    (made,) = alive()
    assert made["IamInstanceProfile"]["Arn"].endswith("/data")
    profiled.ending.down("p", OWNER)
