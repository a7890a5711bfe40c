"""The driver for Amazon EC2; the only place that uses boto3. It decides nothing.

Credentials come from boto3's own chain (environment, profile, SSO, instance role): we neither
read nor store them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from provisioning import ec2_answers as answers
from provisioning.ec2_fence import Fence, fence_name
from provisioning.ec2_prices import refreshed
from provisioning.fleet import architecture, split_number
from provisioning.lease import as_tag, user_data
from provisioning.provider import (
    Cluster,
    LaunchRequest,
    Machine,
    ProviderError,
    Remnant,
    Unanswered,
)
from scicore.errors import UsageError
from scicore.model.cloud import VmType

# Python 3.11 is in it, and its releases are what we measure on.
DEFAULT_IMAGE = "/aws/service/debian/release/12/latest/{arch}"
DEFAULT_LOGIN = "admin"
_ARCH = {"x86_64": "amd64", "arm64": "arm64"}
_TERMINATE_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Ec2Settings:
    region: str | None = None  # None: as boto3 finds it
    image: str = DEFAULT_IMAGE  # an AMI's id, or the SSM parameter that names it
    login: str = DEFAULT_LOGIN  # the image's user
    subnet: str | None = None  # None: one of the default VPC
    disk_gib: int = 0  # 0: as large as the image's
    instance_profile: str = ""  # what the VMs may do in AWS; empty: nothing


class Ec2:
    name = "ec2"

    def __init__(
        self,
        settings: Ec2Settings,
        session: Any = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._settings = settings
        self._session = session or _session(settings.region)
        self._ec2 = self._client("ec2")
        self._fence = Fence(self._ec2, settings.subnet, calling, sleep)
        self._images: dict[str, str] = {}

    @property
    def region(self) -> str:
        return str(self._ec2.meta.region_name)

    def _client(self, service: str, region: str | None = None) -> Any:
        from botocore.config import Config

        retries = {"mode": "standard"}  # with back-off; AWS_MAX_ATTEMPTS says how often
        config = Config(
            retries=retries, user_agent_extra="scicumulus", connect_timeout=10, read_timeout=60
        )
        with calling(f"reaching {service}"):
            return self._session.client(service, region_name=region, config=config)

    def network(self, cluster: str) -> str:
        """Of the VPC: the same for all clusters."""
        return self._fence.network()

    # --- the port -------------------------------------------------------------------------------

    def prepare(self, cluster: Cluster, lease_until: datetime) -> None:
        self._fence.build(cluster, lease_until)
        self._fence.install_key(cluster, lease_until)

    def launch(self, request: LaunchRequest) -> tuple[Machine, ...]:
        doing = f"launching {len(request.vms)} x {request.vm_type}"
        parameters = self._parameters(request)
        with calling(doing, request.vm_type):
            answer = self._ec2.run_instances(**parameters)
        made = [answers.machine_of(each) for each in answer["Instances"]]
        machines = {each.vm: each for each in made if each is not None}
        if set(machines) != set(request.vms):
            raise Unanswered(
                f"{doing}: EC2 answers with {len(answer['Instances'])} instances, "
                f"of which {len(machines)} are as asked for",
                "this is not how EC2 behaves; is the endpoint a stand-in for it?",
            )
        return tuple(machines[vm] for vm in request.vms)

    def observe(self, cluster: str | None = None) -> tuple[Machine, ...]:
        tag = {"Name": f"tag:{answers.CLUSTER}", "Values": [cluster or "*"]}
        with calling("looking for machines"):
            pages = self._ec2.get_paginator("describe_instances").paginate(Filters=[tag])
            found = [
                answers.machine_of(instance)
                for page in pages
                for reservation in page["Reservations"]
                for instance in reservation["Instances"]
            ]
        return tuple(each for each in found if each is not None)

    def renew(self, cluster: str, owner: str, lease_until: datetime) -> None:
        ids = [each.id for each in self.observe(cluster) if each.owner == owner]
        resources = [*ids, *self._fence.resources(cluster, owner)]
        tags = answers.as_list({answers.LEASE: as_tag(lease_until)})
        if resources:
            with calling(f"renewing the lease of {cluster}"):
                self._ec2.create_tags(Resources=resources, Tags=tags)

    def terminate(self, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), _TERMINATE_AT_ONCE):
            batch = list(ids[start : start + _TERMINATE_AT_ONCE])
            if not self._terminate(batch):
                for each in batch:  # one unknown id must not save the others
                    self._terminate([each])

    def _terminate(self, ids: list[str]) -> bool:
        """False if EC2 does not know all of them (any more, or yet)."""
        with calling(f"ending {len(ids)} machines", missing_is_fine=True) as known:
            self._ec2.terminate_instances(InstanceIds=ids)
        return not known

    def remnants(self) -> tuple[Remnant, ...]:
        return self._fence.remnants()

    def dismantle(self, cluster: str, owner: str) -> bool:
        return self._fence.remove(cluster, owner)

    def host_keys(self, machine: Machine) -> tuple[str, ...]:
        """The console shows them a minute or more after the launch."""
        with calling(f"reading the console of {machine.vm}"):
            answer = self._ec2.get_console_output(InstanceId=machine.id)
        return answers.host_keys_in(answer.get("Output") or "")

    # --- what is asked for ----------------------------------------------------------------------

    def _parameters(self, request: LaunchRequest) -> dict[str, Any]:
        """The same for the same request: EC2 compares them when it sees a token again."""
        if [split_number(vm)[1] for vm in request.vms] != list(_numbers(request.vms)):
            raise UsageError(f"VMs of one request must be consecutive, found {request.vms}")
        settings, count = self._settings, len(request.vms)
        tags = answers.as_list(answers.tags_of_request(request, settings.login))
        kinds = ["instance", "volume", *(["spot-instances-request"] if request.spot else [])]
        parameters: dict[str, Any] = {
            "ClientToken": request.token,
            "ImageId": self._image(architecture(request.vm_type)),
            "InstanceType": request.vm_type,
            "MinCount": count,
            "MaxCount": count,
            "KeyName": fence_name(request.cluster.name, request.cluster.owner),
            "SecurityGroupIds": [self._fence.group_id(request.cluster)],
            "InstanceInitiatedShutdownBehavior": "terminate",
            "MetadataOptions": {
                "HttpEndpoint": "enabled",
                "HttpTokens": "required",  # IMDSv2 only
                "HttpPutResponseHopLimit": 1,
                "InstanceMetadataTags": "enabled",  # the lease timer reads its tag
            },
            "UserData": user_data(request.lease_until, request.cluster.public_key),
            "TagSpecifications": [{"ResourceType": kind, "Tags": tags} for kind in kinds],
        }
        if settings.subnet:
            parameters["SubnetId"] = settings.subnet
        if settings.instance_profile:
            parameters["IamInstanceProfile"] = {"Name": settings.instance_profile}
        if settings.disk_gib:
            disk = {"VolumeSize": settings.disk_gib, "DeleteOnTermination": True}
            parameters["BlockDeviceMappings"] = [{"DeviceName": "/dev/xvda", "Ebs": disk}]
        if request.spot:  # the price is capped at that on demand
            spot = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
            parameters["InstanceMarketOptions"] = {"MarketType": "spot", "SpotOptions": spot}
        return parameters

    def _image(self, machine: str) -> str:
        """{arch} is amd64 or arm64, {machine} is x86_64 or arm64: distributions differ."""
        wanted = self._settings.image
        if wanted.startswith("ami-"):
            return wanted
        name = wanted.format(arch=_ARCH[machine], machine=machine)
        if name not in self._images:
            with calling(f"looking for the image {name}"):
                answer = self._client("ssm").get_parameter(Name=name)
            self._images[name] = answer["Parameter"]["Value"]
        return self._images[name]

    # --- prices ---------------------------------------------------------------------------------

    def prices(self, known: Mapping[str, VmType], names: Collection[str]) -> list[VmType]:
        """The types of these names as they are today; the price list has one home for all."""
        pricing = self._client("pricing", "us-east-1")
        with calling("asking for VM types and prices"):
            return refreshed(self._ec2, pricing, self.region, known, names)


def _numbers(vms: Sequence[str]) -> range:
    first = split_number(vms[0])[1]
    return range(first, first + len(vms))


def _session(region: str | None) -> Any:
    try:
        import boto3
    except ImportError as error:
        raise UsageError("EC2 needs boto3, which is not installed", "pip install boto3") from error
    with calling("looking for AWS settings"):
        session = boto3.Session(region_name=region)
        if session.region_name is None:
            raise UsageError(
                "no AWS region is chosen", "give --region us-east-1, or set AWS_DEFAULT_REGION"
            )
        return session


@contextmanager
def calling(doing: str, vm_type: str = "", *, missing_is_fine: bool = False) -> Iterator[list[str]]:
    """Errors of boto3 become ours; what was missing is listed where that is fine."""
    from botocore.exceptions import (
        BotoCoreError,
        ClientError,
        CredentialRetrievalError,
        EndpointConnectionError,
        HTTPClientError,
        NoCredentialsError,
        PartialCredentialsError,
        ProfileNotFound,
        SSOError,
    )

    missing: list[str] = []
    try:
        yield missing
    except ClientError as error:
        told = error.response.get("Error", {})
        code, said = str(told.get("Code", "")), str(told.get("Message", ""))
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        if missing_is_fine and ("NotFound" in code or "Malformed" in code):
            missing.append(code)
            return
        retried = bool(error.response.get("ResponseMetadata", {}).get("RetryAttempts"))
        raise answers.refusal(code, said, status, doing, vm_type, retried=retried) from error
    except (
        NoCredentialsError,
        PartialCredentialsError,
        CredentialRetrievalError,
        ProfileNotFound,
        SSOError,
    ) as error:
        raise ProviderError(
            f"{doing}: no AWS credentials: {error}",
            "set AWS_PROFILE, or log in with `aws configure` or `aws sso login`",
        ) from error
    except (EndpointConnectionError, HTTPClientError) as error:  # no answer, or half of one
        raise Unanswered(
            f"{doing}: AWS cannot be reached: {error}", "check the network and --region"
        ) from error
    except BotoCoreError as error:
        raise ProviderError(f"{doing}: {error}") from error
