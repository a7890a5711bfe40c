"""The server process of a data directory, by the notes that PostgreSQL keeps about it there."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from scicore.errors import DatabaseError

HOST = "127.0.0.1"
_TLS_REQUEST = bytes.fromhex("00000008 04d2162f")  # the protocol's SSLRequest message


@dataclass(frozen=True, slots=True)
class Postmaster:
    pid: int
    port: int
    ready: bool


def postmaster(home: Path) -> Postmaster | None:
    """The living server of this directory, by the file that it writes about itself."""
    try:
        text = os.fsdecode((home / "data" / "postmaster.pid").read_bytes())
        pid, data, _, port, _, _, _, status, *_ = text.split("\n") + 8 * [""]
        server = Postmaster(abs(int(pid)), int(port or 0), status.strip() == "ready")
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    if not serves(server.pid, Path(data)):
        return None
    if Path(data) != home / "data":
        raise DatabaseError(
            f"{data} was moved or copied to {home} while its server was running",
            f"stop that server first: kill -INT {server.pid}",
        )
    return server


def serves(pid: int, data: Path) -> bool:
    """Whether this process is a server of that data directory. That it exists would prove
    nothing: pids are used again, and a zombie has one.
    """
    if sys.platform == "linux":
        try:
            return os.fsencode(data) in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            return False
    command = ["ps", "-ww", "-o", "args=", "-p", str(pid)]
    return os.fsencode(data) in subprocess.run(command, check=False, capture_output=True).stdout


def answers(port: int) -> bool:
    """Whether PostgreSQL itself replies; the kernel still takes connections for a dying one."""
    try:
        with socket.create_connection((HOST, port), timeout=5) as client:
            client.sendall(_TLS_REQUEST)
            return client.recv(1) in (b"N", b"S")
    except OSError:
        return False


def lost_program(home: Path) -> Path | None:
    """The program that the server was started from, if it has been deleted since.

    Such a server answers until it needs a library or a time zone of its installation.
    """
    try:
        notes = os.fsdecode((home / "data" / "postmaster.opts").read_bytes())
    except FileNotFoundError:
        return None
    program = Path(notes.partition(' "-D" ')[0])
    try:
        program.stat()
    except (FileNotFoundError, NotADirectoryError):
        return program
    except PermissionError:  # it may well be there
        return None
    return None


def shut_down(pid: int, data: Path, patience_s: float) -> bool:
    """End the server without waiting for its clients; whether it has ended in time."""
    os.kill(pid, signal.SIGINT)  # a "fast" shutdown in PostgreSQL's words
    deadline = time.monotonic() + patience_s
    while serves(pid, data):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
