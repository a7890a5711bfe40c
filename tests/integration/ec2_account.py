"""An AWS account as tests see it: clusters of ours in it, things of others, and what is left."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import boto3

from provisioning.catalog import CATALOG
from provisioning.desk import Desk, Patience
from provisioning.ec2 import Ec2, Ec2Settings
from provisioning.ending import Ending
from provisioning.launching import Launching, Order
from provisioning.ledger import Ledger, MemoryLedger
from provisioning.provider import Cluster, Machine
from scicore.model.cloud import parse_fleet

OWNER = "ada"
FLEET = "2xt2.micro,1xt2.2xlarge"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIQJy5pzY7lEh1ZkNkwXTVeOsOyIhjq0sOCbj3xcKfP+ test"
PATIENCE = Patience(poll_s=4.0, settle_s=60.0, boot_s=600.0, end_s=900.0, asks=2)
OURS = "scicumulus:cluster"


@cache
def session() -> Any:
    """One for all: reading what EC2 can do takes longer than asking it."""
    return boto3.Session(region_name="us-east-1")


@cache
def client() -> Any:
    return session().client("ec2")


def driver() -> Ec2:
    return Ec2(Ec2Settings(), session(), sleep=lambda _: None)


def later(**by: float) -> datetime:
    return datetime.now(UTC) + timedelta(**by)


@dataclass
class Account:
    """What a user of the account does, by a clock that only waiting moves on, and in no time."""

    provider: Ec2 = field(default_factory=driver)
    ledger: Ledger = field(default_factory=MemoryLedger)
    ahead: timedelta = timedelta()
    stands_still: bool = False  # the clock, while something goes on in another thread
    said: list[str] = field(default_factory=list)
    began: datetime = field(default_factory=lambda: datetime.now(UTC))

    def afresh(self) -> Account:
        """By a clock that is right again."""
        return Account(self.provider, self.ledger)

    def now(self) -> datetime:
        return self.began + self.ahead

    def sleep(self, seconds: float) -> None:
        if self.stands_still:
            time.sleep(0.01)
        else:
            self.ahead += timedelta(seconds=seconds)

    @property
    def desk(self) -> Desk:
        return Desk(self.provider, self.ledger, self.now, self.sleep, self.said.append, PATIENCE)

    @property
    def launching(self) -> Launching:
        return Launching(self.desk)

    @property
    def ending(self) -> Ending:
        return Ending(self.desk)

    def order(self, name: str = "m", fleet: str = FLEET, **more: Any) -> Order:
        wanted = parse_fleet(fleet, CATALOG)
        cluster = Cluster(name, more.pop("owner", OWNER), KEY, "192.0.2.7/32", "plan 7")
        lease_until = more.pop("lease_until", None) or later(hours=1)
        return Order(cluster, wanted.text, wanted.vms, lease_until, **more)

    def replacement(self, fleet: str, name: str = "m") -> Order:
        """Of a fleet of one: another VM, with the next number."""
        order = self.order(name, fleet)
        (vm,) = order.vms
        return replace(order, vms=(replace(vm, id=f"{vm.type.name}-2"),))

    def up(self, name: str = "m", fleet: str = FLEET, **more: Any) -> tuple[Machine, ...]:
        return self.launching.up(self.order(name, fleet, **more))


def alive() -> list[dict[str, Any]]:
    pages = client().get_paginator("describe_instances").paginate()
    return [
        instance
        for page in pages
        for reservation in page["Reservations"]
        for instance in reservation["Instances"]
        if instance["State"]["Name"] not in ("terminated", "shutting-down")
    ]


def left_of(owner: str = OWNER) -> list[str]:
    """Everything that costs money or is in the way: instances, groups, keys of the owner."""
    ec2 = client()
    mine = [{"Name": "tag:scicumulus:owner", "Values": [owner]}]
    return [
        *(
            each["InstanceId"]
            for each in alive()
            if {"Key": "scicumulus:owner", "Value": owner} in each.get("Tags", [])
            and each.get("ClientToken", "").startswith("scicumulus-")
        ),
        *(
            each["GroupId"]
            for each in ec2.describe_security_groups(Filters=mine)["SecurityGroups"]
            if each["GroupName"].startswith("scicumulus-")
        ),
        *(each["KeyName"] for each in ec2.describe_key_pairs(Filters=mine)["KeyPairs"]),
    ]


def add_foreign_things() -> None:
    """What must never be touched: others' instances, also such that look like ours."""
    ec2 = client()
    ours = {
        OURS: "m",
        "scicumulus:owner": OWNER,
        "scicumulus:lease": "2020-01-01T00:00:00+0000",
        "scicumulus:first-vm": "t2.micro-1",
    }
    copied = [{"Key": key, "Value": value} for key, value in ours.items()]
    one = {"ImageId": "ami-1", "MinCount": 1, "MaxCount": 1, "InstanceType": "t2.micro"}
    ec2.run_instances(**one)
    ec2.run_instances(
        **one,
        ClientToken="launch-more-like-this",
        TagSpecifications=[{"ResourceType": "instance", "Tags": copied}],
    )
    ec2.create_security_group(
        GroupName="web",
        Description="somebody's",
        TagSpecifications=[{"ResourceType": "security-group", "Tags": copied}],
    )
    ec2.import_key_pair(KeyName="laptop", PublicKeyMaterial=KEY.encode())
    bob = Account()
    bob.up("m-of-bob", "1xt2.micro", owner="bob", lease_until=later(hours=-1))


def foreign_things() -> list[str]:
    ec2 = client()
    return [
        *sorted(
            each["InstanceId"]
            for each in alive()
            if not each.get("ClientToken", "").startswith("scicumulus-")
            or {"Key": "scicumulus:owner", "Value": "bob"} in each.get("Tags", [])
        ),
        *sorted(
            each["GroupName"]
            for each in ec2.describe_security_groups()["SecurityGroups"]
            if not each["GroupName"].startswith(f"scicumulus-{OWNER}")
        ),
        *sorted(
            each["KeyName"]
            for each in ec2.describe_key_pairs()["KeyPairs"]
            if not each["KeyName"].startswith(f"scicumulus-{OWNER}")
        ),
    ]
