"""A user of EC2 who dies at a call.

Run as a program it reads orders from standard input and forks a user for each: forking is safe
there, because that process has one thread, and cheap, because everything is imported already.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from provisioning.ec2 import Ec2

KILLED = 9


class Mortal:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def dies(self, call: int, event: str, url: str | None, **work: str) -> bool:
        """At that call of those that the event counts; False if it came to its end before."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([call, event, url, work]) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        assert code in (0, KILLED), f"call {call}: exit code {code}"
        return code == KILLED


@contextmanager
def mortal(environment: dict[str, str]) -> Iterator[Mortal]:
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.integration.ec2_mortal"],
        cwd=root,
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Mortal(process)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=60)


def _live(provider: Ec2, call: int, event: str, url: str | None, work: dict[str, str]) -> None:
    from provisioning.ledger import Busy, Ledger, MemoryLedger
    from scicore.provenance.clusters import ClusterLedger
    from scicore.provenance.connection import connect
    from tests.integration.ec2_account import OWNER, Account

    ledger: Ledger = ClusterLedger(connect(url).engine, Busy) if url else MemoryLedger()
    user = Account(provider, ledger)
    left = [call]

    def count(**_: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            os._exit(KILLED)

    provider._ec2.meta.events.register(event, count)
    # The look-up of the image has a client of its own, made when it is needed.
    provider._session.events.register(event.replace(".ec2", ".ssm"), count)
    if "up" in work:
        user.up(fleet=work["up"])
    elif "add" in work:
        user.launching.add(user.replacement(work["add"]), instead_of="t2.micro-1")
    else:
        user.ending.down(work["down"], OWNER)


def main() -> None:
    from tests.integration.ec2_account import driver

    provider = driver()  # never used here: its connections will be each child's own
    for line in sys.stdin:
        child = os.fork()
        if child:
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
            continue
        try:
            _live(provider, *json.loads(line))
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)


if __name__ == "__main__":
    main()
