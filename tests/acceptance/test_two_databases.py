"""Two databases number their runs alike; the workflow's directory belongs to both."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.console import Console
from tests.acceptance.workflows import Step, write_workflow


def test_runs_of_two_databases_do_not_overwrite_each_other(
    fresh_home: Path, console: Console, tmp_path: Path
) -> None:
    spec = write_workflow(tmp_path / "w", [Step("only")], [["1"]])
    first = console.run(spec)
    taken = Path(first["directory"]).parent / "1"
    taken.mkdir(exist_ok=True)
    (taken / "precious").write_text("result")
    other = Console(fresh_home, tmp_path).run(spec)
    assert other["run_id"] == 1
    assert other["directory"] == f"{taken}-2"
    assert (taken / "precious").read_text() == "result"
