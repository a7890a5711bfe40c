"""A user at a terminal: types `scicumulus …`, reads what it says, looks into the database."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import psycopg

SCICUMULUS = str(Path(sys.executable).with_name("scicumulus"))
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
PATIENCE_S = 90.0

_T = TypeVar("_T")
_URLS: dict[Path, str] = {}  # of each home's database
_MARK = "SCICUMULUS_TEST"  # every process of a test inherits it, so that none can hide
_FOREIGN = ("PG", "SCICUMULUS_", "OMPI_", "PMIX_", "PRTE_", "FORCE_COLOR", "CLICOLOR_FORCE")


@dataclass(frozen=True, slots=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


@dataclass
class Console:
    home: Path
    directory: Path  # where commands are typed; also tells this test's processes from others'
    extra: dict[str, str] = field(default_factory=dict)  # environment
    _started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        own = {"SCICUMULUS_HOME": str(self.home), _MARK: str(self.directory)}
        inherited = {n: value for n, value in os.environ.items() if not n.startswith(_FOREIGN)}
        path = f"{Path(sys.executable).parent}:{inherited['PATH']}"  # as in an activated .venv
        return {**inherited, "PATH": path, **own, **self.extra}

    def __call__(self, *words: str | Path) -> Said:
        return self.execute(SCICUMULUS, *words)

    def execute(self, *words: str | Path) -> Said:
        done = subprocess.run(
            words,
            check=False,
            cwd=self.directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE_S,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def together(self, commands: Iterable[Sequence[str | Path]]) -> list[Said]:
        """Several commands, a few at a time: most of a short one is Python's own start."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(lambda words: self(*words), commands))

    def start(self, *words: str | Path) -> subprocess.Popen[str]:
        """For what is to be watched, or interrupted, while it goes on."""
        process = subprocess.Popen(
            words,
            cwd=self.directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self._started.append(process)
        return process

    def run(self, spec: Path, *options: str, fleet: str = "2xlocal", code: int = 0) -> Any:
        """What `run --json` says; it must end with that exit code."""
        where = () if "--plan" in options else ("--fleet", fleet)
        said = self("run", spec, "--json", *where, *options)
        assert said.code == code, said
        return said.document

    def query(self, name: str, run: int, *options: str) -> Any:
        said = self("query", name, "--run", str(run), "--json", *options)
        assert said.code == 0, said
        return said.document

    @property
    def url(self) -> str:
        if self.home not in _URLS:
            _URLS[self.home] = self("db", "url").out.strip()
        return _URLS[self.home]

    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """As somebody with psql would ask."""
        with psycopg.connect(self.url) as connection:
            return connection.execute(sql.encode(), parameters).fetchall()

    def processes(self) -> dict[int, str]:
        """This test's living processes, by their environment: whatever they call themselves."""
        mark = f"{_MARK}={self.directory}\0".encode()
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # gone meanwhile, or somebody else's
                if mark in (process / "environ").read_bytes() + b"\0":
                    words = (process / "cmdline").read_bytes()
                    found[int(process.name)] = words.replace(b"\0", b" ").decode().strip()
        return found

    def leave_nothing(self) -> None:
        """At the end of a test: whatever it left is ended, by its id."""
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self._started:
            with suppress(ValueError):  # `finish` has read it to its end
                process.communicate(timeout=PATIENCE_S)


def finish(process: subprocess.Popen[str]) -> Said:
    """Wait for the end of what `start` started."""
    out, err = process.communicate(timeout=PATIENCE_S)
    return Said(process.returncode, out, err)


def eventually(look: Callable[[], _T], what: str, patience_s: float = PATIENCE_S) -> _T:
    """The first answer that is true in some sense; the wait is bounded."""
    deadline = time.monotonic() + patience_s
    while not (answer := look()):
        assert time.monotonic() < deadline, f"in vain: {what}"
        time.sleep(0.01)
    return answer
