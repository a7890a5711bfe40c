"""The metadata service of an EC2 instance, version 2 only: python metadata_stand_in.py DIRECTORY

Run inside a host's network namespace it listens where every instance finds it. Files of the
directory are its answers: `credentials` of the instance's role, `notice` that it is taken back.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from provisioning.netns_host import NetnsHost, ip

ADDRESS = "169.254.169.254"
TOKEN = "t0ken-of-the-instance"
ROLE = "scicumulus"
_ROLES = "/latest/meta-data/iam/security-credentials/"
_NOTICE = "/latest/meta-data/spot/instance-action"


def answer(path: str, directory: Path) -> bytes | None:
    """None: there is no such thing."""
    if path == _ROLES:
        return ROLE.encode()
    file = {f"{_ROLES}{ROLE}": "credentials", _NOTICE: "notice"}.get(path)
    place = directory / file if file else None
    return place.read_bytes() if place is not None and place.exists() else None


def main() -> None:
    directory = Path(sys.argv[1])

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            asked = self.path == "/latest/api/token"
            lives = "X-aws-ec2-metadata-token-ttl-seconds" in self.headers
            self._say(TOKEN.encode() if asked and lives else None, "21600")

        def do_GET(self) -> None:
            if self.headers.get("X-aws-ec2-metadata-token") != TOKEN:
                self.send_error(401)  # version 1 is not answered
                return
            self._say(answer(self.path, directory))

        def _say(self, body: bytes | None, lives_s: str = "") -> None:
            if body is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            if lives_s:
                self.send_header("X-aws-ec2-metadata-token-ttl-seconds", lives_s)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    ThreadingHTTPServer((ADDRESS, 80), Handler).serve_forever()


@contextmanager
def metadata_of(host: NetnsHost, directory: Path) -> Iterator[None]:
    """In the namespace of the host alone: nobody else's packets are touched."""
    ip("-n", host.id, "addr", "add", f"{ADDRESS}/32", "dev", "lo")
    program = [sys.executable, __file__, str(directory)]
    root = str(Path(__file__).parents[2])
    with subprocess.Popen(
        ["ip", "netns", "exec", host.id, *program], env={**os.environ, "PYTHONPATH": root}
    ) as process:
        look = ["ip", "netns", "exec", host.id, sys.executable, "-c", _LOOK]
        for _ in range(100):
            if subprocess.run(look, check=False).returncode == 0:
                break
            time.sleep(0.1)
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=60)


_LOOK = f"""
import socket
with socket.socket() as probe:
    probe.settimeout(1)
    raise SystemExit(probe.connect_ex(("{ADDRESS}", 80)) != 0)
"""


if __name__ == "__main__":
    main()
