"""From bare hosts to hosts on which a run can be started: all at once, over verified SSH.

Each gets the package (from an index, from wheels that we bring, or from what was baked on another
host), the workflow's directory, and the trust that an mpirun on any of them needs. What is there
already is left: configuring again costs a second.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from provisioning.ssh import Session, SshError, Target, connect, known_hosts
from scicore.errors import ScicumulusError

AT_ONCE = 16
LEAST_PYTHON = (3, 11)
NOT_SENT = ("runs", ".venv", "__pycache__", ".git")  # of the workflow's directory
_READY = "ready"  # in the directory: which software is installed
# A command is a way there and back, so each does one thing whole. Values are arguments.
_OWN_KEY = """set -eu
umask 077
mkdir -p "$1/ssh"
tar -xf - -C "$1/ssh"
[ -e "$1/ssh/id_ed25519" ] ||
    ssh-keygen -q -t ed25519 -N "" -C scicumulus -f "$1/ssh/id_ed25519" >&2
cat "$1/ssh/id_ed25519.pub"
"""
# An empty directory, where there is none, or one that was made by this very script.
_ROOM = """set -eu
if [ -e "$1" ] && [ ! -e "$1/$2" ]; then echo "$1 is there, and not ours" >&2; exit 1; fi
rm -rf "$1"
if ! mkdir -p "$1" 2> /dev/null; then
    sudo -n mkdir -p "$1"
    sudo -n chown "$(id -u):$(id -g)" "$1"
fi
: > "$1/$2"
"""
_OURS = ".scicumulus"
_UNPACK = 'mkdir -p "$1" && tar -xzf - -C "$1"'
_ADMIT = """set -eu
umask 077
mkdir -p "$(dirname "$1")"
[ -e "$1" ] || : > "$1"
while read -r key; do grep -qxF -e "$key" "$1" || printf '%s\\n' "$key" >> "$1"; done
"""
_CONFIG = """\
Host *
IdentityFile {directory}/ssh/id_ed25519
IdentitiesOnly yes
UserKnownHostsFile {directory}/ssh/known_hosts
StrictHostKeyChecking yes
BatchMode yes
"""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Software:
    """What is installed, and from where: wheels, or a baked directory, or (neither) an index."""

    requirement: str = "scicumulus"  # as pip takes it
    wheels: tuple[Path, ...] = ()  # all that is needed: then no index is asked
    version: str = ""  # an environment that has this version is left as it is
    baked: Path | None = None  # made by `bake`

    @property
    def digest(self) -> str:
        """Changes whenever something else would be installed."""
        found = hashlib.sha256(self.requirement.encode())
        for file in (*sorted(self.wheels), *((self.baked,) if self.baked else ())):
            found.update(f"{file.name} {file.stat().st_size}\0".encode())
            found.update(file.read_bytes())
        return found.hexdigest()


@dataclass(frozen=True, slots=True)
class Wanted:
    """How every host should be."""

    directory: str = ".scicumulus"  # on the hosts, below the home of who logs in: keys, settings
    software: Software | None = None  # None: it is there (an image, a shared file system)
    environment: str = ""  # absolute; where it is installed; default: `venv` in the directory
    workflow: Path | None = None  # absolute; it gets the same path there
    authorized_keys: str = ".ssh/authorized_keys"  # of the user who logs in
    fetched: frozenset[Path] = frozenset()  # of the workflow; they come another way


class Unconfigured(ScicumulusError):
    """Some hosts could not be configured: a line for each."""

    def __init__(self, failures: dict[str, str], hosts: int) -> None:
        listing = "\n".join(f"  {why}" for why in failures.values())
        super().__init__(
            f"{len(failures)} of {hosts} hosts could not be configured:\n{listing}",
            "mend these, or end them, and configure again: the others are ready",
        )
        self.failures = failures  # by VM


def configure(targets: Sequence[Target], wanted: Wanted, say: Say) -> None:
    """All hosts, in parallel; those that fail do not keep the others from being made ready."""
    workflow = _packed(wanted.workflow, wanted.fetched) if wanted.workflow else b""
    failures: dict[str, str] = {}
    publics: dict[str, str] = {}

    def one(target: Target) -> None:
        try:
            with connect(target) as session:
                publics[target.vm] = _prepare(session, wanted, workflow, targets)
            say(f"{target.vm} ({target.address}) is ready")
        except SshError as error:
            failures[target.vm] = str(error)
            say(f"{target.vm} ({target.address}) failed")

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(one, targets))
    good = [target for target in targets if target.vm not in failures]
    keys = "".join(f"{publics[target.vm]}\n" for target in good)

    def admit(target: Target) -> None:
        try:
            with connect(target) as session:
                _admit(session, wanted.authorized_keys, keys)
        except SshError as error:
            failures[target.vm] = str(error)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(admit, good))
    if failures:
        raise Unconfigured(failures, len(targets))


def _prepare(session: Session, wanted: Wanted, workflow: bytes, all: Sequence[Target]) -> str:
    """Returns the host's public key, by which it will be known to the others."""
    directory = wanted.directory
    files = {
        "known_hosts": known_hosts(all).encode(),
        "config": _CONFIG.format(directory=_for_ssh(directory)).encode(),
    }
    public = session.run("sh", "-c", _OWN_KEY, "sh", directory, stdin=_archive(files))
    if wanted.software is not None:
        environment = wanted.environment or f"{directory}/venv"
        _install(session, directory, environment, wanted.software)
    if wanted.workflow is not None:
        # Over what is there: runs of earlier times stay.
        session.run("sh", "-c", _UNPACK, "sh", str(wanted.workflow), stdin=workflow)
    return public.strip()


def _for_ssh(directory: str) -> str:
    return directory if directory.startswith("/") else f"~/{directory}"


def _admit(session: Session, file: str, keys: str) -> None:
    session.run("sh", "-c", _ADMIT, "sh", file, stdin=keys.encode())


def _archive(files: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o600
            archive.addfile(member, io.BytesIO(content))
    return data.getvalue()


# --- software -----------------------------------------------------------------------------------


def _install(session: Session, directory: str, environment: str, software: Software) -> None:
    digest = software.digest
    if session.try_to("cat", f"{directory}/{_READY}").out == digest:
        return
    if software.version and _version(session, environment) == software.version:
        return
    # Never over what somebody else has put there.
    session.run("sh", "-c", _ROOM, "sh", environment, _OURS)
    if software.baked is not None:
        session.put(software.baked.read_bytes(), f"{directory}/baked.tar.gz")
        session.run("tar", "-xzf", f"{directory}/baked.tar.gz", "-C", environment)
        session.run("rm", f"{directory}/baked.tar.gz")
    else:
        session.run(_python(session), "-m", "venv", environment)
        words = [f"{environment}/bin/python", "-m", "pip", "install", "--quiet"]
        if software.wheels:
            session.run("rm", "-rf", f"{directory}/wheels")  # others would be found there, too
            session.run("mkdir", f"{directory}/wheels")
            for wheel in software.wheels:
                session.put(wheel.read_bytes(), f"{directory}/wheels/{wheel.name}")
            # Whatever the host's own settings say: these wheels, and no others.
            words += ["--isolated", "--no-index", "--find-links", f"{directory}/wheels"]
        session.run(*words, software.requirement)
    session.run(f"{environment}/bin/python", "-c", "import scicore")
    session.put(digest.encode(), f"{directory}/{_READY}")


def _version(session: Session, environment: str) -> str:
    code = "import scicore; print(scicore.__version__)"
    return session.try_to(f"{environment}/bin/python", "-c", code).out.strip()


def _python(session: Session) -> str:
    """A Python on the host that is new enough."""
    found = []
    for name in ("python3", "python3.13", "python3.12", "python3.11"):
        answer = session.try_to(name, "-c", "import sys; print(*sys.version_info[:2])")
        if answer.code == 0:
            version = tuple(map(int, answer.out.split()))
            if version >= LEAST_PYTHON:
                return name
            found.append(".".join(map(str, version)))
    least = ".".join(map(str, LEAST_PYTHON))
    raise SshError(
        f"{session.target.vm} ({session.target.address}): found Python "
        f"{', '.join(found) or 'nowhere'}, expected {least} or newer",
        f"choose an image that has it, or install python{least} and python{least}-venv",
    )


def bake(target: Target, directory: str, file: Path, environment: str = "") -> None:
    """What was installed on a host, as a file from which others are made ready in seconds.

    They must be of the same kind (processor, system), and have it in the same place.
    """
    with connect(target) as session:
        packed = f"{directory}/baking.tar.gz"
        session.run("tar", "-czf", packed, "-C", environment or f"{directory}/venv", ".")
        try:
            data = session.get(packed)
        finally:
            session.run("rm", "-f", packed)
    draft = file.with_name(f".{file.name}.part")
    draft.write_bytes(data)
    draft.replace(file)


# --- the workflow -------------------------------------------------------------------------------


def _packed(directory: Path, fetched: frozenset[Path]) -> bytes:
    def chosen(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        left_out = any(part in NOT_SENT for part in Path(member.name).parts)
        return None if left_out or directory / member.name in fetched else member

    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        archive.add(directory, arcname=".", filter=chosen)
    return data.getvalue()
