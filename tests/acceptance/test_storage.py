"""Hosts that share no directory: their files are handed over in S3, which is not always well."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import boto3
import pytest
from psycopg.conninfo import conninfo_to_dict

from provisioning.catalog import CATALOG
from tests.acceptance.console import SCICUMULUS, Said, finish
from tests.acceptance.metadata_stand_in import metadata_of
from tests.acceptance.site import GATE, Site, attempts, rented, until
from tests.acceptance.workflows import Step, write_workflow
from tests.hosts import needs_hosts
from tests.integration.s3_stand_in import S3Server, serving_s3

pytestmark = needs_hosts

FLEET = "1xt2.micro,1xt2.medium"
BUCKET = "experiments"
COUNTED = ("files", "cached", "size_bytes", "seconds", "retries")
CALLER = "c4nary+secret/of/the/caller"
ROLE = "c4nary+secret/of/the/role"
HALF_BYTES = 1_000_000  # as little as says something about the speed of the network
# Each reads a file that another activity, or the user, has made, and makes one.
HALVE = (
    f'sleep 0.3\nhead -c {HALF_BYTES} "$2" > half.bin\n'
    'printf "ID;HALF\\n%s;half.bin\\n" "$1" > ERelation.txt\n'
)
JOIN = (
    'tail -n +2 halve_out.hfrag | cut -d ";" -f 3 | sort | xargs cat > all.bin\n'
    'printf "ALL\\nall.bin\\n" > ERelation.txt\n'
)


@pytest.fixture(scope="module")
def site(home: Path) -> Iterator[Site]:
    account = {"AWS_ACCESS_KEY_ID": "AKIACALLER", "AWS_SECRET_ACCESS_KEY": CALLER}
    nothing = {"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}
    extra = {**account, **nothing, "AWS_DEFAULT_REGION": "us-east-1"}
    with ExitStack() as stack:
        made = stack.enter_context(rented(home, FLEET, "stored", **extra))
        role = made.directory / "metadata"
        role.mkdir()
        (role / "credentials").write_text(_credentials())
        for vm in made.machines():
            stack.enter_context(metadata_of(made.host(vm), role))
        made.say("cluster", "configure", made.name)
        yield made


@pytest.fixture(scope="module")
def server(site: Site) -> Iterator[S3Server]:
    """Where the hosts reach it, and nobody else."""
    address = next(iter(site.machines().values())).address.rpartition(".")[0] + ".1"
    with serving_s3(address) as found:
        s3(found).create_bucket(Bucket=BUCKET)
        yield found


def _credentials() -> str:
    """As an instance gets them from its profile."""
    key = {"AccessKeyId": "ASIAROLE", "SecretAccessKey": ROLE, "Token": "t0ken"}
    lives = {"Code": "Success", "Type": "AWS-HMAC", "Expiration": "2099-01-01T00:00:00Z"}
    return json.dumps({**key, **lives, "LastUpdated": "2026-01-01T00:00:00Z"})


def s3(server: S3Server) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=server.url,
        region_name="us-east-1",
        aws_access_key_id="AKIATEST",
        aws_secret_access_key="none",
    )


def url(server: S3Server) -> str:
    return f"s3://{BUCKET}/halves?endpoint={server.url}&region=us-east-1&patience_s=60"


def halves(directory: Path, count: int, program: str = HALVE, max_failure: int = 1) -> Path:
    """Files of twice HALF_BYTES are halved, and the halves joined."""
    steps = [
        Step("halve", program, takes=("ID", "WHOLE"), gives=("ID", "SET", "HALF")),
        Step("join", JOIN, ("SET",), ("ALL",), after="halve", operator="REDUCE", operand="SET"),
    ]
    wholes = [(str(number), "one", f"{directory}/input/{number}.bin") for number in range(count)]
    spec = write_workflow(directory, steps, wholes, ("ID", "SET", "WHOLE"), max_failure=max_failure)
    text = spec.read_text()
    for name in ("WHOLE", "HALF", "ALL"):
        text = text.replace(f'name="{name}" type="string"', f'name="{name}" type="file"')
    spec.write_text(text)
    (directory / "input").mkdir()
    for number in range(count):
        (directory / f"input/{number}.bin").write_bytes(bytes([65 + number]) * 2 * HALF_BYTES)
    return spec


def test_files_are_handed_over_between_hosts_though_the_storage_has_its_moods(
    site: Site, server: S3Server
) -> None:
    spec = halves(site.directory / "moody", 8)
    server.fail("throttle", "PUT", "half.bin", times=2)
    server.fail("throttle", "GET", "input", times=2)
    server.fail("corrupt", "GET", "half.bin", times=1)
    words = ("--cluster", site.name, "--storage", url(server), "--algorithm", "heft", "--json")
    running = site.console.start(SCICUMULUS, "run", spec, *words)
    stored = "SELECT count(*) FROM transfer JOIN run USING (run_id) WHERE directory LIKE %s"
    place = f"{spec.parent}/%"
    until(
        lambda: running.poll() is not None or site.console.rows(stored, place)[0][0] > 2,
        "the first files to be moved",
    )
    server.go_away(3.0)
    said = finish(running)
    assert said.code == 0, said
    run = said.document["run_id"]
    seen = attempts(site, run)
    assert [cause for _, _, _, cause, _, _ in seen] == ["finished"] * 9
    assert {vm for _, _, vm, _, _, _ in seen} == {"t2.micro-1", "t2.medium-1"}

    # What was moved, what was there, and how long it took, is known.
    moved = _added(site.console.query("transfers", run))
    assert moved["halve", "fetch"]["size_bytes"] == 16 * HALF_BYTES
    assert moved["halve", "upload"]["size_bytes"] == 8 * HALF_BYTES
    joined_on = seen[-1][2]
    there = sum(vm == joined_on for name, _, vm, _, _, _ in seen if name.startswith("halve."))
    assert moved["join", "fetch"]["files"] == 8
    assert moved["join", "fetch"]["cached"] == there
    assert moved["join", "fetch"]["size_bytes"] == (8 - there) * HALF_BYTES
    assert sum(row["retries"] for row in moved.values()) >= 5
    assert all(row["seconds"] > 0 for row in moved.values())
    # The next plan counts on the speeds that were measured, where there are enough of them: of 16
    # files on two VMs, one VM has moved at least 8.
    plan = site.say("plan", spec, "--fleet", FLEET, "--algorithm", "heft", "--json").document
    why = site.say("explain", "plan", str(plan["plan_id"]), "--json").document["bandwidths"]
    told = {each["vm_type"]: each for each in why}
    assert told.keys() == {"t2.micro", "t2.medium"}
    assert "transfers" in {each["source"] for each in why}
    for each in why:
        catalog = CATALOG[each["vm_type"]].bandwidth_mb_s
        measured = each["source"] == "transfers"
        assert (each["samples"] >= 8, each["mb_per_s"] != catalog) == (measured, measured)
    assert "network MB/s" in site.say("explain", "plan", str(plan["plan_id"])).out
    # A host has what it needed, and the caller nothing yet.
    for vm in site.machines():
        inputs = {
            f"{int(name[6:]) - 1}.bin"
            for name, _, at, *_ in seen
            if at == vm and name[:6] == "halve."
        }
        here = site.on_host(vm, spec.parent / "input")
        assert {file.name for file in here.iterdir()} == inputs
    result = Path(said.document["directory"], "join/1/all.bin")
    assert not result.exists()
    fetched = site.say("fetch", str(run), "--json").document
    assert fetched["unreachable"] == fetched["wrong"] == {}
    assert fetched["files"] == 9
    assert result.read_bytes() == b"".join(bytes([65 + number]) * HALF_BYTES for number in range(8))

    # What is damaged or gone is not taken for a result.
    half = Path(said.document["directory"], "halve/3/half.bin")
    half.write_bytes(b"changed at home")
    assert site.say("fetch", str(run), "--json").document["wrong"] == {}
    assert half.read_bytes() == b"C" * HALF_BYTES
    half.unlink()
    (key,) = [each for each in keys(server) if each.endswith(f"{run}{half}")]
    s3(server).delete_object(Bucket=BUCKET, Key=key)
    missing = site.console("fetch", str(run), "--json")
    assert missing.code == 3
    assert "it is not there" in missing.document["unreachable"][str(half)]


def keys(server: S3Server) -> list[str]:
    listed = s3(server).list_objects_v2(Bucket=BUCKET)
    return [each["Key"] for each in listed["Contents"]]


def _added(rows: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """By activity and way, over the VM types."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        into = found.setdefault((row["activity"], row["way"]), dict.fromkeys(COUNTED, 0))
        for name in COUNTED:
            into[name] += row[name]
    return found


def test_an_input_that_is_gone_fails_its_activation_alone_and_no_secret_is_on_the_hosts(
    site: Site, server: S3Server
) -> None:
    spec = halves(site.directory / "gone", 6, GATE + HALVE)
    words = ("--cluster", site.name, "--storage", url(server), "--algorithm", "heft", "--json")
    running = site.console.start(SCICUMULUS, "run", spec, *words)
    for vm in site.machines():
        until(site.on_host(vm, spec.parent / "bin/begun").exists, f"a program on {vm}")
    hosts = [site.host(vm) for vm in site.machines()]
    shown = {
        pid: b"\n".join(_read(Path(f"/proc/{pid}/{what}")) for what in ("cmdline", "environ"))
        for host in hosts
        for pid in host.pids
    }
    # One that no host has fetched yet.
    had = {
        f.name for vm in site.machines() for f in site.on_host(vm, spec.parent / "input").iterdir()
    }
    lost = sorted({f"{number}.bin" for number in range(6)} - had)[-1]
    (key,) = [each for each in keys(server) if each.endswith(f"gone/input/{lost}")]
    s3(server).delete_object(Bucket=BUCKET, Key=key)
    for vm in site.machines():
        site.on_host(vm, spec.parent / "bin/open").touch()
    said = finish(running)
    assert said.code == 1, said
    run = said.document["run_id"]
    assert (said.document["finished"], said.document["failed"]) == (5, 1)
    (why,) = site.console.rows(
        "SELECT stderr_tail FROM attempt WHERE run_id=%s AND cause='no data'", run
    )
    assert f"input/{lost}" in why[0]
    assert "it is not there" in why[0]

    key_body = "".join(
        (site.console.home / "clusters" / site.name / "id_ed25519").read_text().splitlines()[1:-1]
    )
    passwords = Path(str(conninfo_to_dict(site.console.url)["passfile"])).read_text()
    password = passwords.strip().rpartition(":")[2]
    secrets = [each.encode() for each in (CALLER, ROLE, key_body, "PRIVATE KEY", password)]
    assert any(b"provisioning.porter" in text for text in shown.values())
    _silent(secrets, "processes of the hosts", *shown.values())
    for host in hosts:
        for path in (host.directory / "tmp").rglob("*"):
            if path.is_file() and path.name != "id_ed25519":  # its own, made there
                _silent(secrets, str(path), _read(path))
    said_more = [site.console("report", str(run)), site.console("logs", str(run)), said]
    _silent(secrets, "messages", *(f"{each.out}{each.err}".encode() for each in said_more))
    for path in site.directory.rglob("*"):  # the run's directory and the report are below it
        if path.is_file() and path.name != "credentials":
            _silent(secrets, str(path), _read(path))
    dump = site.console.execute(_pg_dump(), "--dbname", site.console.url)
    assert str(run) in dump.out
    _silent(secrets, "database", dump.out.encode())


def _pg_dump() -> Path:
    from scicore.provenance.postgres_home import binary

    return Path(binary("pg_dump"))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # gone meanwhile


def _silent(secrets: list[bytes], where: str, *texts: bytes) -> None:
    assert [(where, secret) for secret in secrets for text in texts if secret in text] == []


def test_a_storage_that_cannot_be_used_is_told_before_anything_happens(
    site: Site, server: S3Server
) -> None:
    spec = halves(site.directory / "refused", 1)
    there = ("--cluster", site.name)

    def told(*words: str) -> Said:
        return site.console("run", spec, *words)

    here = told("--storage", url(server))
    assert (here.code, "share no directory" in here.err) == (2, True), here
    odd = told(*there, "--storage", "s3://key:secret@bucket")
    assert (odd.code, "secret" in odd.err) == (2, False), odd
    nowhere = told(*there, "--storage", url(server).replace(BUCKET, "nowhere"))
    assert (nowhere.code, "it is not there" in nowhere.err) == (3, True), nowhere
    assert hashlib.sha256(b"").hexdigest() not in nowhere.err
