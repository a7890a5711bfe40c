"""The report of known runs, and of one with a hundred thousand activations."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import lxml.html
import pytest
from sqlalchemy import Connection, Engine, text

from scicore.provenance.account import read_account
from scicore.provenance.connection import connect
from scicore.reports.html.page import render
from tests.integration.conftest import Ask, NewDatabase
from tests.integration.known_runs import START, _prepare

MANY = 100_000


def page(engine: Engine, run: str) -> lxml.html.HtmlElement:
    return lxml.html.document_fromstring(render(read_account(engine, run)))


def words(root: lxml.html.HtmlElement, section: str) -> str:
    [found] = root.xpath("//section[@id=$id]", id=section)
    return " ".join(" ".join(found.itertext()).split())


@pytest.fixture(scope="module")
def first(known: Engine) -> lxml.html.HtmlElement:
    return page(known, "1")


def test_the_summary_is_the_databases(first: lxml.html.HtmlElement, ask: Ask) -> None:
    facts = {
        each.get("data-fact"): each.get("data-value") for each in first.xpath("//*[@data-fact]")
    }
    assert facts["state"] == "finished"
    assert float(facts["makespan_s"]) == 30.0
    assert facts["finished"] == "21"
    assert facts["failed"] == "0"
    cost_usd = sum(float(str(row[5])) for row in ask("cost_so_far", run=1))
    assert float(facts["cost_usd"]) == pytest.approx(cost_usd)
    assert cost_usd > 0
    busy_s = sum(float(str(row[4])) for row in ask("vm_utilisation", run=1))
    offered_s = sum(float(str(row[5])) * int(str(row[2])) for row in ask("vm_utilisation", run=1))
    assert float(facts["utilisation"]) == pytest.approx(busy_s / offered_s)


def test_the_critical_path_ends_with_the_last_and_adds_up(first: lxml.html.HtmlElement) -> None:
    time = words(first, "time")
    assert "merge.1 large-1 data of check.10" in time
    spent_s = [float(each) for each in re.findall(r" (\d+\.\d) s \d+%", time)]
    assert sum(spent_s) == pytest.approx(30.0, abs=0.3)


def test_outputs_are_followed_back_to_what_the_user_gave(first: lxml.html.HtmlElement) -> None:
    outputs = words(first, "outputs")
    assert "catalog BEST = 100" in outputs
    assert "1 tuple of catalog, made by merge.1" in outputs
    assert "2 tuples of checked, made by 2 activations of check" in outputs
    assert "2 tuples of images, given by the user" in outputs


def test_cost_moves_and_steering_are_told(first: lxml.html.HtmlElement) -> None:
    assert "large-1 large 3.6000" in words(first, "cost")
    assert "idle vm" in words(first, "gantt")
    assert "bob@lab" in words(first, "environment")


def test_failures_have_their_command_and_stderr(known: Engine) -> None:
    failures = words(page(known, "2"), "failures")
    assert "measure.2 exit code 3 on small-1, 2 attempts; blocks 2" in failures
    assert "program 2" in failures
    assert "no stars" in failures


def test_a_run_that_goes_on_says_so(known: Engine) -> None:
    root = page(known, "3")
    assert "The run goes on" in root.text_content()
    assert "no learning curve" in words(root, "learning").lower()


def test_pictures_are_shown_while_they_are_as_they_were_recorded(
    new_database: NewDatabase, tmp_path: Path
) -> None:
    engine = connect(new_database()).engine
    _prepare(engine, 1, 1)
    picture = tmp_path / "sky.png"
    picture.write_bytes(b"stars")
    digest = hashlib.sha256(b"stars").hexdigest()
    with engine.begin() as connection:
        _one_failed(connection, "")
        connection.execute(
            text(
                "INSERT INTO tuple (run_id, tuple_id, relation_id, path, values, generated_by) "
                "SELECT 1, 50, relation_id, '1', '{}', 1 FROM relation WHERE name = 'catalog'"
            )
        )
        connection.execute(
            text("INSERT INTO file VALUES (1, 50, 'BEST', :path, 5, :digest)"),
            {"path": str(picture), "digest": digest},
        )
    sources = [str(each) for each in page(engine, "1").xpath("//img/@src")]
    assert sources == ["data:image/png;base64,c3RhcnM="]
    picture.write_bytes(b"cloud")
    assert page(engine, "1").xpath("//img") == []
    picture.unlink()
    assert page(engine, "1").xpath("//img") == []
    engine.dispose()


def test_what_users_wrote_is_escaped_and_secrets_are_masked(
    new_database: NewDatabase,
) -> None:
    engine = connect(new_database()).engine
    _prepare(engine, 1, 1)
    evil = "<script>alert(1)</script> postgresql://ada:s3cret@db/x --password=hunter2"
    with engine.begin() as connection:
        _one_failed(connection, evil)
    html = render(read_account(engine, "1"))
    engine.dispose()
    assert "<script" not in html
    assert "s3cret" not in html
    assert "hunter2" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; postgresql://***" in html


def _one_failed(connection: Connection, evil: str) -> None:
    connection.execute(
        text(
            "INSERT INTO activation (run_id, activation_id, activity_id, name, key, state, vm, "
            "planned, created_at, ended_at, attempts) SELECT 1, 1, activity_id, 'measure.1', "
            "'k', 'failed', 'small-1', true, :at, :at, 1 FROM activity WHERE tag = 'measure'"
        ),
        {"at": START[1]},
    )
    connection.execute(
        text(
            "INSERT INTO attempt (run_id, activation_id, number, vm, started_at, ended_at, cause, "
            "exit_code, command, workspace, stderr_tail, activity_id) SELECT 1, 1, 1, 'small-1', "
            ":at, :at, 'exit code', 1, :evil, '/w', :evil, activity_id "
            "FROM activity WHERE tag = 'measure'"
        ),
        {"at": START[1], "evil": evil},
    )


def test_a_hundred_thousand_activations_give_a_report_that_a_browser_opens(
    engine: Engine,
) -> None:
    _prepare(engine, 1, 1)
    with engine.begin() as connection:
        connection.execute(
            text(
                """
                INSERT INTO activation (run_id, activation_id, activity_id, name, key, state, vm,
                                        planned, created_at, ended_at, attempts)
                SELECT 1, n, (SELECT activity_id FROM activity WHERE tag = 'measure'),
                       'measure.' || n, n::text, 'finished', 'small-1', false,
                       CAST(:at AS timestamptz), CAST(:at AS timestamptz) + n * interval '10 ms', 1
                FROM generate_series(1, :many) AS n
                """
            ),
            {"at": START[1], "many": MANY},
        )
        connection.execute(
            text(
                """
                INSERT INTO attempt (run_id, activation_id, number, vm, started_at, ended_at,
                                     cause, exit_code, activity_id, cpu_s, peak_rss_bytes)
                SELECT 1, activation_id, 1, vm, ended_at - interval '9 ms', ended_at, 'finished',
                       0, activity_id, 0.005, 1000000 + activation_id
                FROM activation WHERE run_id = 1
                """
            )
        )
    html = render(read_account(engine, "1"))
    assert len(html) < 1_000_000
    root: Any = lxml.html.document_fromstring(html)
    [count] = root.xpath("//tr[@data-activity='measure']/td[@data-column='finished']")
    assert count.text_content() == str(MANY)
    assert "shorter steps are left out" in words(root, "time")
