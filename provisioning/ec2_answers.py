"""What EC2 says, in our words: instances as machines, error codes as errors with advice.

Pure: no call is made here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC
from typing import Any

from provisioning.fleet import split_number
from provisioning.lease import as_tag, from_tag
from provisioning.provider import (
    LaunchRequest,
    Machine,
    MachineState,
    ProviderError,
    Shortage,
    Unanswered,
)

CLUSTER = "scicumulus:cluster"
OWNER = "scicumulus:owner"
LEASE = "scicumulus:lease"
RUN = "scicumulus:run"
FIRST_VM = "scicumulus:first-vm"  # of its request; the launch index counts on from there
LOGIN = "scicumulus:login"
TOKEN_PREFIX = "scicumulus-"

_STATES = {
    "pending": MachineState.PENDING,
    "running": MachineState.RUNNING,
    "stopping": MachineState.ENDING,
    "shutting-down": MachineState.ENDING,
    "stopped": MachineState.PENDING,  # not of our making; its disk still costs money
    "terminated": MachineState.ENDED,
}
_HOST_KEYS = re.compile(
    r"-----BEGIN SSH HOST KEY KEYS-----(.*?)-----END SSH HOST KEY KEYS-----", re.DOTALL
)
_KEY = re.compile(r"(?:ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp\d+) [A-Za-z0-9+/=]+")


# --- tags ---------------------------------------------------------------------------------------


def tags_of_request(request: LaunchRequest, login: str) -> dict[str, str]:
    cluster = request.cluster
    return {
        "Name": f"scicumulus {cluster.name}",
        CLUSTER: cluster.name,
        OWNER: cluster.owner,
        LEASE: as_tag(request.lease_until),
        RUN: cluster.run,
        FIRST_VM: request.vms[0],
        LOGIN: login,
    }


def as_list(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": name, "Value": value} for name, value in tags.items()]


def as_dict(tags: list[dict[str, str]] | None) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in tags or ()}


# --- instances ----------------------------------------------------------------------------------


def machine_of(instance: Mapping[str, Any]) -> Machine | None:
    """None for what is not ours. Tags alone prove nothing: the console's "launch more like this"
    copies them. The client token is set by who launched, once."""
    tags = as_dict(instance.get("Tags"))
    token = instance.get("ClientToken") or ""
    if not token.startswith(TOKEN_PREFIX) or not {CLUSTER, OWNER, LEASE, FIRST_VM} <= tags.keys():
        return None
    try:
        prefix, first = split_number(tags[FIRST_VM])
        lease_until = from_tag(tags[LEASE])
    except ValueError:
        return None
    private = instance.get("PrivateIpAddress") or ""
    return Machine(
        id=instance["InstanceId"],
        vm=f"{prefix}{first + instance.get('AmiLaunchIndex', 0)}",
        vm_type=instance["InstanceType"],
        state=_STATES[instance["State"]["Name"]],
        cluster=tags[CLUSTER],
        owner=tags[OWNER],
        token=token,
        launched_at=instance["LaunchTime"].astimezone(UTC),
        lease_until=lease_until,
        address=instance.get("PublicIpAddress") or private,
        private_address=private,
        user=tags.get(LOGIN, ""),
        spot=instance.get("InstanceLifecycle") == "spot",
        tags=tags,
    )


def host_keys_in(console: str) -> tuple[str, ...]:
    """cloud-init prints them at the first boot, between two lines of its own."""
    found = _HOST_KEYS.findall(console)
    return tuple(_KEY.findall(found[-1])) if found else ()


# --- errors -------------------------------------------------------------------------------------

_CAPACITY = {
    "InsufficientInstanceCapacity",
    "InsufficientCapacity",
    "InsufficientHostCapacity",
    "SpotMaxPriceTooLow",
    "Unsupported",  # the type is not offered in this zone
    "UnsupportedOperation",
    "InvalidInstanceType",
}
_QUOTA = {
    "VcpuLimitExceeded",
    "InstanceLimitExceeded",
    "MaxSpotInstanceCountExceeded",
}
_CREDENTIALS = {
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "RequestExpired",
    "InvalidClientTokenId",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}
_PERMISSION = {"UnauthorizedOperation", "AccessDenied", "AccessDeniedException"}
_THROTTLED = {"RequestLimitExceeded", "Throttling", "ThrottlingException"}


def refusal(
    code: str, said: str, status: int, doing: str, vm_type: str = "", *, retried: bool = False
) -> ProviderError:
    """EC2's error as one of ours: what was refused, why, what to do.

    A launch that boto3 had to send several times may have taken effect the first time, whatever
    the last answer is; but not when there is no capacity: with our token EC2 would know.
    """
    where = f"{doing}: EC2 answers {code}: {said}"
    if code in _CAPACITY and vm_type:
        return Shortage(
            vm_type,
            f"EC2 has no {vm_type} for us now ({code}: {said})",
            "allow another type with --allow-substitutes, or try another --region, or later",
        )
    if code in _QUOTA and vm_type:
        return Shortage(
            vm_type,
            f"the account's quota does not allow that many {vm_type} ({code}: {said})",
            "ask AWS for a higher quota (Service Quotas, EC2, vCPUs), end what is not needed, or "
            "allow types of another family with --allow-substitutes",
        )
    if vm_type and (retried or code == "IdempotentParameterMismatch"):
        return Unanswered(where, "repeat the command: it goes on where it was")
    if code in _CREDENTIALS:
        return ProviderError(
            f"{doing}: EC2 does not accept the credentials ({code})",
            "log in again, e.g. with `aws sso login`, and repeat the command; check also that "
            "this computer's clock is right",
        )
    if code in _PERMISSION:
        return ProviderError(
            f"{doing}: the credentials do not allow it ({code})",
            "give them the policy in docs/cloud.md",
        )
    if code in _THROTTLED:
        return ProviderError(
            f"{doing}: EC2 asks to slow down, also after several attempts ({code})",
            "repeat the command in a minute: it goes on where it was",
        )
    if status >= 500:
        return Unanswered(where, "repeat the command: it goes on where it was")
    return ProviderError(where, "docs/cloud.md tells what a launch needs")
