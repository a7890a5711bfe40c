"""One host made of Linux namespaces: its cable, its sshd, its processes. Needs root.

A host is a directory: whoever finds it knows what was made, and can remove it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from provisioning.provider import ProviderError

OWN = "/tmp/scicumulus-host"  # on a host, and not shared: what would be in a home directory
_UP_S = 20.0
_TOOLS = ("ip", "unshare", "mount", "ssh-keygen", "sshd")
_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"  # sshd is no user's program
_SSHD = """\
Port 22
ListenAddress {address}
HostKey {directory}/host_key
AuthorizedKeysFile {cluster}/authorized_keys {own}/authorized_keys
# The directory may be below /tmp, which everybody may write to.
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
PidFile none
ClientAliveInterval 5
ClientAliveCountMax 2
MaxStartups 100
Subsystem sftp internal-sftp
"""


def why_not() -> str:
    """What keeps this computer from making such hosts; empty: nothing."""
    if os.geteuid() != 0:
        return "namespaces need root"
    missing = [tool for tool in _TOOLS if _tool(tool) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (Debian: iproute2, util-linux, openssh-server)"
    tried = subprocess.run(
        [
            *("unshare", "--net", "--mount", "--pid", "--uts", "--ipc", "--fork", "--mount-proc"),
            *("sh", "-c", "ip link add scprobe type bridge && mount -t tmpfs tmpfs /dev/shm"),
        ],
        env={**os.environ, "PATH": _PATH},
        capture_output=True,
        text=True,
        check=False,
    )
    return f"the kernel does not allow it: {tried.stderr.strip()}" if tried.returncode else ""


@dataclass(frozen=True, slots=True)
class NetnsHost:
    id: str  # of its network namespace
    name: str  # what it calls itself
    directory: Path  # everything that it has
    bridge: str
    cable: str  # the bridge's end of it
    address: str

    # --- making it -------------------------------------------------------------------------------

    def make(self, shared: Iterable[Path]) -> None:
        """Its directory is there, with a lease in it. `shared`: below /tmp, seen by it as well."""
        key = self.directory / "host_key"
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(key))
        places = {"directory": self.directory, "cluster": self.directory.parent, "own": OWN}
        settings = _SSHD.format(address=self.address, **places)
        (self.directory / "sshd_config").write_text(settings)
        (self.directory / "tmp").mkdir()
        (self.directory / "tmp").chmod(0o1777)
        self._wire()
        self._boot(shared)

    def _wire(self) -> None:
        ip("netns", "add", self.id)
        ip("link", "add", self.cable, "type", "veth", "peer", "name", "eth0", "netns", self.id)
        ip("link", "set", self.cable, "master", self.bridge, "up")
        ip("-n", self.id, "addr", "add", f"{self.address}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            ip("-n", self.id, "link", "set", device, "up")

    def _boot(self, shared: Iterable[Path]) -> None:
        Path("/run/sshd").mkdir(exist_ok=True)
        binds = []
        for path in shared:
            inside = self.directory / "tmp" / path.relative_to("/tmp")
            inside.mkdir(parents=True, exist_ok=True)
            binds += ["mount", "--rbind", str(path), str(inside), "&&"]
        script = Path(__file__).with_name("netns_host.sh")
        first = ["exec", "sh", str(script), self.name, str(self.directory), _tool("sshd") or "sshd"]
        words = [
            *("ip", "netns", "exec", self.id, "unshare", "--mount", "--pid", "--uts"),
            *("--ipc", "--fork", "--kill-child", "--mount-proc", "sh", "-c"),
            " ".join(word if word == "&&" else shlex.quote(word) for word in binds + first),
        ]
        null, log = os.devnull, str(self.directory / "boot.log")
        # Not subprocess: the host is nobody's child to wait for.
        pid = os.posix_spawnp(
            words[0],
            words,
            {"PATH": _PATH},  # what else is in ours, say a password, is none of a host's business
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, null, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, null, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, log, os.O_WRONLY | os.O_CREAT, 0o600),
            ],
            setsid=True,
        )
        write(self.directory / "process", f"{pid} {_started(pid)}")

    def await_sshd(self) -> None:
        deadline = time.monotonic() + _UP_S
        while not _listens(self.address):
            if not self.alive or time.monotonic() > deadline:
                logs = [self.directory / "boot.log", self.directory / "sshd.log"]
                said = " ".join(log.read_text().strip() for log in logs if log.exists())
                raise ProviderError(f"host {self.name} does not come up: {said or 'no sshd'}")
            time.sleep(0.05)

    # --- what is there ---------------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        return self._first() is not None

    @property
    def public_keys(self) -> tuple[str, ...]:
        public = self.directory / "host_key.pub"
        return (public.read_text().strip(),) if public.exists() else ()

    @property
    def pids(self) -> set[int]:
        """Its processes, as they are numbered outside."""
        network = _inode(Path("/run/netns", self.id))
        return {
            int(entry.name)
            for entry in Path("/proc").glob("[0-9]*")
            if network and _inode(entry / "ns/net") == network
        }

    def _first(self) -> int | None:
        """The process with which all others end."""
        with suppress(OSError, ValueError):
            pid, started = (self.directory / "process").read_text().split()
            if _started(int(pid)) == started:
                return int(pid)
        return None

    # --- losing it -------------------------------------------------------------------------------

    def cut(self) -> None:
        """Pull the cable: nobody is told."""
        ip("link", "set", self.cable, "nomaster")

    def mend(self) -> None:
        ip("link", "set", self.cable, "master", self.bridge)

    def remove(self) -> None:
        """Whatever is left of it."""
        self._kill()
        if Path("/run/netns", self.id).exists():
            ip("netns", "del", self.id)
        if exists(self.cable):  # the kernel takes its time to see that the other end is gone
            with suppress(ProviderError):
                ip("link", "del", self.cable)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _kill(self) -> None:
        pid = self._first()
        if pid is None:
            return
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + _UP_S
        while (_started(pid) or self.pids) and time.monotonic() < deadline:
            time.sleep(0.01)
        with suppress(ChildProcessError):  # if it was us who made it
            os.waitpid(pid, os.WNOHANG)


# --- the system ---------------------------------------------------------------------------------


def exists(device: str) -> bool:
    return Path("/sys/class/net", device).exists()


def ip(*words: str) -> None:
    run("ip", *words)


def run(*words: str) -> None:
    done = subprocess.run(
        words, env={**os.environ, "PATH": _PATH}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ProviderError(f"{' '.join(words)}: {done.stderr.strip() or done.returncode}")


def write(path: Path, text: str) -> None:
    """Whole or not at all."""
    draft = path.with_name(f".{path.name}")
    draft.write_text(text)
    draft.replace(path)


def _tool(name: str) -> str | None:
    return shutil.which(name, path=_PATH)


def _started(pid: int) -> str:
    """When the process began, in the kernel's ticks; empty if it is gone: numbers come again."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0  # gone meanwhile; no namespace has this number


def _listens(address: str) -> bool:
    try:
        with socket.create_connection((address, 22), timeout=1):
            return True
    except OSError:
        return False
