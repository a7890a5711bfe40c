"""A run is looked at while it goes on, and when it is over; part of it fails."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import pytest
from PIL import Image

from tests.acceptance.browser import look_at, photograph, print_on_paper
from tests.acceptance.console import PATIENCE_S, SCICUMULUS, Console, Said, eventually, finish
from tests.acceptance.workflows import PASS_ON, Step, write_workflow

SECRET = "postgresql://ada:s3cret-canary@db/stars"
# The first says something and ends, the second fails, the third waits until the test has looked.
SHOW = f"""
echo "hello from $1"
if [ "$1" = 2 ]; then
    echo "cannot reach {SECRET} <script>alert(1)</script>" >&2
    exit 3
fi
place="$(dirname "$0")"
if [ "$1" = 3 ]; then
    for patience in $(seq 1 3000); do
        [ ! -e "$place/go" ] || break
        sleep 0.1
    done
fi
{PASS_ON}"""


@dataclass
class Seen:
    """What was said while the run went on, and how it ended."""

    console: Console
    run_id: str
    screen: str  # of the terminal in which it was started
    code: int
    said: dict[str, Said]
    watched: Said

    def explained(self, name: str) -> str:
        return " ".join(self.said[f"explain {name}"].out.split())


@pytest.fixture(scope="module")
def seen(module_console: Console) -> Seen:
    console = module_console
    steps = [Step("show", SHOW), Step("after", after="show")]
    spec = write_workflow(
        console.directory / "w", steps, [["1"], ["2"], ["3"]], max_failure=2, tag="seen"
    )
    process, screen, reader = in_terminal(console, "run", spec, "--fleet", "1xlocal:2")
    [run] = eventually(
        lambda: console.rows("SELECT run_id FROM run JOIN workflow USING (workflow_id) "
                             "WHERE tag = 'seen'"), "the run is stored",
    )  # fmt: skip
    run_id = str(run[0])
    eventually(lambda: states(console, run_id) == EXPECTED, f"only show.3 is left: {EXPECTED}")
    watching = console.start(SCICUMULUS, "watch", run_id)
    questions = [
        ("status", run_id),
        ("status", run_id, "--json"),
        ("explain", "show.2", "--run", run_id),
        ("explain", "show.3", "--run", run_id),
        ("explain", "after.3", "--run", run_id),
        ("explain", "after.2", "--run", run_id),
        ("explain", "after.1", "--run", run_id, "--json"),
        ("logs", "show.1", "--run", run_id),
        ("logs", "show.2", "--run", run_id, "--json"),
        ("logs", "show.3", "--run", run_id),
        ("logs", "after.2", "--run", run_id),
        ("logs", "show.9", "--run", run_id),
    ]
    answers = console.together(questions)
    assert watching.stderr is not None
    first = watching.stderr.readline()  # nothing more is said before the next thing happens
    (console.directory / "w/bin/go").touch()
    code = process.wait(PATIENCE_S)
    reader.join(PATIENCE_S)
    said = {
        " ".join(each for each in words if each not in ("--run", run_id)): answer
        for words, answer in zip(questions, answers, strict=True)
    }
    watched = finish(watching)
    watched = Said(watched.code, watched.out, first + watched.err)
    return Seen(console, run_id, plain(b"".join(screen)), code, said, watched)


EXPECTED = {
    *(("show.1", "finished"), ("show.2", "failed"), ("show.3", "running")),
    *(("after.1", "finished"), ("after.2", "blocked")),
}


def states(console: Console, run_id: str) -> set[tuple[str, str]]:
    return set(console.rows("SELECT name, state FROM activation WHERE run_id = %s", run_id))


def in_terminal(
    console: Console, *words: str | Path
) -> tuple[subprocess.Popen[bytes], list[bytes], Thread]:
    """As somebody at a terminal of 100 columns starts it."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    process = subprocess.Popen(
        [SCICUMULUS, *words],
        cwd=console.directory,
        env={**console.environment, "TERM": "xterm-256color"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    seen: list[bytes] = []

    def read() -> None:
        try:
            while chunk := os.read(ours, 65536):
                seen.append(chunk)
        except OSError:  # the other end is closed
            pass
        os.close(ours)

    reader = Thread(target=read, daemon=True)
    reader.start()
    return process, seen, reader


def plain(screen: bytes) -> str:
    """Without what moves the cursor and colours letters."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.decode("utf-8", "replace"))


def test_the_terminal_shows_bars_slots_and_both_clocks(seen: Seen) -> None:
    assert seen.code == 1
    assert re.search(r"show +━+.* 2/3 +· +1 +1 ", seen.screen), seen.screen[-3000:]
    assert re.search(r"VMs +local-1 ■□ 1/2", seen.screen)
    assert re.search(r"clock .*planned, (as planned|.* the plan)", seen.screen)
    assert f"Run {seen.run_id} of seen: failed" in seen.screen


def test_another_terminal_watches_by_reading_provenance_alone(seen: Seen) -> None:
    assert seen.watched.code == 1
    assert f"run {seen.run_id} running: show 2/3 (1 failed)" in seen.watched.err
    assert f"run {seen.run_id} failed: show 3/3 (1 failed), after 3/3" in seen.watched.err
    assert "failed" in seen.watched.out


def test_status_is_the_same_screen_once(seen: Seen) -> None:
    assert re.search(r"show +━.* 2/3 ", seen.said["status"].out)
    document = seen.said["status --json"].document
    assert document["vms"] == [
        {"vm": "local-1", "vm_type": "local", "slots": 2, "state": "joined", "running": 1}
    ]
    assert document["attended"] is True
    assert document["behind_plan_s"] is not None


def test_explain_tells_why_something_does_not_run(seen: Seen) -> None:
    assert "after.3 of run" in seen.explained("after.3")
    assert "it waits for 1 of 1: show.3 (running)" in seen.explained("after.3")
    blocked = seen.explained("after.2")
    assert "it can never run: show.2 failed" in blocked
    assert f"scicumulus explain show.2 --run {seen.run_id}" in blocked


def test_explain_tells_why_something_ran_where_and_when(seen: Seen) -> None:
    failed = seen.explained("show.2")
    assert re.search(r"plan \d+ \(reassign-plus\) has it as \d of 6, on local-1, from", failed)
    assert "as planned" in failed
    assert failed.count("did not finish: its program ended with exit code 3") == 2
    assert "attempt 1 started at" in seen.explained("show.3")
    assert "is still running" in seen.explained("show.3")
    told = seen.said["explain after.1 --json"].document
    assert told["state"] == "finished"
    assert any("when show.1 finished" in reason for reason in told["reasons"])


def test_logs_have_every_attempt_with_command_workspace_and_streams(seen: Seen) -> None:
    first = seen.said["logs show.1"].out
    assert "bin/show 1" in first
    assert "runs/" in first
    assert "hello from 1" in first
    attempts = seen.said["logs show.2 --json"].document["attempts"]
    assert [each["number"] for each in attempts] == [1, 2]
    for each in attempts:
        assert each["exit_code"] == 3
        assert each["stdout"]["text"] == "hello from 2\n"
        assert each["stderr"]["text"].startswith("cannot reach postgresql://*** <script>")
    assert "hello from 3" in seen.said["logs show.3"].out  # though it is still running
    assert "it was never started" in seen.said["logs after.2"].out
    unknown = seen.said["logs show.9"]
    assert unknown.code == 2
    assert "did you mean show." in unknown.err


def test_a_browser_shows_the_report_with_the_numbers_of_the_database(seen: Seen) -> None:
    console, file = seen.console, seen.console.directory / "report.html"
    said = console("report", seen.run_id, "-o", file, "--json")
    assert said.code == 0, said
    assert said.document["path"] == str(file)
    page = look_at(file)
    assert page.console == []
    [(state, attempts, makespan_s)] = console.rows(
        "SELECT state, (SELECT count(*) FROM attempt WHERE attempt.run_id = run.run_id), "
        "extract(epoch FROM ended_at - started_at)::float FROM run WHERE run_id = %s",
        seen.run_id,
    )
    assert page.fact("state") == state == "failed"
    assert float(page.fact("makespan_s")) == pytest.approx(makespan_s)
    assert page.fact("failed") == "1"
    assert page.fact("finished") == "4"
    for activity, column, count, mean_s, peak in console.rows(
        "SELECT tag, 'attempts', count(*), avg(extract(epoch FROM attempt.ended_at - started_at)) "
        "FILTER (WHERE cause = 'finished')::float, max(peak_rss_bytes) "
        "FILTER (WHERE cause = 'finished') "
        "FROM attempt JOIN activity USING (activity_id) WHERE run_id = %s GROUP BY tag",
        seen.run_id,
    ):
        assert page.cell("activity", activity, column).text_content() == str(count)
        mean = page.cell("activity", activity, "mean_s").get("data-value")
        assert float(mean) == pytest.approx(mean_s)
        peak_bytes = page.cell("activity", activity, "peak_bytes").get("data-value")
        assert float(peak_bytes) == pytest.approx(peak)
    assert page.cell("vm", "local-1", "attempts").text_content() == str(attempts)
    words = page.root.text_content()
    assert "cannot reach postgresql://*** <script>alert(1)</script>" in words
    assert "s3cret-canary" not in file.read_text(encoding="utf-8")
    assert page.root.xpath("//script | //link | //img | //iframe") == []
    for chart in ("gantt", "workflow", "activities", "vms"):
        [section] = page.root.xpath("//section[@id=$id]", id=chart)
        assert section.xpath(".//*[local-name()='svg']"), chart


def test_the_report_is_light_dark_and_printable(seen: Seen) -> None:
    directory = seen.console.directory
    file = directory / "pictures.html"
    assert seen.console("report", seen.run_id, "-o", file).code == 0
    light, dark, paper = directory / "light.png", directory / "dark.png", directory / "paper.pdf"
    photograph(file, light)
    photograph(file, dark, "--blink-settings=preferredColorScheme=0")
    print_on_paper(file, paper)
    corners = [Image.open(picture).convert("L").getpixel((3, 3)) for picture in (light, dark)]
    assert corners[0] > 240  # type: ignore[operator]
    assert corners[1] < 60  # type: ignore[operator]
    colours = Image.open(light).convert("RGB").getcolors(maxcolors=2**24)
    assert colours is not None
    assert len(colours) > 100
    assert paper.read_bytes().startswith(b"%PDF")


def test_a_report_replaces_reports_alone(seen: Seen) -> None:
    file = seen.console.directory / "notes.html"
    file.write_text("mine", encoding="utf-8")
    said = seen.console("report", seen.run_id, "-o", file)
    assert said.code == 2
    assert "is no report" in said.err
    assert file.read_text(encoding="utf-8") == "mine"


def test_a_page_that_complains_would_be_noticed(tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text("<script>console.error('ouch')</script>", encoding="utf-8")
    assert any("ouch" in line for line in look_at(page).console)
