"""SSH to one host: the only file that imports paramiko.

A host is spoken to only if it shows the key that its provider reported; nothing is learned from
the network, and nobody is asked for a password.
"""

from __future__ import annotations

import hashlib
import io
import shlex
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import paramiko
from paramiko.hostkeys import HostKeyEntry

from scicore.errors import ScicumulusError

CONNECT_S = 10.0
COMMAND_S = 600.0
RETRIES = 5  # a host that has just booted may not listen yet
FIRST_PAUSE_S = 0.5  # doubled from one try to the next
_CHUNK = 1 << 18
# Takes a draft's place, if it is what was sent.
_MOVE = '[ "$(sha256sum < "$1")" = "$3  -" ] && mv "$1" "$2"'
_TAIL = 2000  # letters of stderr that an error quotes


class SshError(ScicumulusError):
    """One host, and what is wrong with it."""


class Impostor(SshError):
    """Whoever answers there is not the host that the provider has launched."""


@dataclass(frozen=True, slots=True)
class Target:
    vm: str
    address: str
    user: str
    host_keys: tuple[str, ...]  # as the provider reports them: `ssh-ed25519 AAAA…`
    identity: Path  # private key
    port: int = 22

    @property
    def known_as(self) -> str:
        """As in a known_hosts file."""
        return self.address if self.port == 22 else f"[{self.address}]:{self.port}"


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    out: str
    err: str


class Session:
    def __init__(self, target: Target, client: paramiko.SSHClient) -> None:
        self.target = target
        self._client = client

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def try_to(self, *words: str, stdin: bytes = b"") -> Answer:
        """Run a command; its words reach it as they are, whatever they contain."""
        try:
            channel = self._transport().open_session(timeout=CONNECT_S)
            channel.settimeout(COMMAND_S)
            channel.exec_command(shlex.join(words))
            if stdin:
                channel.sendall(stdin)
            channel.shutdown_write()
            # Both streams at once: a command that fills one of them must not wait for us.
            channel.set_combine_stderr(False)
            out, err = _drain(channel)
            return Answer(channel.recv_exit_status(), out, err)
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise SshError(
                f"{self._name}: the line broke during `{words[0]}`: {_why(error)}"
            ) from error

    def run(self, *words: str, stdin: bytes = b"") -> str:
        """Its output; a command that fails is an error."""
        answer = self.try_to(*words, stdin=stdin)
        if answer.code:
            said = answer.err.strip()[-_TAIL:] or "it said nothing"
            raise SshError(f"{self._name}: `{words[0]}` failed (exit code {answer.code}): {said}")
        return answer.out

    def put(self, data: bytes, path: str, mode: int = 0o600) -> None:
        """A file, whole or not at all, and as it left here."""
        digest = hashlib.sha256(data).hexdigest()
        draft = f"{path}.{digest[:12]}.part"
        try:
            with paramiko.SFTPClient.from_transport(self._transport()) as sftp:  # type: ignore[union-attr]
                sftp.putfo(io.BytesIO(data), draft, file_size=len(data))
                sftp.chmod(draft, mode)
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise SshError(f"{self._name}: {path} cannot be written: {_why(error)}") from error
        moved = self.try_to("sh", "-c", _MOVE, "sh", draft, path, digest)
        if moved.code:
            raise SshError(f"{self._name}: {path} arrived damaged", "try again")

    def get(self, path: str) -> bytes:
        expected = self.run("sha256sum", path).split()[0]
        data = io.BytesIO()
        try:
            with paramiko.SFTPClient.from_transport(self._transport()) as sftp:  # type: ignore[union-attr]
                sftp.getfo(path, data)
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise SshError(f"{self._name}: {path} cannot be read: {_why(error)}") from error
        if hashlib.sha256(data.getvalue()).hexdigest() != expected:
            raise SshError(f"{self._name}: {path} arrived damaged", "try again")
        return data.getvalue()

    @property
    def _name(self) -> str:
        return f"{self.target.vm} ({self.target.address})"

    def _transport(self) -> paramiko.Transport:
        transport = self._client.get_transport()
        if transport is None or not transport.is_active():
            raise SshError(f"{self._name}: the line is closed")
        return transport


def _drain(channel: paramiko.Channel) -> tuple[str, str]:
    out, err = bytearray(), bytearray()
    while True:
        quiet = True
        if channel.recv_ready():
            out += channel.recv(_CHUNK)
            quiet = False
        if channel.recv_stderr_ready():
            err += channel.recv_stderr(_CHUNK)
            quiet = False
        if quiet:
            if channel.closed or (channel.exit_status_ready() and channel.eof_received):
                if not channel.recv_ready() and not channel.recv_stderr_ready():
                    return out.decode(errors="replace"), err.decode(errors="replace")
                continue
            time.sleep(0.01)


def connect(
    target: Target, sleep: Callable[[float], None] = time.sleep, retries: int = RETRIES
) -> Session:
    """A session with the host that the provider means; a host that boots is waited for."""
    name = f"{target.vm} ({target.address})"
    if not target.host_keys:
        raise SshError(
            f"{name}: its provider does not report a host key (yet)",
            "wait until it does; a key that only the network shows is never trusted",
        )
    pause_s = FIRST_PAUSE_S
    for left in range(retries, -1, -1):
        client = _client(target)
        try:
            client.connect(
                target.address,
                target.port,
                target.user,
                key_filename=str(target.identity),
                timeout=CONNECT_S,
                banner_timeout=CONNECT_S,
                auth_timeout=CONNECT_S,
                allow_agent=False,
                look_for_keys=False,
            )
            return Session(target, client)
        except (paramiko.BadHostKeyException, _Unknown) as error:
            client.close()
            raise Impostor(
                f"{name}: found another host key than its provider reports; nothing was sent",
                "do not go on: somebody may be in between. If the host was rebuilt, launch it anew",
            ) from error
        except paramiko.AuthenticationException as error:
            client.close()
            raise SshError(
                f"{name}: {target.user} is not let in with {target.identity}",
                "is it the key with which the cluster was launched?",
            ) from error
        except (paramiko.SSHException, OSError, EOFError) as error:
            client.close()
            if not left:
                raise SshError(f"{name} cannot be reached: {_why(error)}") from error
        sleep(pause_s)
        pause_s *= 2
    raise AssertionError("the last try returns or raises")


class _Unknown(Exception):
    """The host showed a key of a kind that its provider did not report."""


class _Refuse(paramiko.MissingHostKeyPolicy):
    def missing_host_key(
        self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey
    ) -> None:
        raise _Unknown(hostname)


def _client(target: Target) -> paramiko.SSHClient:
    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(_Refuse())
    for line in target.host_keys:
        kind, data = line.split()[:2]
        entry = HostKeyEntry.from_line(f"{target.known_as} {kind} {data}")
        if entry is not None and entry.key is not None:
            client.get_host_keys().add(target.known_as, kind, entry.key)
    return client


def known_hosts(targets: Sequence[Target]) -> str:
    """What OpenSSH has to know about them."""
    return "".join(
        f"{target.known_as} {' '.join(key.split()[:2])}\n"
        for target in targets
        for key in target.host_keys
    )


def _why(error: BaseException) -> str:
    if isinstance(error, socket.timeout):
        return "no answer in time"
    return str(error) or type(error).__name__
