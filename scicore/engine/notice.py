"""Watching for word that the provider takes this VM back: EC2's spot interruption notice.

The VM's metadata service (IMDSv2) tells it two minutes before. A thread asks, because a service
that does not answer must not keep a slave from its work.
"""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request

LOOK_S = 5.0  # as often as EC2's documentation advises
PATIENCE_S = 2.0  # with a service that does not answer
_TOKEN = "/latest/api/token"
_NOTICE = "/latest/meta-data/spot/instance-action"
_LIVES_S = "21600"


class Notices:
    """Of one VM. `seen` is empty until there is one."""

    def __init__(self, service: str, look_s: float = LOOK_S) -> None:
        self._service = service
        self._look_s = look_s
        self._token = ""
        self._over = threading.Event()
        self.seen = ""
        threading.Thread(target=self._watch, name="notices", daemon=True).start()

    def close(self) -> None:
        self._over.set()

    def _watch(self) -> None:
        while not self.seen and not self._over.is_set():
            try:
                self.seen = self._look()
            except (OSError, ValueError):  # no notice, no service, or a token that is too old
                self._token = ""
            self._over.wait(self._look_s)

    def _look(self) -> str:
        if not self._token:
            lives = {"X-aws-ec2-metadata-token-ttl-seconds": _LIVES_S}
            self._token = self._ask("PUT", _TOKEN, lives)
        try:
            told = self._ask("GET", _NOTICE, {"X-aws-ec2-metadata-token": self._token})
        except urllib.error.HTTPError as error:
            if error.code == 404:  # as it should be
                return ""
            raise
        notice = json.loads(told)
        return f"{notice['action']} at {notice['time']}"

    def _ask(self, method: str, path: str, headers: dict[str, str]) -> str:
        request = urllib.request.Request(self._service + path, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            text: str = answer.read(4096).decode()
        return text
