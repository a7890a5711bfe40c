"""The SSH key of a cluster: made here, its private half never leaves this computer."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from scicore.errors import ScicumulusError

PRIVATE = "id_ed25519"


@dataclass(frozen=True, slots=True)
class KeyPair:
    private_file: Path  # 0600, in a directory of 0700
    public_key: str  # one OpenSSH line


def ensure_key(directory: Path, comment: str) -> KeyPair:
    """The key of the directory, made when there is none; it appears whole or not at all."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = directory / PRIVATE
    if not file.exists():
        made = Ed25519PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption(),
        )
        _write_once(file, made)
    if file.stat().st_mode & 0o077:
        raise ScicumulusError(
            f"the private key {file} can be read by others",
            f"close it with `chmod 600 {file}`, or remove it if it may have been read",
        )
    try:
        key = serialization.load_ssh_private_key(file.read_bytes(), password=None)
    except ValueError as error:
        raise ScicumulusError(
            f"{file} is no OpenSSH private key", "remove it; the next launch makes another"
        ) from error
    line = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    return KeyPair(file, f"{line.decode()} {comment}")


def _write_once(file: Path, data: bytes) -> None:
    """mkstemp makes files of 0600; a link never replaces a key that somebody else just made."""
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=".key-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        try:
            os.link(name, file)
        except FileExistsError:
            return
    finally:
        Path(name).unlink()


def forget_key(directory: Path) -> None:
    """When its cluster has ended."""
    (directory / PRIVATE).unlink(missing_ok=True)
