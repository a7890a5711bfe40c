"""Files of a run in S3: whole or not at all, checked, cached, and patient with what passes."""

from __future__ import annotations

import hashlib
import os
import select
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from provisioning import s3
from provisioning.s3 import Damaged, Gone, Place, Storage, StorageError, digest_of, parse
from scicore.engine.carriage import Carriage
from scicore.engine.keeper import Keeper
from scicore.engine.porter import MOST_DEATHS, Porter
from scicore.engine.process import program_environment
from scicore.engine.runner import Runner
from scicore.engine.wire import Welcome
from scicore.errors import UsageError
from scicore.execution.messages import AttemptEnded, Start
from scicore.model.activation import Cause
from scicore.model.transfer import Delivery, Parcel, Way
from scicore.model.workflow import Activity, Field, FieldType, Operator, Relation
from tests.acceptance.console import eventually
from tests.integration.s3_stand_in import S3Server, serving_s3

BUCKET = "data"
SOME = b"measured " * 4000


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with serving_s3() as found:
        yield found


@pytest.fixture
def place(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Place:
    account = {"AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "none"}
    nothing = dict.fromkeys(("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"), os.devnull)
    for name, value in {**account, **nothing, "AWS_DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    server.mend()
    client(server).create_bucket(Bucket=BUCKET)
    return parse(f"s3://{BUCKET}/experiments?endpoint={server.url}&patience_s=30")


def client(server: S3Server) -> Any:
    return boto3.client("s3", endpoint_url=server.url, region_name="us-east-1")


class Vms:
    """Two VMs with disks of their own: the same path, of different roots, is not possible here,
    so a VM loses the file instead."""

    def __init__(self, place: Place, directory: Path) -> None:
        self.run = directory.name
        self.one, self.other = Storage(place, self.run), Storage(place, self.run)
        self.file = directory / "a/1/made.txt"

    def made(self, data: bytes = SOME) -> str:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(data)
        return digest_of(self.file)

    def stored(self, data: bytes = SOME) -> str:
        digest = self.made(data)
        self.one.put(self.file, digest)
        self.file.unlink()
        return digest


@pytest.fixture
def vms(place: Place, tmp_path: Path) -> Vms:
    return Vms(place, tmp_path)


def test_a_file_made_on_one_vm_is_the_same_on_another_and_is_kept_there(
    vms: Vms, server: S3Server
) -> None:
    vms.made()
    vms.file.chmod(0o750)
    assert vms.one.put(vms.file, digest_of(vms.file)).size_bytes == len(SOME)
    vms.file.unlink()
    assert vms.other.get(vms.file).size_bytes == len(SOME)
    assert vms.file.read_bytes() == SOME
    assert vms.file.stat().st_mode & 0o777 == 0o750
    server.calls()
    again = vms.other.get(vms.file)
    assert (again.cached, again.size_bytes) == (True, 0)
    assert vms.other.put(vms.file, digest_of(vms.file)).cached  # it came from there
    assert server.calls() == []


def test_what_was_changed_on_a_vm_is_noticed_and_fetched_again(vms: Vms) -> None:
    vms.stored()
    vms.other.get(vms.file)
    vms.file.write_bytes(b"x" * len(SOME))
    assert vms.other.get(vms.file).size_bytes == len(SOME)
    assert vms.file.read_bytes() == SOME
    vms.file.write_bytes(b"y" * len(SOME))  # for a VM that has never asked for it, too
    assert not vms.one.__class__(vms.one.place, vms.run).get(vms.file).cached
    assert vms.file.read_bytes() == SOME


def test_throttling_and_torn_lines_are_waited_for_and_counted(vms: Vms, server: S3Server) -> None:
    digest = vms.made()
    server.fail("throttle", "PUT", "made.txt", times=2)
    assert vms.one.put(vms.file, digest).retries == 2
    vms.file.unlink()
    server.fail("throttle", "GET", "made.txt", times=1)
    server.fail("cut", "GET", "made.txt", times=1)
    assert vms.other.get(vms.file).retries == 2
    assert vms.file.read_bytes() == SOME


def test_a_storage_that_is_away_for_some_seconds_is_waited_for(vms: Vms, server: S3Server) -> None:
    digest = vms.stored()
    server.go_away(2.0)
    moved = vms.other.get(vms.file)
    assert moved.retries > 0
    assert digest_of(vms.file) == digest


def test_a_storage_that_stays_away_is_told_with_how_long_it_was_waited_for(tmp_path: Path) -> None:
    nobody = Place("b", "p", "http://127.0.0.1:9", "us-east-1", patience_s=0.5)
    with pytest.raises(StorageError, match=r"asked \d+ times in 0.5 s"):
        Storage(nobody, 1, _signed(nobody)).check()


def _signed(place: Place) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=place.endpoint,
        region_name=place.region,
        aws_access_key_id="a",
        aws_secret_access_key="b",
    )


def test_what_is_damaged_on_its_way_is_fetched_again_and_refused_if_it_stays_so(
    vms: Vms, server: S3Server
) -> None:
    vms.stored()
    server.fail("corrupt", "GET", "made.txt", times=1)
    assert vms.other.get(vms.file).retries == 1
    assert vms.file.read_bytes() == SOME
    vms.file.unlink()
    server.fail("corrupt", "GET", "made.txt", times=9)
    with pytest.raises(Damaged, match="expected"):
        vms.other.get(vms.file)
    assert list(vms.file.parent.iterdir()) == []  # not even a part of it


def test_an_object_that_somebody_replaced_is_refused(vms: Vms, server: S3Server) -> None:
    digest = vms.stored()
    client(server).put_object(Bucket=BUCKET, Key=vms.one.key(vms.file), Body=b"other")
    with pytest.raises(Damaged, match="has none"):
        vms.other.get(vms.file)
    with pytest.raises(Damaged, match=digest):
        vms.other.get(vms.file, digest)


def test_an_object_that_is_gone_is_told_at_once(vms: Vms, server: S3Server) -> None:
    vms.stored()
    client(server).delete_object(Bucket=BUCKET, Key=vms.one.key(vms.file))
    server.calls()
    with pytest.raises(Gone, match="it is not there"):
        vms.other.get(vms.file)
    assert len(server.calls()) == 1
    server.fail("forbid", "GET", "made.txt")
    with pytest.raises(StorageError, match="AccessDenied"):
        vms.other.get(vms.file)


def test_a_bucket_that_does_not_exist_is_told_before_anything_depends_on_it(place: Place) -> None:
    elsewhere = Place("nowhere", "", place.endpoint, "us-east-1", 1.0)
    with pytest.raises(Gone):
        Storage(elsewhere, 1).check()
    Storage(place, 1).check()


def test_a_large_file_goes_in_parts_and_appears_when_all_are_there(
    vms: Vms, server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3, "IN_PARTS_BYTES", 5 << 20)  # S3 takes no smaller ones
    data = os.urandom((5 << 20) + 77)
    digest = vms.made(data)
    with pytest.raises(Damaged, match="changed while it was stored"):
        vms.one.put(vms.file, hashlib.sha256(b"").hexdigest())
    with pytest.raises(Gone):
        vms.other.get(vms.file.with_name("made.txt.none"))
    assert _keys(server, vms) == []
    assert vms.one.put(vms.file, digest).size_bytes == len(data)
    vms.file.unlink()
    vms.other.get(vms.file)
    assert vms.file.read_bytes() == data


def _keys(server: S3Server, vms: Vms) -> list[str]:
    prefix = f"experiments/run-{vms.run}"
    listed = client(server).list_objects_v2(Bucket=BUCKET, Prefix=prefix)
    return [each["Key"] for each in listed.get("Contents", ())]


@pytest.mark.parametrize(
    "url",
    [
        "http://bucket/prefix",
        "s3:///prefix",
        "s3://key:secret@bucket/prefix",
        "s3://bucket/p?endpoint=http://me:secret@host",
        "s3://bucket/p?patience_s=soon",
        "s3://bucket/p?speed=1",
    ],
)
def test_a_place_that_is_not_understood_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(UsageError, match="s3://BUCKET/PREFIX") as refused:
        parse(url)
    assert "secret" not in str(refused.value)


# --- the process that carries ---------------------------------------------------------------------


@pytest.fixture
def porter(place: Place, vms: Vms, tmp_path: Path) -> Iterator[Porter]:
    url = f"{place.url}?endpoint={place.endpoint}&region=us-east-1"
    words = (sys.executable, "-m", "provisioning.porter", url, vms.run)
    made = Porter(words, str(tmp_path), program_environment())
    yield made
    made.close()


def delivered(porter: Porter) -> Delivery:
    def look() -> list[Delivery]:
        select.select([porter], [], [], 1.0)
        return porter.deliveries()

    (only,) = eventually(look, "a delivery")
    return only


def test_files_are_carried_with_what_it_took(porter: Porter, vms: Vms, server: S3Server) -> None:
    digest = vms.made()
    assert porter.pids == set()  # nothing is started for nothing
    number = porter.send(Way.UPLOAD, (Parcel(str(vms.file), digest),))
    sent = delivered(porter)
    assert (sent.number, sent.error) == (number, "")
    assert (sent.transfer.files, sent.transfer.size_bytes) == (1, len(SOME))
    assert sent.transfer.seconds > 0
    vms.file.unlink()
    server.fail("throttle", "GET", "made.txt", times=1)
    porter.send(Way.FETCH, (Parcel(str(vms.file)),))
    assert delivered(porter).transfer.retries == 1
    missing = vms.file.with_name("missing")
    porter.send(Way.FETCH, (Parcel(str(vms.file)), Parcel(str(missing))))
    told = delivered(porter)
    assert (told.transfer.files, told.transfer.cached) == (1, 1)
    assert str(missing) in told.error
    assert "it is not there" in told.error


def test_an_upload_that_is_killed_half_way_leaves_nothing_and_is_done_again(
    porter: Porter, vms: Vms, server: S3Server
) -> None:
    digest = vms.made(os.urandom(48 << 20))
    server.fail("slow", "PUT", "made.txt")
    server.calls()
    porter.send(Way.UPLOAD, (Parcel(str(vms.file), digest),))
    eventually(lambda: any(each.startswith("PUT") for each in server.calls()), "the upload")
    (pid,) = porter.pids
    os.kill(pid, signal.SIGKILL)
    assert _keys(server, vms) == []
    sent = delivered(porter)
    assert sent.error == ""
    assert porter.pids not in (set(), {pid})
    vms.file.unlink()
    vms.other.get(vms.file, digest)


def test_a_porter_that_always_dies_is_given_up(tmp_path: Path) -> None:
    mortal = Porter((sys.executable, "-c", "0"), str(tmp_path), program_environment())
    mortal.send(Way.FETCH, (Parcel(str(tmp_path / "x")),))
    assert f"died {MOST_DEATHS} times" in delivered(mortal).error
    mortal.close()


# --- a VM's programs ------------------------------------------------------------------------------


@pytest.fixture
def carriage(place: Place, vms: Vms, tmp_path: Path) -> Iterator[Carriage]:
    """One slot, and an activity that copies the file of its tuple."""
    url = f"{place.url}?endpoint={place.endpoint}&region=us-east-1"
    given = Relation("given", (Field("IN", FieldType.FILE),))
    made = Relation("made", (Field("OUT", FieldType.FILE),))
    program = tmp_path / "copy.sh"
    program.write_text('cp "$1" out.txt\nprintf "OUT\\nout.txt\\n" > ERelation.txt\n')
    copy = Activity("copy", Operator.MAP, f"sh {program} %=IN%", given, made)
    words = (sys.executable, "-m", "provisioning.porter", url, vms.run)
    here = str(tmp_path)
    welcome = Welcome("vm-1", here, here, here, (copy,), porter=words)
    made_here = Carriage(Runner(welcome), welcome)
    yield made_here
    made_here.kill_all()
    while made_here.busy:
        made_here.wait(0.1)


def order(vms: Vms, id: int) -> Start:
    return Start("vm-1", id, 1, "copy", f"copy/{id}", ((str(vms.file),),))


def ended(carriage: Carriage) -> AttemptEnded:
    (only,) = eventually(lambda: carriage.wait(0.1), "an attempt to end")
    return only


def test_a_result_is_told_when_its_files_are_in_the_storage(
    carriage: Carriage, vms: Vms, server: S3Server
) -> None:
    vms.stored()
    carriage.start(order(vms, 1))
    assert [each.activation for each in carriage.granted] == [1]  # though it is still coming
    attempt = ended(carriage)
    assert attempt.cause is Cause.FINISHED, attempt
    assert [(each.way, each.size_bytes) for each in attempt.transfers] == [
        (Way.FETCH, len(SOME)),
        (Way.UPLOAD, len(SOME)),
    ]
    assert [key for key in _keys(server, vms) if key.endswith("copy/1/out.txt")]
    assert carriage.granted == []


def test_what_cannot_be_stored_is_no_result(carriage: Carriage, vms: Vms, server: S3Server) -> None:
    vms.stored()
    server.fail("forbid", "PUT", "out.txt")
    carriage.start(order(vms, 1))
    attempt = ended(carriage)
    assert (attempt.cause, attempt.rows, attempt.files) == (Cause.NO_DATA, (), ())
    assert "could not be stored" in attempt.stderr_tail
    assert "AccessDenied" in attempt.stderr_tail


def test_what_waits_for_its_files_can_be_cancelled(
    carriage: Carriage, vms: Vms, server: S3Server
) -> None:
    vms.stored()
    server.go_away(3.0)
    carriage.start(order(vms, 1))
    carriage.cancel(1, 1)
    assert ended(carriage).cause is Cause.CANCELLED
    carriage.start(order(vms, 2))  # and the next one has its files when the storage is back
    assert ended(carriage).cause is Cause.FINISHED


def test_only_who_carries_files_knows_of_boto3() -> None:
    code = f"import {Keeper.__module__}, sys; sys.exit('boto3' in sys.modules)"
    assert os.spawnl(os.P_WAIT, sys.executable, sys.executable, "-c", code) == 0
