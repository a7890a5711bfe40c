"""Runs and plans from Python: the page about it is executed, then what goes wrong."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import scicore
from scicore.errors import SpecificationError, UsageError
from tests.acceptance.console import Console, eventually, finish
from tests.acceptance.workflows import PASS_ON, Step, write_workflow

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KINDS = ("t3.micro", "c5.large")
FAILS = f"""
echo "image $1 has no stars" >&2
[ "$1" != 2 ] || exit 3
{PASS_ON}"""


@pytest.fixture
def there(console: Console, monkeypatch: pytest.MonkeyPatch) -> Iterator[Console]:
    """Python as this console's user would start it."""
    for name, value in console.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SCICUMULUS_DATABASE_URL", console.url)
    monkeypatch.chdir(console.directory)
    yield console
    from scicore.notebook import run

    for database in run._databases.values():
        database.engine.dispose()
    run._databases.clear()


def test_every_block_of_the_page_does_what_it_says(there: Console) -> None:
    climate = ROOT / "workflows/climate"
    for name in ("workflow.xml", "input", "bin"):
        copy = shutil.copytree if (climate / name).is_dir() else shutil.copy
        copy(climate / name, there.directory / name)
    found: dict[str, Any] = {}
    for block in BLOCK.findall((ROOT / "docs/python.md").read_text(encoding="utf-8")):
        exec(block, found)
    run, plan = found["run"], found["plan"]
    assert re.fullmatch(
        r"<Run \d+ of climate: finished, 72 of 72 activations finished in .* s, planned .* s>",
        repr(run),
    )
    counted = there.rows("SELECT count(*) FROM activation WHERE run_id = %s", run.id)
    assert [(len(found["activations"]),)] == counted
    assert set(found["activations"]["state"]) == {"finished"}
    [(mean_s,)] = there.rows(
        "SELECT avg(extract(epoch FROM ended_at - started_at))::float FROM attempt "
        "WHERE run_id = %s", run.id,
    )  # fmt: skip
    assert found["activations"]["took_s"].mean() == pytest.approx(mean_s)
    assert len(found["warming"]) == 6
    assert found["warming"]["WARMING"].dtype == float
    assert found["lineage"]["relation"].iloc[0] == "stations_warming"
    assert (there.directory / "report.html").read_text(encoding="utf-8") == found["report"].html
    assert "<iframe" in found["report"]._repr_html_()
    assert list(found["table"]["makespan_s"]) == sorted(found["table"]["makespan_s"])
    assert set(found["table"]["algorithm"]) == {"fcfs", "heft", "reassign-plus"}
    assert len(plan.assignments()) == plan.activations == 72
    assert plan.makespan_s >= plan.lower_bound_s
    assert plan.front is None
    best, rented = found["best"], found["rented"]
    assert best.front.kept
    assert best.front.probability >= best.front.confidence == 0.9
    assert best.id == best.front.plans[0].id  # the limit is generous
    assert list(found["front"]["plan_id"]) == [each.id for each in best.front]
    assert list(found["front"]["chosen"]).count(True) == 1
    times = [each.makespan_s for each in best.front]
    assert times == sorted(times)
    cheapest = found["cheapest"]
    assert cheapest.cost_usd == min(each.cost_usd for each in best.front)
    assert set(cheapest.assignments()["vm"]) <= {f"{kind}-{n}" for kind in KINDS for n in range(5)}
    assert rented.fleet != "auto"
    assert rented.id in {each.id for each in rented.front}
    # A front's plans are asked about on their own VMs.
    assert cheapest.compare(["heft"], progress=False)["cost_usd"][0] >= 0


def test_a_run_that_fails_raises_with_command_host_and_last_words(there: Console) -> None:
    spec = write_workflow(
        there.directory / "w",
        [Step("fit", FAILS), Step("after", after="fit")],
        [["1"], ["2"]],
        max_failure=2,
    )
    with pytest.raises(scicore.RunFailed) as caught:
        scicore.run(spec, fleet="1xlocal", progress=False)
    failure = caught.value
    [(host,)] = there.rows("SELECT host FROM vm WHERE run_id = %s", failure.run.id)
    assert (failure.activation, failure.vm, failure.host) == ("fit.2", "local-1", host)
    assert failure.program_exit_code == 3
    assert failure.command.endswith("/bin/fit 2")
    assert failure.stderr == "image 2 has no stars"
    assert (failure.failed, failure.blocked, failure.attempts) == (1, 1, 2)
    assert all(part in str(failure) for part in (failure.command, host, failure.stderr))
    attempts = failure.run.attempts()
    assert list(attempts[attempts["name"] == "fit.2"]["exit_code"]) == [3, 3]
    assert scicore.attach(failure.run.id).state == "failed"


def test_mistakes_are_told_apart(there: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = there.directory / "broken.xml"
    broken.write_text("<SciCumulus/>", encoding="utf-8")
    with pytest.raises(SpecificationError) as caught:
        scicore.run(broken, progress=False)
    assert caught.value.defects[0].file == str(broken)
    spec = write_workflow(there.directory / "w", [Step("fit")], [["1"]])
    with pytest.raises(UsageError, match=r"VM type 'moon' is not known\n.*known types: local"):
        scicore.plan(spec, fleet="2xmoon", progress=False)
    with pytest.raises(UsageError, match="there is no run 99999"):
        scicore.attach(99999)
    plan = scicore.plan(spec, fleet="1xlocal", algorithm="heft", progress=False)
    # A minute is paid at least, whatever earlier runs tell about its runtime.
    dear = scicore.plan(spec, fleet="1xt2.micro", max_cost=1e-6, algorithm="heft", progress=False)
    assert dear.front is not None
    assert dear.front.kept is False
    assert len(dear.front) == 1
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match=r'pip install "scicumulus\[notebook\]"'):
        plan.assignments()


def test_an_interrupt_stops_the_run_before_it_reaches_the_notebook(console: Console) -> None:
    wait = f"touch begun; for patience in $(seq 1 600); do sleep 0.1; done\n{PASS_ON}"
    spec = write_workflow(console.directory / "w", [Step("fit", wait)], [["1"]], tag="patience")
    code = f"import scicore; scicore.run({str(spec)!r}, fleet='1xlocal')"
    process = console.start(sys.executable, "-c", code)
    going_on = "SELECT run_id FROM run JOIN workflow USING (workflow_id) JOIN activation USING "
    going_on += "(run_id) WHERE tag = 'patience' AND activation.state = 'running'"
    [(run_id,)] = eventually(lambda: console.rows(going_on), "the program runs")
    os.kill(process.pid, signal.SIGINT)
    said = finish(process)
    assert "KeyboardInterrupt" in said.err
    assert console.rows("SELECT state FROM run WHERE run_id = %s", run_id) == [("stopped",)]


def test_importing_scicore_imports_nothing_slow() -> None:
    code = (
        "import scicore, sys; scicore.RunFailed; print(*sys.modules); assert 'run' in dir(scicore)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    slow = {"pandas", "numpy", "sqlalchemy", "click", "rich", "jinja2", "msgspec"}
    assert slow & set(done.stdout.split()) == set()
    with pytest.raises(AttributeError, match="no attribute 'walk'"):
        scicore.walk  # noqa: B018
