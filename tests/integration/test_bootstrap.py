"""Hosts made ready over SSH, for real: namespaces with their own sshd, /tmp and keys."""

from __future__ import annotations

import json
import os
import sys
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import scicore
from provisioning.access import targets_of
from provisioning.bootstrap import Software, Unconfigured, Wanted, bake, configure
from provisioning.keys import ensure_key
from provisioning.netns import Netns
from provisioning.netns_host import OWN
from provisioning.provider import Cluster, LaunchRequest, MachineState
from provisioning.ssh import Impostor, SshError, Target, connect
from tests.hosts import needs_hosts

pytestmark = needs_hosts
KEYS = f"{OWN}/authorized_keys"
BUNDLE = "SCICUMULUS_TEST_WHEELS"
SOURCE = Path(scicore.__file__).parents[1]
NEEDED = "needed_by_us"
_WHAT_IS_THERE = f"""
import scicore, {NEEDED}
print(scicore.__version__, scicore.__file__, {NEEDED}.__file__, sep="\\n")
"""


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Target, ...]]:
    directory = tmp_path_factory.mktemp("bootstrap")
    shared = [Path(sys.prefix), Path(sys.base_prefix)]
    provider = Netns(directory / "netns", shared)
    key = ensure_key(directory / "key", "test")
    cluster = Cluster(f"boot-{os.getpid()}", "tester", key.public_key)
    until = datetime.now(UTC) + timedelta(minutes=30)
    provider.prepare(cluster, until)
    try:
        request = LaunchRequest("scicumulus-x", cluster, "t2.micro", ("a-1", "a-2"), until)
        machines = provider.launch(request)
        assert provider.launch(request) == machines, "the same token never launches twice"
        yield targets_of(provider, machines, key.private_file)
    finally:
        provider.terminate([machine.id for machine in provider.observe()])
        assert provider.dismantle(cluster.name, "tester")
        assert not (directory / "netns").exists()


def test_a_host_with_another_key_than_the_provider_reports_is_not_spoken_to(
    targets: tuple[Target, ...],
) -> None:
    first, second = targets
    with pytest.raises(Impostor, match=r"a-1 .* another host key than its provider reports"):
        connect(replace(first, host_keys=second.host_keys))
    with pytest.raises(SshError, match="does not report a host key"):
        connect(replace(first, host_keys=()))


def test_software_workflow_and_trust_are_there_and_what_was_baked_serves_others(
    targets: tuple[Target, ...], tmp_path: Path
) -> None:
    first, second = targets
    workflow = tmp_path / "my workflow"
    (workflow / "runs/1").mkdir(parents=True)
    (workflow / "bin").mkdir()
    (workflow / "bin/it's").write_text("data")
    from_wheels = Software("scicumulus", _bundle(tmp_path))
    said: list[str] = []
    configure(
        [first], Wanted(OWN, from_wheels, workflow=workflow, authorized_keys=KEYS), said.append
    )
    baked = tmp_path / "baked.tar.gz"
    bake(first, OWN, baked)
    from_baked = Software(baked=baked)
    configure(
        targets, Wanted(OWN, from_baked, workflow=workflow, authorized_keys=KEYS), said.append
    )
    assert {line.split()[0] for line in said} == {"a-1", "a-2"}
    for here, there in ((first, second), (second, first)):
        with connect(here) as session:
            python = f"{OWN}/venv/bin/python"
            said = session.run(python, "-c", _WHAT_IS_THERE).splitlines()
            place = f"{OWN}/venv/lib/"
            assert [path.startswith(place) for path in said[1:]] == [True, True], said
            assert said[0] == scicore.__version__
            assert session.run("cat", f"{workflow}/bin/it's") == "data"
            assert session.try_to("test", "-e", f"{workflow}/runs").code == 1
            # Strictly, with keys and known hosts that were put there:
            hop = session.run("ssh", "-F", f"{OWN}/ssh/config", there.address, "hostname")
            assert hop.strip() == there.vm
            modes = session.run("stat", "-c", "%a", OWN, f"{OWN}/ssh/id_ed25519")
            assert modes.split() == ["700", "600"]
            before = session.run("stat", "-c", "%i %Y", python, f"{OWN}/authorized_keys")
    # Once more: what is there is left alone.
    configure(targets, Wanted(OWN, from_baked, workflow=None, authorized_keys=KEYS), said.append)
    with connect(second) as session:
        after = session.run("stat", "-c", "%i %Y", python, f"{OWN}/authorized_keys")
    assert after == before


def test_what_is_not_among_the_wheels_is_not_looked_for_elsewhere(
    targets: tuple[Target, ...], tmp_path: Path
) -> None:
    first, _ = targets
    ours, _ = _bundle(tmp_path)
    wanted = Wanted(f"{OWN}-half", Software("scicumulus", (ours,)), authorized_keys=KEYS)
    with pytest.raises(
        Unconfigured, match=f"(?s)a-1 .*No matching distribution found for {NEEDED}"
    ):
        configure([first], wanted, print)
    with connect(first) as session:  # it is not taken for one that is ready
        assert session.try_to("test", "-e", f"{wanted.directory}/ready").code == 1


@pytest.mark.skipif(
    not os.environ.get(BUNDLE),
    reason=f"takes minutes: {BUNDLE} names what `pip wheel -c constraints.txt -w DIR .` has filled",
)
def test_the_package_itself_is_installed_from_a_bundle_of_wheels_and_runs_a_workflow(
    targets: tuple[Target, ...],
) -> None:
    first, _ = targets
    wheels = tuple(sorted(Path(os.environ[BUNDLE]).glob("*.whl")))
    place = f"{OWN}-whole"
    configure([first], Wanted(place, Software("scicumulus", wheels), authorized_keys=KEYS), print)
    with connect(first) as session:
        program = f"{place}/venv/bin/scicumulus"
        where = ("env", f"SCICUMULUS_HOME={place}/home")
        session.run("mkdir", "-p", f"{place}/home")
        session.run("chmod", "755", place, f"{place}/home")
        session.run(*where, program, "init", f"{place}/first")
        spec = f"{place}/first/workflow.xml"
        said = session.run(*where, program, "run", spec, "--fleet", "1xlocal", "--json")
        session.run(*where, program, "db", "stop")
    assert json.loads(said)["state"] == "finished"


def test_a_host_that_cannot_be_configured_is_named_and_the_others_are_ready(
    targets: tuple[Target, ...],
) -> None:
    first, second = targets
    impostor = replace(second, host_keys=first.host_keys)
    with pytest.raises(Unconfigured) as caught:
        configure([first, impostor], Wanted(OWN, None, workflow=None, authorized_keys=KEYS), print)
    assert list(caught.value.failures) == ["a-2"]
    assert "another host key" in caught.value.message
    with pytest.raises(Unconfigured, match=r"a-1 .*failed \(exit code 1\): mkdir: "):
        configure(
            [first], Wanted("/proc/nowhere", None, workflow=None, authorized_keys=KEYS), print
        )


def test_a_host_ends_itself_when_its_lease_is_over(tmp_path: Path) -> None:
    provider = Netns(tmp_path / "netns")
    cluster = Cluster(f"lease-{os.getpid()}", "tester", "ssh-ed25519 AAAA none")
    soon = datetime.now(UTC) + timedelta(seconds=3)
    provider.prepare(cluster, soon)
    try:
        (machine,) = provider.launch(LaunchRequest("scicumulus-y", cluster, "x", ("x-1",), soon))
        host = provider.host(machine)
        deadline = time.monotonic() + 60
        while host.pids and time.monotonic() < deadline:
            time.sleep(0.2)
        assert [each.state for each in provider.observe()] == [MachineState.ENDED]
        assert host.pids == set()
        assert [remnant.owner for remnant in provider.remnants()] == ["tester"]
        provider.dismantle(cluster.name, "somebody else")
        assert provider.remnants(), "only its owner may remove it"
    finally:
        provider.terminate([each.id for each in provider.observe()])
        assert provider.dismantle(cluster.name, "tester")


def _bundle(directory: Path) -> tuple[Path, Path]:
    """Our package as it is here, and a small one in place of all that it needs, which would take
    a minute to install. A wheel is a zip with some lines about itself."""
    ours = {
        str(file.relative_to(SOURCE)): file.read_bytes()
        for package in ("scicore", "provisioning")
        for file in sorted((SOURCE / package).rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    }
    needed = {f"{NEEDED}.py": b""}
    return (
        _wheel(directory, "scicumulus", scicore.__version__, ours, NEEDED),
        _wheel(directory, NEEDED, "1", needed),
    )


def _wheel(
    directory: Path, name: str, version: str, files: dict[str, bytes], needs: str = ""
) -> Path:
    info = f"{name}-{version}.dist-info"
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    about += f"Requires-Dist: {needs}\n" if needs else ""
    path = directory / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for file, content in files.items():
            wheel.writestr(file, content)
        wheel.writestr(f"{info}/METADATA", about)
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return path
