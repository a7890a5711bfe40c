"""Programs whose use is known, against what was recorded of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.console import Console
from tests.acceptance.workflows import PYTHON, Step, write_workflow

MB = 1_000_000
DONE = '\nopen("ERelation.txt", "w").write("ID\\n1\\n")\n'
BURN_S, SLEEP_S = 1.0, 0.6
HELD_MB, CHILD_MB, MOVED_MB = 100, 80, 20
PYTHON_MB = 40  # what an interpreter itself may take, or read at its start
HOLD = "import time\nheld = bytearray(b'x') * ({mb} * 1_000_000)\ntime.sleep(1.5)\n"
PROGRAMS = {
    "burn": f"import time\nwhile time.process_time() < {BURN_S}: pass\n",
    "sleep": f"import time\ntime.sleep({SLEEP_S})\n",
    "hold": HOLD.format(mb=HELD_MB),
    "tree": (
        "import subprocess, sys\n"
        f"child = [sys.executable, '-c', {HOLD.format(mb=CHILD_MB)!r}]\n"
        "for each in [subprocess.Popen(child) for _ in range(2)]: each.wait()\n"
    ),
    "write": f"open('data', 'wb').write(bytes({MOVED_MB * MB}))\n",
    "read": f"with open('/dev/zero', 'rb') as s: s.read({MOVED_MB * MB})\n",
}
COLUMNS = {
    "vm": "attempt.vm",
    "slot": "slot",
    "cause": "cause",
    "cpu_s": "cpu_s",
    "peak_rss_bytes": "peak_rss_bytes",
    "read_bytes": "read_bytes",
    "written_bytes": "written_bytes",
    "stage_s": "stage_s",
    "wall_s": "extract(epoch FROM attempt.ended_at - attempt.started_at)::float",
    "queue_s": "extract(epoch FROM attempt.started_at - granted_at)::float",
}


@pytest.fixture(scope="module")
def attempts(module_console: Console) -> dict[str, dict[str, Any]]:
    steps = [Step(tag, code + DONE, interpreter=PYTHON) for tag, code in PROGRAMS.items()]
    spec = write_workflow(module_console.directory / "wf", steps, [("1",)])
    found = module_console.rows(
        f"SELECT tag, {', '.join(COLUMNS.values())} FROM attempt"
        " JOIN activity USING (activity_id) WHERE run_id = %s",
        module_console.run(spec)["run_id"],
    )
    return {tag: dict(zip(COLUMNS, row, strict=True)) for tag, *row in found}


def between(low: float, found: float, high: float) -> None:
    assert low <= found <= high, f"{low} <= {found} <= {high}"


def test_cpu_time_is_what_was_burnt(attempts: dict[str, dict[str, Any]]) -> None:
    between(0.9 * BURN_S, attempts["burn"]["cpu_s"], 1.5 * BURN_S + 0.5)
    assert attempts["burn"]["wall_s"] >= 0.9 * BURN_S
    assert attempts["sleep"]["cpu_s"] < SLEEP_S


def test_wall_time_is_that_of_the_program(attempts: dict[str, dict[str, Any]]) -> None:
    assert attempts["sleep"]["wall_s"] >= SLEEP_S
    assert attempts["hold"]["wall_s"] >= 1.5


def test_peak_memory_is_that_of_one_process(attempts: dict[str, dict[str, Any]]) -> None:
    between(HELD_MB, attempts["hold"]["peak_rss_bytes"] / MB, HELD_MB + PYTHON_MB)
    assert attempts["sleep"]["peak_rss_bytes"] / MB < PYTHON_MB


def test_peak_memory_is_that_of_the_tree(attempts: dict[str, dict[str, Any]]) -> None:
    between(2 * CHILD_MB, attempts["tree"]["peak_rss_bytes"] / MB, 2 * CHILD_MB + 3 * PYTHON_MB)


def test_bytes_are_those_that_were_moved(attempts: dict[str, dict[str, Any]]) -> None:
    between(MOVED_MB, attempts["write"]["written_bytes"] / MB, MOVED_MB + 1)
    between(MOVED_MB, attempts["read"]["read_bytes"] / MB, MOVED_MB + PYTHON_MB)
    assert attempts["read"]["written_bytes"] < MB
    assert attempts["sleep"]["written_bytes"] < MB
    assert attempts["write"]["read_bytes"] / MB < MOVED_MB


def test_every_attempt_has_its_place_and_the_parts_of_its_time(
    attempts: dict[str, dict[str, Any]],
) -> None:
    assert set(attempts) == set(PROGRAMS)
    for attempt in attempts.values():
        assert attempt["cause"] == "finished"
        assert attempt["vm"] in ("local-1", "local-2")
        assert attempt["slot"] == 1
        assert 0 < attempt["stage_s"] < attempt["wall_s"]
        assert attempt["queue_s"] >= 0


def test_who_waits_for_a_slot_has_a_queue_time_and_a_slot_has_one_at_a_time(
    console: Console,
) -> None:
    step = Step("wait", f"sleep {SLEEP_S}\n" + 'printf "ID\\n%s\\n" "$1" > ERelation.txt\n')
    rows = [(str(number),) for number in range(1, 5)]
    spec = write_workflow(console.directory / "wf", [step], rows)
    run = console.run(spec, fleet="1xlocal:2")
    found = console.rows(
        "SELECT slot, extract(epoch FROM attempt.started_at - created_at)::float,"
        " extract(epoch FROM attempt.started_at)::float,"
        " extract(epoch FROM attempt.ended_at)::float FROM attempt"
        " JOIN activation USING (run_id, activation_id) WHERE run_id = %s"
        " ORDER BY attempt.started_at",
        run["run_id"],
    )
    assert sorted(slot for slot, *_ in found) == [1, 1, 2, 2]
    queued_s = [queue for _, queue, *_ in found]
    assert min(queued_s) >= 0
    assert all(queue >= SLEEP_S for queue in queued_s[2:])
    for slot in (1, 2):
        (_, _, _, first_ended), (_, _, second_started, _) = [row for row in found if row[0] == slot]
        assert first_ended <= second_started
