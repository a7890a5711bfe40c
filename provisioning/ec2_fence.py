"""What stands around a cluster in EC2: its security group and its key pair."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from provisioning import ec2_answers as answers
from provisioning.lease import as_tag, from_tag
from provisioning.provider import Cluster, ProviderError, Remnant
from scicore.errors import UsageError

_SSH = 22
_FIRST_HIGH_PORT = 1024  # MPI's daemons and ranks listen above
_TRIES = 6


def fence_name(cluster: str, owner: str) -> str:
    """Of the group and the key pair; the same name twice is impossible in EC2."""
    return f"scicumulus-{owner}-{cluster}"


class _Calling(Protocol):
    def __call__(
        self, doing: str, vm_type: str = "", *, missing_is_fine: bool = False
    ) -> AbstractContextManager[list[str]]: ...


class Fence:
    def __init__(
        self, ec2: Any, subnet: str | None, calling: _Calling, sleep: Callable[[float], None]
    ) -> None:
        self._ec2 = ec2
        self._subnet = subnet
        self._calling = calling
        self._sleep = sleep
        self._groups: dict[str, str] = {}  # name → id

    # --- building -------------------------------------------------------------------------------

    def build(self, cluster: Cluster, lease_until: datetime) -> None:
        """SSH from the caller; SSH and MPI among the machines; nothing else."""
        group = self._find(cluster)
        if group is None:
            with self._calling(f"making the security group of {cluster.name}"):
                answer = self._ec2.create_security_group(
                    GroupName=fence_name(cluster.name, cluster.owner),
                    Description=f"SciCumulus cluster {cluster.name}",
                    VpcId=self._vpc(),
                    TagSpecifications=[self._tags("security-group", cluster, lease_until)],
                )
            group = {"GroupId": answer["GroupId"]}
        self._groups[fence_name(cluster.name, cluster.owner)] = group["GroupId"]
        wanted = _permissions(group["GroupId"], cluster.reachable_from)
        present = _flat(group.get("IpPermissions", ()))
        for permission in wanted:
            if not _flat([permission]) <= present:
                self._admit(group["GroupId"], permission)

    def _admit(self, group: str, permission: dict[str, Any]) -> None:
        """A group that was just made may not be known everywhere yet."""
        for attempt in range(1, _TRIES + 1):
            last = attempt == _TRIES
            try:
                with self._calling("opening the cluster's ports", missing_is_fine=not last) as lost:
                    self._ec2.authorize_security_group_ingress(
                        GroupId=group, IpPermissions=[permission]
                    )
                if not lost:
                    return
            except ProviderError as error:
                if "InvalidPermission.Duplicate" in error.message:
                    return
                raise
            self._sleep(attempt)

    def install_key(self, cluster: Cluster, lease_until: datetime) -> None:
        """The public half goes up; a key of that name that is not this one is replaced."""
        name = fence_name(cluster.name, cluster.owner)
        wanted = cluster.public_key.split()[1]
        with self._calling("looking for the key pair", missing_is_fine=True):
            answer = self._ec2.describe_key_pairs(KeyNames=[name], IncludePublicKey=True)
            for pair in answer["KeyPairs"]:
                if wanted in (pair.get("PublicKey") or ""):
                    return
                self._ec2.delete_key_pair(KeyName=pair["KeyName"])
        with self._calling("sending the public key"):
            self._ec2.import_key_pair(
                KeyName=name,
                PublicKeyMaterial=cluster.public_key.encode(),
                TagSpecifications=[self._tags("key-pair", cluster, lease_until)],
            )

    def group_id(self, cluster: Cluster) -> str:
        name = fence_name(cluster.name, cluster.owner)
        if name not in self._groups:
            group = self._find(cluster)
            if group is None:
                raise ProviderError(f"cluster {cluster.name} has no security group")
            self._groups[name] = group["GroupId"]
        return self._groups[name]

    def network(self) -> str:
        vpc = self._vpc()
        with self._calling("looking for the network"):
            found = self._ec2.describe_vpcs(VpcIds=[vpc])["Vpcs"]
        return str(found[0]["CidrBlock"])

    def _vpc(self) -> str:
        with self._calling("looking for the network"):
            if self._subnet:
                found = self._ec2.describe_subnets(SubnetIds=[self._subnet])["Subnets"]
            else:
                default = [{"Name": "is-default", "Values": ["true"]}]
                found = self._ec2.describe_vpcs(Filters=default)["Vpcs"]
        if not found:
            raise UsageError(
                "the account has no default network in this region",
                "give --subnet, or make one with `aws ec2 create-default-vpc`",
            )
        return str(found[0]["VpcId"])

    @staticmethod
    def _tags(kind: str, cluster: Cluster, lease_until: datetime) -> dict[str, Any]:
        tags = {
            answers.CLUSTER: cluster.name,
            answers.OWNER: cluster.owner,
            answers.LEASE: as_tag(lease_until),
        }
        return {"ResourceType": kind, "Tags": answers.as_list(tags)}

    # --- what is there --------------------------------------------------------------------------

    def _find(self, cluster: Cluster) -> dict[str, Any] | None:
        found = self._tagged_groups(cluster.name, cluster.owner)
        return found[0] if found else None

    def _tagged_groups(self, cluster: str, owner: str) -> list[dict[str, Any]]:
        with self._calling("looking for security groups"):
            pages = self._ec2.get_paginator("describe_security_groups").paginate(
                Filters=_tagged(cluster, owner)
            )
            found = [group for page in pages for group in page["SecurityGroups"]]
        return [group for group in found if _is_ours(group)]

    def _tagged_keys(self, cluster: str, owner: str) -> list[dict[str, Any]]:
        with self._calling("looking for key pairs"):
            answer = self._ec2.describe_key_pairs(Filters=_tagged(cluster, owner))
        return [pair for pair in answer["KeyPairs"] if _is_ours(pair)]

    def resources(self, cluster: str, owner: str) -> list[str]:
        return [
            *(group["GroupId"] for group in self._tagged_groups(cluster, owner)),
            *(pair["KeyPairId"] for pair in self._tagged_keys(cluster, owner)),
        ]

    def remnants(self) -> tuple[Remnant, ...]:
        found = {}
        for thing in (*self._tagged_groups("*", "*"), *self._tagged_keys("*", "*")):
            tags = answers.as_dict(thing.get("Tags"))
            try:
                lease_until = from_tag(tags[answers.LEASE])
            except (KeyError, ValueError):
                continue
            name, owner = tags[answers.CLUSTER], tags[answers.OWNER]
            found[name, owner] = Remnant(name, owner, lease_until)
        return tuple(found.values())

    # --- removing -------------------------------------------------------------------------------

    def remove(self, cluster: str, owner: str) -> bool:
        """False while a machine that is ending still uses the group."""
        for pair in self._tagged_keys(cluster, owner):
            with self._calling("removing the key pair", missing_is_fine=True):
                self._ec2.delete_key_pair(KeyName=pair["KeyName"])
        for group in self._tagged_groups(cluster, owner):
            try:
                with self._calling("removing the security group", missing_is_fine=True):
                    self._ec2.delete_security_group(GroupId=group["GroupId"])
            except ProviderError as error:
                if "DependencyViolation" not in error.message:
                    raise
                return False
        self._groups.pop(fence_name(cluster, owner), None)
        return True


def _tagged(cluster: str, owner: str) -> list[dict[str, Any]]:
    return [
        {"Name": f"tag:{answers.CLUSTER}", "Values": [cluster]},
        {"Name": f"tag:{answers.OWNER}", "Values": [owner]},
    ]


def _is_ours(thing: dict[str, Any]) -> bool:
    """Tagged and named by us: a copy of the tags alone is not enough."""
    tags = answers.as_dict(thing.get("Tags"))
    name = thing.get("GroupName") or thing.get("KeyName")
    return answers.LEASE in tags and name == fence_name(
        tags.get(answers.CLUSTER, ""), tags.get(answers.OWNER, "")
    )


def _permissions(group: str, reachable_from: str) -> list[dict[str, Any]]:
    itself = {"UserIdGroupPairs": [{"GroupId": group}]}
    wanted = [
        {"IpProtocol": "tcp", "FromPort": _SSH, "ToPort": _SSH, **itself},
        {"IpProtocol": "tcp", "FromPort": _FIRST_HIGH_PORT, "ToPort": 65535, **itself},
    ]
    if reachable_from:
        try:
            network = ipaddress.ip_network(reachable_from)
        except ValueError as error:
            raise UsageError(
                f"--reachable-from {reachable_from}: {error}", "expected e.g. 203.0.113.7/32"
            ) from error
        if network.version == 4:
            source: dict[str, Any] = {"IpRanges": [{"CidrIp": str(network)}]}
        else:
            source = {"Ipv6Ranges": [{"CidrIpv6": str(network)}]}
        wanted.append({"IpProtocol": "tcp", "FromPort": _SSH, "ToPort": _SSH, **source})
    return wanted


def _flat(permissions: Iterable[dict[str, Any]]) -> set[tuple[Any, ...]]:
    """Port ranges and who may use them, comparable."""
    return {
        (each.get("FromPort"), each.get("ToPort"), source)
        for each in permissions
        for source in (
            *(pair["GroupId"] for pair in each.get("UserIdGroupPairs", ())),
            *(block["CidrIp"] for block in each.get("IpRanges", ())),
            *(block["CidrIpv6"] for block in each.get("Ipv6Ranges", ())),
        )
    }
