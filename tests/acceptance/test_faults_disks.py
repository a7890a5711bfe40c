"""Disks that are full: the database's is waited for, the programs' is their cause of death."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.acceptance.console import Console, eventually
from tests.acceptance.faults import Disturbed
from tests.acceptance.workflows import PASS_ON, Step, write_workflow

FILL = f"""
done="$(dirname "$0")/done"
if [ "$1" = 2 ]; then
    while [ ! -e "$done" ]; do sleep 0.05; done
    cat /dev/zero > big
fi
{PASS_ON}
touch "$done"
"""
CHUNK = bytes(64 * 1024)


@contextmanager
def small_disk(place: Path, size_mb: int) -> Iterator[Path]:
    place.mkdir(exist_ok=True)
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={size_mb}m,mode=755", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(mounting, check=False, capture_output=True).returncode:
        pytest.skip("a small disk can only be mounted by root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@contextmanager
def filled(place: Path) -> Iterator[None]:
    """Not a byte is left."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as stream:
        for size in (len(CHUNK), 4096, 1):
            while True:
                try:
                    if not stream.write(CHUNK[:size]):
                        break
                except OSError:
                    break
    try:
        yield
    finally:
        ballast.unlink()


def test_a_full_work_disk_is_what_programs_die_of_and_no_result_is_lost(console: Console) -> None:
    with small_disk(console.directory / "disk", size_mb=2) as disk:
        spec = write_workflow(disk / "wf", [Step("fill", FILL)], [("1",), ("2",)])
        run = console.run(spec, code=1)
        ends = console.rows(
            "SELECT name, activation.state, cause FROM attempt"
            " JOIN activation USING (run_id, activation_id) WHERE run_id = %s ORDER BY name",
            run["run_id"],
        )
        assert ends == [("fill.1", "finished", "finished"), ("fill.2", "failed", "disk full")]
        eventually(lambda: not console.processes(), "the end of all processes", patience_s=20)


def test_the_databases_disk_is_full_for_a_while(fresh_home: Path, tmp_path: Path) -> None:
    console = Console(fresh_home, tmp_path, {"PACE": "0.3"})
    with ExitStack() as stack:
        disk = stack.enter_context(small_disk(fresh_home / "disk", size_mb=120))
        console.home = disk
        stack.callback(lambda: console("db", "stop"))
        stack.callback(console.leave_nothing)
        assert console.url
        run = Disturbed(console)
        run.start()
        run.begun(3)
        with filled(disk):
            time.sleep(1)
            run.kill(run.ranks()[0])
            time.sleep(3)
        said = run.finished()
        assert "Traceback" not in said.err
        run.nothing_was_lost()
