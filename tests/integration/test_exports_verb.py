"""`scicumulus export` itself: where it writes, what it refuses, what it never tells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from scicore.exports.formats import FORMATS
from scicore.exports.source import open_run
from scicore.provenance.connection import connect
from tests.acceptance.console import Console
from tests.acceptance.workflows import Step, write_workflow
from tests.unit.exports.at_console import count, export, require

PASSWORD = "hunter2hunter2"


@pytest.fixture(scope="module")
def console(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    user = Console(home, tmp_path_factory.mktemp("exports"))
    yield user
    user.leave_nothing()


@pytest.fixture(scope="module")
def spec(console: Console) -> Path:
    return write_workflow(console.directory / "wf", [Step("only")], [("1",), ("2",)])


@pytest.fixture(scope="module")
def run(console: Console, spec: Path) -> int:
    return int(console.run(spec)["run_id"])


@pytest.mark.parametrize("format", FORMATS)
def test_an_export_goes_to_the_current_directory_and_replaces_nothing_unasked(
    home: Path, tmp_path: Path, run: int, format: str
) -> None:
    require(format)
    user = Console(home, tmp_path)
    name = f"run-{run}.{FORMATS[format].extension}"
    first = user("export", str(run), "--format", format)
    assert first.code == 0, first
    assert first.out == f"{name}\n"
    assert [path.name for path in tmp_path.iterdir()] == [name]
    again = user("export", str(run), "--format", format, "--json")
    assert again.code == 2
    assert again.document["error"] == f"{name} is there already"
    assert user("export", str(run), "--format", format, "--force").code == 0
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["export", "last", "--format", "csv", "-o", "no/where"],
            "the directory no does not exist",
        ),
        (["export", "999999", "--format", "csv"], "there is no run 999999"),
        (["export", "last", "--format", "docx"], "'docx' is not one of"),
    ],
)
def test_bad_usage_is_told(console: Console, run: int, words: list[str], message: str) -> None:
    said = console(*words)
    assert said.code == 2
    assert message in said.err
    assert not list(console.directory.glob(".*"))


def test_a_run_that_has_not_ended_is_exported_with_a_warning(
    console: Console, spec: Path, run: int
) -> None:
    prepared = console("run", spec, "--fleet", "1xlocal", "--prepare", "--json").document
    said = console("export", str(prepared["run_id"]), "--format", "csv", "--json")
    assert said.code == 0
    assert f"warning: run {prepared['run_id']} is prepared: more may come after this" in said.err
    assert said.document["records"]["relation/input"] == 2
    assert said.document["records"]["activation"] == 0
    trace = console("export", str(prepared["run_id"]), "--format", "wfformat")
    assert trace.code == 2
    assert "a trace needs at least one" in trace.err


def test_an_export_sees_the_run_at_one_moment(console: Console, spec: Path) -> None:
    prepared = console("run", spec, "--fleet", "1xlocal", "--prepare", "--json").document
    run = prepared["run_id"]
    engine = connect(console.url).engine
    with open_run(engine, str(run)) as source:
        with psycopg.connect(console.url) as meanwhile:
            meanwhile.execute(
                "INSERT INTO tuple SELECT run_id, tuple_id + 100, relation_id, path, values"
                " FROM tuple WHERE run_id = %s",
                [run],
            )
        assert count(console, "tuple", run) == 4
        assert len(source.snapshot().tuples) == len(list(source.tuples_of("input"))) == 2
    engine.dispose()


def test_nothing_secret_is_exported(console: Console, home: Path, tmp_path: Path) -> None:
    leak = f'echo "cannot reach postgresql://ana:{PASSWORD}@db/lab" >&2; exit 1\n'
    spec = write_workflow(tmp_path / "wf", [Step("leak", leak)], [("1",)])
    text = spec.read_text(encoding="utf-8")
    spec.write_text(
        text.replace(
            "<conceptualWorkflow",
            f'<database server="db" password="{PASSWORD}"/>\n  <conceptualWorkflow',
            1,
        ).replace("/bin/leak ", f"/bin/leak --url=https://ana:{PASSWORD}@example.org/ "),
        encoding="utf-8",
    )
    run = console.run(spec, code=1)["run_id"]
    recorded = console.rows("SELECT command, stderr_tail FROM attempt WHERE run_id = %s", run)
    assert str(recorded).count(PASSWORD) == 2  # provenance keeps what programs did and said
    secrets = [PASSWORD.encode(), *server_secrets(home)]
    for format in ("csv", "parquet", "prov-json", "prov-n", "ro-crate"):
        require(format)
        target = Path(export(console, run, format)["path"])
        files = [target, *target.rglob("*")]
        content = b"".join(file.read_bytes() for file in files if file.is_file())
        assert not [secret for secret in secrets if secret in content], format


def server_secrets(home: Path) -> list[bytes]:
    """The embedded server's own password, from whichever file keeps it."""
    found = []
    for file in (home / "postgres").iterdir():
        if file.is_file() and "pass" in file.name:
            found.append(file.read_bytes().strip().rpartition(b":")[2])
    assert found
    return found
