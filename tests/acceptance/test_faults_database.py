"""PostgreSQL is restarted, killed, away or read-only: programs go on and end, nothing is lost."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.acceptance.console import Console, eventually, finish
from tests.acceptance.faults import Disturbed
from tests.acceptance.test_query_activities import texts, with_query

AWAY_S = 60.0


@pytest.fixture
def run(console: Console) -> Disturbed:
    assert console.url  # so that the server is up
    console.extra |= {"PACE": "0.3"}
    return Disturbed(console, width=8)


def postmaster(console: Console) -> int:
    return int((console.home / "postgres/data/postmaster.pid").read_text().split()[0])


def test_a_restart_is_not_even_worth_a_word(run: Disturbed) -> None:
    run.start()
    run.begun(3)
    assert run.console("db", "stop").code == 0
    assert run.console("db", "start").code == 0
    said = run.finished()
    assert "error" not in said.err
    run.nothing_was_lost()
    assert set(run.causes()) == {"finished"}


def test_away_for_a_minute_programs_go_on_and_end(run: Disturbed) -> None:
    run.start()
    run.begun(3)
    run_id = run.run_id
    assert run.console("db", "stop").code == 0
    before = run.starts("square").total()
    time.sleep(AWAY_S)
    assert run.starts("square").total() + run.starts("add").total() > before + 2
    assert run.console("db", "start").code == 0
    said = run.finished()
    assert "the run goes on, results are kept on disk" in said.err
    assert "the provenance database is back" in said.err
    assert "it is started again" not in said.err  # who stops it has his reasons
    assert said.document["run_id"] == run_id
    run.nothing_was_lost()
    assert set(run.causes()) == {"finished"}


def test_away_while_the_job_dies_too(run: Disturbed) -> None:
    run.start()
    run.begun(3)
    assert run.console("db", "stop").code == 0
    run.kill(run.ranks()[0])
    eventually(lambda: not run.launcher(), "the end of the job")
    time.sleep(4)
    assert run.console("db", "start").code == 0
    said = run.finished()
    assert "the run is taken up again when it does" in said.err
    run.nothing_was_lost()


def test_a_killed_server_is_started_again(run: Disturbed) -> None:
    run.start()
    run.begun(3)
    os.kill(postmaster(run.console), signal.SIGKILL)
    said = run.finished()
    assert "though nobody stopped it; it is started again" in said.err
    run.nothing_was_lost()
    assert set(run.causes()) == {"finished"}


def test_read_only_for_a_while(run: Disturbed) -> None:
    run.start()
    run.begun(3)
    run.setting("default_transaction_read_only", "on")
    try:
        time.sleep(1)
        run.kill(run.ranks()[0])  # and the next master must wait, too
        eventually(lambda: not run.launcher(), "the end of the job")
        time.sleep(5)
    finally:
        run.setting("default_transaction_read_only", "off")
    said = run.finished()
    assert "read-only transaction" in said.err
    assert "Traceback" not in said.err
    run.nothing_was_lost()


@contextmanager
def cut_off(console: Console, times: int) -> Iterator[None]:
    """So often, ten times a second, everybody loses the session that he has."""
    url = console.url

    def cut() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            for _ in range(times):
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
                time.sleep(0.1)

    with ThreadPoolExecutor(1) as somebody:
        cutting = somebody.submit(cut)
        yield
        cutting.result()


def test_sessions_that_are_cut_keep_nobody_from_leaving_nor_from_coming_back(
    run: Disturbed,
) -> None:
    run.start()
    run.begun(3)
    with cut_off(run.console, times=15):
        run.process.send_signal(signal.SIGINT)
        said = run.finish()
    assert said.code == 4, said
    run_id = str(run.run_id)
    with cut_off(run.console, times=15):
        said = run.console("resume", run_id, "--json")
    assert said.code == 0, said
    run.nothing_was_lost(again=2)


@pytest.mark.parametrize("who", ["its session", "the master"])
def test_a_query_that_is_cut_off_is_tried_again(who: str, console: Console, tmp_path: Path) -> None:
    query = "SELECT 1, 'rows', count(*) FROM doubled, (SELECT pg_sleep(2)) AS s"
    spec = with_query(tmp_path, query)  # max_failure is 1: a failure of its own would be its end
    process = console.start("scicumulus", "run", spec, "--fleet", "2xlocal", "--json")
    asleep = "pg_stat_activity WHERE wait_event = 'PgSleep'"
    with psycopg.connect(console.url, autocommit=True) as connection:
        eventually(lambda: connection.execute(f"SELECT 1 FROM {asleep}").fetchall(), "a query")
        if who == "the master":
            os.kill(master(console), signal.SIGKILL)
        else:
            connection.execute(f"SELECT pg_terminate_backend(pid) FROM {asleep}")
    said = finish(process)
    assert said.code == 0, said
    run_id = said.document["run_id"]
    assert texts(console, run_id) == ["rows is 3"]
    causes = console.rows(
        "SELECT cause FROM attempt JOIN activation USING (run_id, activation_id)"
        " WHERE run_id = %s AND name = 'join.1' ORDER BY number",
        run_id,
    )
    assert causes == [("lost vm",), ("finished",)]
    leftovers = "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'scicumulus_query%%'"
    assert console.rows(leftovers) == [(0,)]


def master(console: Console) -> int:
    """The rank that was started first."""
    ranks = [pid for pid, words in console.processes().items() if " -m scicore " in words]
    launchers = [pid for pid, words in console.processes().items() if "mpirun" in words]
    return min({*ranks} - {*launchers})
