"""The private key of a cluster is for its owner's eyes only."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioning.keys import ensure_key, forget_key
from scicore.errors import ScicumulusError


def test_a_key_is_made_once_and_closed_to_others(tmp_path: Path) -> None:
    place = tmp_path / "clusters" / "m"
    first = ensure_key(place, "scicumulus-m")
    assert first.private_file.stat().st_mode & 0o777 == 0o600
    assert place.stat().st_mode & 0o777 == 0o700
    assert first.private_file.read_text().startswith("-----BEGIN OPENSSH PRIVATE KEY-----")
    kind, _, comment = first.public_key.split()
    assert (kind, comment) == ("ssh-ed25519", "scicumulus-m")
    assert ensure_key(place, "scicumulus-m") == first
    assert [each.name for each in place.iterdir()] == ["id_ed25519"]
    forget_key(place)
    assert ensure_key(place, "scicumulus-m").public_key != first.public_key


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    key = ensure_key(tmp_path, "m")
    key.private_file.chmod(0o644)
    with pytest.raises(ScicumulusError, match="can be read by others") as refused:
        ensure_key(tmp_path, "m")
    assert "chmod 600" in refused.value.hint


def test_a_file_that_is_no_key_is_told(tmp_path: Path) -> None:
    (tmp_path / "id_ed25519").write_text("hello")
    (tmp_path / "id_ed25519").chmod(0o600)
    with pytest.raises(ScicumulusError, match="is no OpenSSH private key"):
        ensure_key(tmp_path, "m")
