"""How the command and the jobs that it starts leave, and what their exit codes say."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scicore import __version__, config
from scicore.__main__ import AGAIN, exit_code
from scicore.cli.supervision import _TOLD

MPIRUNS_OWN = (1, 2, 3, 4, 5, 134, 137, 213)  # as seen, and as they may be


def test_the_command_leaves_at_once_but_not_before_its_last_words() -> None:
    code = (
        "import atexit, sys; from scicore.cli import program;"
        "atexit.register(print, 'tidied up'); sys.argv = ['scicumulus', '--version']; program()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert __version__ in done.stdout
    assert done.stdout.endswith("tidied up\n")


def test_the_commands_exit_code_is_the_verbs() -> None:
    code = (
        "import sys; from scicore.cli import program;"
        "sys.argv = ['scicumulus', 'run', 'nosuch.xml']; program()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "nosuch.xml" in done.stderr


def test_mpiruns_own_exit_codes_are_not_taken_for_the_masters_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A job that mpirun could not even start is started again; one whose master has said why it
    cannot go on is not."""
    monkeypatch.setenv(config.SUPERVISED, "1")
    assert all(exit_code(code) in _TOLD for code in range(1, 6))
    assert not any(code in _TOLD for code in (0, AGAIN, *MPIRUNS_OWN))
    assert (exit_code(0), exit_code(AGAIN)) == (0, AGAIN)


def test_who_starts_mpirun_by_hand_gets_the_documented_exit_codes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(config.SUPERVISED, raising=False)
    assert [exit_code(code) for code in range(6)] == list(range(6))
