"""A VM ends itself when its lease is over: the timer, run as it runs there."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from provisioning import lease_timer
from provisioning.lease import as_tag, from_tag, renewal_command, user_data

SOON = datetime.now(UTC) + timedelta(hours=1)
LONG_AGO = datetime.now(UTC) - timedelta(hours=1)


class Metadata(BaseHTTPRequestHandler):
    """IMDSv2: nothing without a token, which only a PUT gives."""

    tag = ""

    def do_PUT(self) -> None:
        assert int(self.headers["X-aws-ec2-metadata-token-ttl-seconds"]) > 0
        self._answer("a-token" if self.path == "/latest/api/token" else None)

    def do_GET(self) -> None:
        wanted = "/latest/meta-data/tags/instance/scicumulus:lease"
        known = self.headers["X-aws-ec2-metadata-token"] == "a-token" and self.path == wanted
        self._answer(self.tag if known and self.tag else None)

    def _answer(self, text: str | None) -> None:
        self.send_response(200 if text is not None else 404)
        self.end_headers()
        self.wfile.write((text or "").encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def metadata() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Metadata) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def shuts_down(directory: Path, metadata: str, file: str | None, tag: str) -> bool:
    """With a `shutdown` that only says that it was called."""
    (directory / "shutdown").write_text('#!/bin/sh\necho "$@" > "$(dirname "$0")/called"\n')
    (directory / "shutdown").chmod(0o755)
    lease = directory / "lease"
    if file is not None:
        lease.write_text(file)
    Metadata.tag = tag
    subprocess.run(
        [sys.executable, lease_timer.__file__],
        env={
            "PATH": f"{directory}:{os.environ['PATH']}",
            "SCICUMULUS_LEASE_FILE": str(lease),
            "SCICUMULUS_METADATA": metadata,
        },
        check=True,
        timeout=60,
    )
    called = directory / "called"
    return called.exists() and called.read_text() == "-h now\n"


@pytest.mark.parametrize(
    ("file", "tag", "ends"),
    [
        (f"{time.time() + 3600:.0f}\n", "", False),
        (f"{time.time() - 3600:.0f}\n", "", True),
        (f"{time.time() - 3600:.0f}\n", as_tag(SOON), False),  # renewed by its tag
        (f"{time.time() + 3600:.0f}\n", as_tag(LONG_AGO), False),  # renewed over SSH
        (f"{time.time() - 3600:.0f}\n", as_tag(LONG_AGO), True),
        (None, "", True),  # nobody knows anything of a lease
        ("rubbish", "rubbish", True),
    ],
    ids=["file", "over", "tag", "renewed", "both over", "nothing", "rubbish"],
)
def test_a_vm_ends_itself_unless_file_or_tag_say_that_its_lease_goes_on(
    tmp_path: Path, metadata: str, file: str | None, tag: str, ends: bool
) -> None:
    assert shuts_down(tmp_path, metadata, file, tag) is ends


def test_a_vm_without_metadata_goes_by_its_file(tmp_path: Path) -> None:
    assert shuts_down(tmp_path, "http://127.0.0.1:9", f"{time.time() + 60}", "") is False


def test_a_lease_survives_its_way_through_a_tag() -> None:
    moment = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
    assert from_tag(as_tag(moment)) == moment
    with pytest.raises(ValueError, match="does not match"):
        from_tag("tomorrow")


def test_a_renewal_over_ssh_writes_what_the_timer_reads(tmp_path: Path) -> None:
    said = renewal_command(SOON)
    number = int(said.split()[1])
    assert abs(number - SOON.timestamp()) < 1
    assert "/var/lib/scicumulus/lease" in said


def test_user_data_is_small_enough_for_ec2() -> None:
    assert len(user_data(SOON, "ssh-ed25519 AAAA test").encode()) < 16_384
