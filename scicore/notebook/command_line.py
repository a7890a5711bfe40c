"""`scicumulus VERB … --json` in a process of its own: its document, or its error, raised."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Mapping
from threading import Thread
from typing import IO, Any

from scicore.errors import Defect, ScicumulusError, SpecificationError, UsageError

_PROGRAM = "import sys; from scicore.cli import main; sys.exit(main())"
_LINES = 20  # of stderr, that an error repeats
_END_S = 60.0  # for a run to stop cleanly after Ctrl-C


def call(verb: str, *words: str, database_url: str | None = None, progress: bool = True) -> Any:
    """What the verb says with --json. Messages and progress go to stderr line by line.

    Ctrl-C (a notebook's interrupt) stops a run cleanly before it is passed on.
    """
    environment = dict(os.environ)
    if database_url is not None:  # a command line would show its password to everybody
        environment["SCICUMULUS_DATABASE_URL"] = database_url
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM, verb, *words, "--json"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    told: deque[str] = deque(maxlen=_LINES)
    reader = Thread(target=_pass_on, args=(process.stderr, told, progress), daemon=True)
    reader.start()
    try:
        said = process.stdout.read()
        process.wait()
    except BaseException:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
        raise
    finally:
        reader.join(_END_S)
        process.stdout.close()
        process.stderr.close()
    return _document(verb, process.returncode, said, told)


def _pass_on(stream: IO[str], told: deque[str], progress: bool) -> None:
    for line in stream:
        told.append(line.rstrip("\n"))
        if progress:
            sys.stderr.write(line)
            sys.stderr.flush()


def _document(verb: str, code: int, said: str, told: deque[str]) -> Any:
    try:
        document = json.loads(said)
    except ValueError:
        last = "\n".join(told)
        raise ScicumulusError(f"scicumulus {verb} ended with exit code {code}:\n{last}") from None
    if isinstance(document, Mapping) and "error" in document:
        raise _error(document)
    return document


def _error(document: Mapping[str, Any]) -> ScicumulusError:
    if document.get("problems"):
        return SpecificationError(Defect(**each) for each in document["problems"])
    if document["exit_code"] == UsageError.exit_code:
        return UsageError(document["error"], document.get("hint", ""))
    return ScicumulusError(document["error"], document.get("hint", ""))
