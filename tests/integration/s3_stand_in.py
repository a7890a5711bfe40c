"""S3 on an address of ours: a moto server behind a middleware that fails on demand.

moto stores what it got of a body that was cut off, and never throttles; here it does as S3's
documentation says. Run as a program it prints the ports of S3 and of its control, and serves until
its standard input closes.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

_Application = Callable[..., Iterable[bytes]]
_SLOWLY_BYTES, _SLOWLY_S = 1 << 20, 0.02


class StandIn:
    """`POST /faults` at its control sets what fails; `/away` closes the port for some seconds."""

    def __init__(self, application: _Application) -> None:
        self._application = application
        self._lock = threading.Lock()
        self.faults: list[dict[str, Any]] = []
        self.calls: list[str] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        with self._lock:
            self.calls.append(f"{method} {path}")
            kind = self._fault(method, path)
        if kind == "throttle":
            return _error(start_response, 503, "SlowDown")
        if kind == "forbid":
            return _error(start_response, 403, "AccessDenied")
        body = _read(environ, slowly=kind == "slow")
        if len(body) < int(environ.get("CONTENT_LENGTH") or 0):
            return _error(start_response, 400, "IncompleteBody")  # nobody reads it any more
        status, headers, answer = self._pass(environ, body)
        if kind == "corrupt" and answer:
            answer = bytes([answer[0] ^ 1]) + answer[1:]
        start_response(status, headers)
        return _half(answer) if kind == "cut" else [answer]

    def _fault(self, method: str, path: str) -> str:
        for fault in self.faults:
            if fault["times"] and fault["method"] == method and fault["path"] in path:
                fault["times"] -= 1
                return str(fault["kind"])
        return ""

    def _pass(
        self, environ: dict[str, Any], body: bytes
    ) -> tuple[str, list[tuple[str, str]], bytes]:
        told: list[Any] = []
        inner = {**environ, "wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
        answer = b"".join(
            self._application(inner, lambda status, headers, *_: told.extend((status, headers)))
        )
        return told[0], told[1], answer


def _read(environ: dict[str, Any], *, slowly: bool) -> bytes:
    left = int(environ.get("CONTENT_LENGTH") or 0)
    data = bytearray()
    with contextlib.suppress(Exception):  # the client is gone
        while left and (chunk := environ["wsgi.input"].read(min(left, _SLOWLY_BYTES))):
            data += chunk
            left -= len(chunk)
            time.sleep(_SLOWLY_S * slowly)
    return bytes(data)


def _half(answer: bytes) -> Iterator[bytes]:
    yield answer[: len(answer) // 2]
    raise ConnectionResetError("injected")


def _error(start_response: Any, status: int, code: str) -> list[bytes]:
    xml = f"<Error><Code>{code}</Code><Message>injected</Message></Error>".encode()
    start_response(f"{status} X", [("Content-Type", "text/xml"), ("Content-Length", str(len(xml)))])
    return [xml]


class S3Server:
    """The stand-in, as tests use it."""

    def __init__(self, address: str, port: int, control: int) -> None:
        self.url = f"http://{address}:{port}"
        self._control = f"http://127.0.0.1:{control}"

    def fail(self, kind: str, method: str, path: str, times: int = 1) -> None:
        self._post("faults", {"kind": kind, "method": method, "path": path, "times": times})

    def mend(self) -> None:
        self._post("mend")

    def go_away(self, seconds: float) -> None:
        """Nobody listens any more; returns when that is so."""
        self._post("away", seconds)

    def calls(self) -> list[str]:
        """Since the last time they were asked for."""
        told: list[str] = json.loads(self._post("calls"))
        return told

    def _post(self, what: str, body: object = None) -> bytes:
        data = json.dumps(body).encode()
        request = urllib.request.Request(f"{self._control}/{what}", data=data, method="POST")
        with urllib.request.urlopen(request, timeout=60) as answer:
            told: bytes = answer.read()
        return told


@contextlib.contextmanager
def serving_s3(address: str = "127.0.0.1") -> Iterator[S3Server]:
    program = [sys.executable, str(Path(__file__)), address]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            port, control = map(int, process.stdout.readline().split())
            yield S3Server(address, port, control)
        finally:
            process.stdin.close()
            process.wait(timeout=60)


def main() -> None:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    stand_in = StandIn(DomainDispatcherApplication(create_backend_app))
    address = sys.argv[1]
    serving = [make_server(address, 0, stand_in, threaded=True)]
    port = serving[0].port

    def serve() -> None:
        threading.Thread(target=serving[0].serve_forever, daemon=True).start()

    def come_back() -> None:
        serving[0] = make_server(address, port, stand_in, threaded=True)
        serve()

    def control(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        body = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        answer: object = None
        match environ["PATH_INFO"]:
            case "/faults":
                stand_in.faults.append(body)
            case "/mend":
                stand_in.faults.clear()
            case "/calls":
                answer, stand_in.calls = stand_in.calls, []
            case "/away":
                serving[0].shutdown()
                serving[0].server_close()
                threading.Timer(body, come_back).start()
        start_response("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(answer).encode()]

    controls = make_server("127.0.0.1", 0, control, threaded=True)
    serve()
    threading.Thread(target=controls.serve_forever, daemon=True).start()
    print(port, controls.port, flush=True)
    sys.stdin.buffer.read()  # until whoever started us is gone
    os._exit(0)


if __name__ == "__main__":
    main()
