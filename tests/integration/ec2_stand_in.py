"""EC2 on loopback: a moto server behind a middleware that makes it behave as EC2 does.

moto forgets client tokens, launches MinCount instead of MaxCount, is consistent at once, ends
instances at once, and has no price list; here it does as EC2's documentation says, and fails on
demand. Run as a program it prints its port and serves until its standard input closes.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode
from xml.etree import ElementTree

NAMESPACE = "http://ec2.amazonaws.com/doc/2016-11-15/"
IMAGE = "ami-0scicumulus"
_Application = Callable[..., Iterable[bytes]]


class StandIn:
    """The middleware. `POST /_behave` sets how it behaves, `GET /_calls` tells what was called."""

    def __init__(self, application: _Application) -> None:
        self._application = application
        self._lock = threading.RLock()
        self.reset()

    def reset(self) -> None:
        self.calls: list[str] = []
        self.faults: list[dict[str, Any]] = []
        self.blind = 0  # how many looks a new instance stays unseen for
        self.slow = 0  # how many looks an instance takes to end
        self.console = ""
        self._launches: dict[str, tuple[str, bytes]] = {}
        self._unseen: dict[str, int] = {}
        self._ending: dict[str, int] = {}

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length)
        with self._lock:
            if environ["PATH_INFO"].startswith("/_"):
                status, kind, answer = self._control(environ["PATH_INFO"], body)
            else:
                status, kind, answer = self._aws(environ, body)
        start_response(
            f"{status} X", [("Content-Type", kind), ("Content-Length", str(len(answer)))]
        )
        return [answer]

    def _control(self, path: str, body: bytes) -> tuple[int, str, bytes]:
        if path == "/_reset":
            self.reset()
        elif path == "/_forget":
            _forget_ended()
        elif path == "/_behave":
            for name, value in json.loads(body).items():
                setattr(self, name, value)
        return 200, "application/json", json.dumps(self.calls).encode()

    def _aws(self, environ: dict[str, Any], body: bytes) -> tuple[int, str, bytes]:
        target = environ.get("HTTP_X_AMZ_TARGET", "")
        if target.startswith("AmazonSSM."):
            self.calls.append(target)
            value = {"Name": json.loads(body)["Name"], "Type": "String", "Value": IMAGE}
            return 200, "application/x-amz-json-1.1", json.dumps({"Parameter": value}).encode()
        if target.startswith("AWSPriceListService."):
            self.calls.append(target)
            return 200, "application/x-amz-json-1.1", json.dumps(_prices(json.loads(body))).encode()
        form = dict(parse_qsl(body.decode(), keep_blank_values=True))
        action = form.get("Action", "")
        if not action:  # moto's own
            return self._pass(environ, body)
        self.calls.append(action)
        fault = self._fault(action, form)
        if fault is not None and not fault.get("after"):
            return _error(fault)
        answer = self._act(action, form, environ, body)
        return answer if fault is None else _error(fault)

    def _fault(self, action: str, form: dict[str, str]) -> dict[str, Any] | None:
        for fault in self.faults:
            fits = fault["action"] in (action, "*") and fault["times"] != 0
            if fits and form.get("InstanceType") == fault.get("type", form.get("InstanceType")):
                fault["times"] -= 1
                return fault
        return None

    def _act(
        self, action: str, form: dict[str, str], environ: dict[str, Any], body: bytes
    ) -> tuple[int, str, bytes]:
        if action == "RunInstances":
            return self._run(form, environ)
        if action == "DescribeInstances":
            return self._describe(environ, body)
        if action == "TerminateInstances":
            return self._terminate(form, environ, body)
        if action == "DeleteSecurityGroup" and self._ending:
            return _error({"code": "DependencyViolation", "status": 400})
        if action == "GetConsoleOutput" and self.console:
            output = base64.b64encode(self.console.encode()).decode()
            xml = f'<R xmlns="{NAMESPACE}"><output>{output}</output></R>'
            return 200, "text/xml", xml.encode()
        return self._pass(environ, body)

    def _run(self, form: dict[str, str], environ: dict[str, Any]) -> tuple[int, str, bytes]:
        """The same token gives the same instances; other parameters with it are an error."""
        token = form.get("ClientToken", "")
        digest = json.dumps(form, sort_keys=True)
        if token in self._launches:
            before, answer = self._launches[token]
            if before != digest:
                return _error({"code": "IdempotentParameterMismatch", "status": 400})
            return 200, "text/xml", answer
        form = {**form, "MinCount": form["MaxCount"]}  # as many as can be had
        status, kind, answer = self._pass(environ, urlencode(form).encode())
        if status == 200 and token:
            self._launches[token] = digest, answer
        if self.blind:
            for id_ in _ids(answer):
                self._unseen[id_] = self.blind
        return status, kind, answer

    def _describe(self, environ: dict[str, Any], body: bytes) -> tuple[int, str, bytes]:
        status, kind, answer = self._pass(environ, body)
        root = ElementTree.fromstring(answer)
        for group in root.iter(f"{{{NAMESPACE}}}instancesSet"):
            for item in list(group):
                id_ = item.findtext(f"{{{NAMESPACE}}}instanceId", "")
                if id_ in self._unseen:
                    group.remove(item)
                elif id_ in self._ending:
                    for name in item.findall(f"{{{NAMESPACE}}}instanceState/{{{NAMESPACE}}}name"):
                        name.text = "shutting-down"
        for counted in (self._unseen, self._ending):
            for id_ in list(counted):
                counted[id_] -= 1
                if counted[id_] <= 0:
                    del counted[id_]
        return status, kind, ElementTree.tostring(root)

    def _terminate(
        self, form: dict[str, str], environ: dict[str, Any], body: bytes
    ) -> tuple[int, str, bytes]:
        ids = [value for name, value in form.items() if name.startswith("InstanceId.")]
        if set(ids) & set(self._unseen):
            return _error({"code": "InvalidInstanceID.NotFound", "status": 400})
        if self.slow:
            for id_ in ids:
                self._ending.setdefault(id_, self.slow)
        return self._pass(environ, body)

    def _pass(self, environ: dict[str, Any], body: bytes) -> tuple[int, str, bytes]:
        told: list[Any] = []

        def start(status: str, headers: list[tuple[str, str]], *_: Any) -> None:
            told.extend((int(status.split()[0]), dict(headers).get("Content-Type", "text/xml")))

        inner = {**environ, "wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
        answer = b"".join(self._application(inner, start))
        return told[0], told[1], answer


def _forget_ended() -> None:
    """As EC2 does after an hour."""
    from moto.ec2.models import ec2_backends

    for account in ec2_backends.values():
        for backend in account.values():
            for name, reservation in list(backend.reservations.items()):
                if all(each.state == "terminated" for each in reservation.instances):
                    del backend.reservations[name]


def _ids(answer: bytes) -> list[str]:
    found = ElementTree.fromstring(answer).iter(f"{{{NAMESPACE}}}instanceId")
    return [each.text or "" for each in found]


def _error(fault: dict[str, Any]) -> tuple[int, str, bytes]:
    code = fault["code"]
    xml = (
        f"<Response><Errors><Error><Code>{code}</Code><Message>injected</Message></Error>"
        "</Errors><RequestID>0</RequestID></Response>"
    )
    return fault.get("status", 400), "text/xml", xml.encode()


def _prices(request: dict[str, Any]) -> dict[str, Any]:
    """One product: what costs 42 cents an hour, and what costs nothing because it is reserved."""
    wanted = {each["Field"]: each["Value"] for each in request["Filters"]}
    rates = {"rate": {"unit": "Hrs", "pricePerUnit": {"USD": "0.4200000000"}}}
    product = {
        "product": {"attributes": wanted},
        "terms": {"OnDemand": {"offer": {"priceDimensions": rates}}},
    }
    return {"FormatVersion": "aws_v1", "PriceList": [json.dumps(product)]}


class Ec2Server:
    """The stand-in, as tests use it."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def environment(self, secret: str = "none") -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "AKIATEST",
            "AWS_SECRET_ACCESS_KEY": secret,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "AWS_MAX_ATTEMPTS": "2",
        }

    def reset(self) -> None:
        self._post("/moto-api/reset")
        self._post("/_reset")

    def forget_ended(self) -> None:
        self._post("/_forget")

    def behave(self, **how: object) -> None:
        self._post("/_behave", json.dumps(how).encode())

    def fail(self, action: str, code: str, status: int = 400, times: int = 1, **more: Any) -> None:
        fault = {"action": action, "code": code, "status": status, "times": times, **more}
        self.behave(faults=[fault])

    def calls(self) -> list[str]:
        called: list[str] = json.loads(self._post("/_calls"))
        return called

    def _post(self, path: str, body: bytes = b"") -> bytes:
        request = urllib.request.Request(self.url + path, data=body, method="POST")
        with urllib.request.urlopen(request, timeout=60) as answer:
            told: bytes = answer.read()
        return told


@contextlib.contextmanager
def serving() -> Iterator[Ec2Server]:
    program = [sys.executable, str(Path(__file__))]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield Ec2Server(int(process.stdout.readline()))
        finally:
            process.stdin.close()
            process.wait(timeout=60)


def main() -> None:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    application = StandIn(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True)
    print(server.port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.buffer.read()  # until whoever started us is gone
    os._exit(0)


if __name__ == "__main__":
    main()
