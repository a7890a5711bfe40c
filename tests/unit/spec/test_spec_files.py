"""File fields of datasets: where a file may be, and that it is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.spec.loader import Broken, Load

FILE_FIELD = ('name="ID" type="string"', 'name="ID" type="file"')
EXPDIR = ('"demo-1"', '"demo-1" expdir="exp"')
DATASET = ("numbers.txt", "%=WFDIR%/numbers.txt")


@pytest.fixture
def workflow(tmp_path: Path) -> Path:
    """A workflow directory `wf` with files at all the places, and one outside of it."""
    for name in ("exp/a", "exp/input/a", "exp/input/b", "a", "b", "c"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return tmp_path


def located(load: Load, value: str) -> str:
    loaded = load(FILE_FIELD, EXPDIR, DATASET, data=f"ID;X\n{value};1\n")
    return loaded.workflow.datasets[0].rows[0][0]


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("a", "exp/a"),
        ("b", "exp/input/b"),
        ("c", "c"),
        ("./input/../a", "exp/a"),
        ("input/a", "exp/input/a"),
        ("../b", "b"),
        ("exp/../c", "c"),
    ],
)
def test_a_relative_path_starts_at_expdir_then_its_input_then_wfdir(
    value: str, place: str, load: Load, workflow: Path
) -> None:
    assert located(load, value) == str(workflow / place)


def test_an_absolute_path_inside_stays_as_it_is(load: Load, workflow: Path) -> None:
    assert located(load, f"{workflow}/c") == f"{workflow}/c"
    assert located(load, f"{workflow}//exp/./a") == f"{workflow}/exp/a"


def test_no_file_is_also_an_answer(load: Load, workflow: Path) -> None:
    assert located(load, "") == ""


def test_expdir_may_lie_elsewhere_and_then_both_directories_count(
    load: Load, tmp_path_factory: pytest.TempPathFactory, workflow: Path
) -> None:
    elsewhere = tmp_path_factory.mktemp("exp")
    (elsewhere / "d").write_text("d")
    outside = ('"demo-1"', f'"demo-1" expdir="{elsewhere}"')
    for value, place in (("d", elsewhere / "d"), ("c", workflow / "c")):
        loaded = load(FILE_FIELD, outside, DATASET, data=f"ID;X\n{value};1\n")
        assert loaded.workflow.datasets[0].rows == ((str(place), "1"),)


def test_a_link_inside_may_lead_outside_because_the_user_made_it(
    load: Load, tmp_path_factory: pytest.TempPathFactory, workflow: Path
) -> None:
    big = tmp_path_factory.mktemp("archive") / "big.fits"
    big.write_text("stars")
    (workflow / "exp" / "linked.fits").symlink_to(big)
    (workflow / "archive").symlink_to(big.parent)
    assert located(load, "linked.fits") == f"{workflow}/exp/linked.fits"
    assert located(load, "archive/big.fits") == f"{workflow}/archive/big.fits"


@pytest.mark.parametrize(
    "value",
    [
        "/etc/passwd",
        "../../../../../../../../etc/passwd",
        "../../outside.txt",
        "input/../../../outside.txt",
        "{workflow}/../outside.txt",
        "{workflow}-other/x",
        "..",
        "/",
    ],
)
def test_a_path_that_leads_outside_is_refused_with_what_to_do(
    value: str, broken: Broken, workflow: Path
) -> None:
    (workflow.parent / "outside.txt").write_text("not yours")
    value = value.format(workflow=workflow)
    (defect,) = broken(FILE_FIELD, EXPDIR, DATASET, data=f"ID;X\na;1\n{value};1\n")
    assert (defect.file, defect.line) == (str(workflow / "numbers.txt"), 3)
    assert defect.found.startswith(f"{value[:40]!r} in the file field ID, which leads out")
    told = f"a file below {workflow}: move it there, or make a symbolic link to it there"
    assert defect.expected == told


def test_a_file_that_is_not_there_is_told_with_where_it_was_looked_for(
    broken: Broken, workflow: Path
) -> None:
    (defect,) = broken(FILE_FIELD, EXPDIR, DATASET, data="ID;X\nd;1\n")
    places = ", ".join(f"{workflow}/{place}" for place in ("exp/d", "exp/input/d", "d"))
    assert (defect.line, defect.expected) == (
        2,
        "an existing file, absolute or relative to expdir",
    )
    assert defect.found == f"'d' in the file field ID, which is not there: {places}"


def test_a_broken_link_is_not_there(broken: Broken, workflow: Path) -> None:
    (workflow / "exp" / "gone").symlink_to(workflow / "nowhere")
    (defect,) = broken(FILE_FIELD, EXPDIR, DATASET, data="ID;X\ngone;1\n")
    assert "which is not there" in defect.found


def test_a_directory_is_no_file(broken: Broken, workflow: Path) -> None:
    (defect,) = broken(FILE_FIELD, EXPDIR, DATASET, data="ID;X\ninput;1\n")
    assert f"which is a directory: {workflow}/exp/input" in defect.found


def test_strings_are_not_looked_for(load: Load) -> None:
    assert load(data="ID;X\n/etc/passwd;1\n").workflow.datasets[0].rows == (("/etc/passwd", "1"),)
