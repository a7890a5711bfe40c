"""A dump brings back what was, also when the database has seen other workflows since."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.console import Console
from tests.acceptance.workflows import Step, write_workflow


def test_a_dump_replaces_a_database_with_newer_workflows(fresh_home: Path, tmp_path: Path) -> None:
    console = Console(fresh_home, tmp_path)
    old = write_workflow(tmp_path / "old", [Step("only")], [["1"]], tag="old")
    new = write_workflow(tmp_path / "new", [Step("only")], [["1"], ["2"]], tag="new")
    console.run(old)
    dump = tmp_path / "provenance.dump"
    assert console("db", "dump", dump).code == 0
    console.run(new)
    assert console.rows("SELECT count(*) FROM new.only_out") == [(2,)]
    restored = console("db", "restore", dump, "--yes")
    assert restored.code == 0, restored
    assert console.rows("SELECT tag FROM workflow") == [("old",)]
    assert console.rows("SELECT id FROM old.only_out") == [("1",)]
    assert console.rows("SELECT count(*) FROM pg_namespace WHERE nspname = 'new'") == [(0,)]
    assert console.run(new)["finished"] == 2
