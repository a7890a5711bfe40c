"""An export appears whole or not at all, and replaces nothing unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from scicore.errors import ScicumulusError, UsageError
from scicore.exports.formats import FORMATS
from scicore.exports.target import check, replacing

CSV, PROV, CRATE = FORMATS["csv"], FORMATS["prov-json"], FORMATS["ro-crate"]


def test_a_new_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "run.json"
    with replacing(target) as new:
        new.write_text("half")
        assert not target.exists()
        new.write_text("whole")
    assert target.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [target]


def test_a_failure_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "run.csv"
    target.mkdir()
    (target / "run.csv").write_text("old")

    def fill_the_disk() -> None:
        with replacing(target) as new:
            new.mkdir()
            raise OSError(28, "No space left on device")

    with pytest.raises(ScicumulusError, match="No space left"):
        fill_the_disk()
    assert (target / "run.csv").read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_directory_is_replaced_as_a_whole(tmp_path: Path) -> None:
    target = tmp_path / "old"
    target.mkdir()
    (target / "run.csv").write_text("")
    (target / "relation").mkdir()
    check(target, CSV, force=True)
    with replacing(target) as new:
        new.mkdir()
        (new / "run.csv").write_text("new")
    assert [path.name for path in target.iterdir()] == ["run.csv"]
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("kind", ["file", "directory", "dangling link"])
def test_what_is_there_is_refused_without_force(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "target"
    match kind:
        case "file":
            target.write_text("")
        case "directory":
            target.mkdir()
        case _:
            target.symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="is there already") as caught:
        check(target, CSV, force=False)
    assert "--force" in caught.value.hint


@pytest.mark.parametrize("form", [CSV, PROV, CRATE])
def test_force_never_replaces_somebody_elses_directory(tmp_path: Path, form: object) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="no earlier export"):
        check(tmp_path, form, force=True)  # type: ignore[arg-type]


def test_a_missing_parent_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the directory .*/missing does not exist"):
        check(tmp_path / "missing" / "run.json", PROV, force=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is not a directory"):
        check(tmp_path / "file" / "run.json", PROV, force=True)


def test_a_crate_called_zip_is_a_file() -> None:
    assert CRATE.makes_directory(Path("run-1.crate"))
    assert not CRATE.makes_directory(Path("run-1.ZIP"))
    assert not PROV.makes_directory(Path("run-1.zip"))
