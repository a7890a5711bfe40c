"""What came from what: tuples, files and parents."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scicore.exports.lineage import lineage
from scicore.exports.snapshot import Snapshot
from scicore.model.workflow import Activity, Operator
from tests.unit.exports import building as b


@pytest.fixture
def run() -> Snapshot:
    return b.snapshot()


def test_parents_are_the_makers_of_the_tuples_used(run: Snapshot) -> None:
    known = lineage(run)
    parents = {row.name: known.parents(row) for row in run.activations}
    assert parents == {
        "cut.1": (),
        "cut.2": (),
        "fit.3": (1,),
        "fit.4": (1,),
        "fit.5": (2,),
        "all.6": (3, 4),
        "late.7": (6,),
    }


def test_a_file_was_made_by_whoever_first_named_it(run: Snapshot) -> None:
    makers = {file.path: file.maker for file in lineage(run).files}
    assert makers["/lab/exp/a.map"] is None  # a dataset named it
    assert makers["/lab/exp/runs/12/cut/1/p 1"] == 1
    assert makers["/lab/exp/b.map"] is None  # cut.2 passed on what no row told about


def test_a_file_that_is_named_again_stays_one_file(run: Snapshot) -> None:
    again = b.file(5, "PIECE", "/lab/exp/a.map")
    known = lineage(replace(run, files=(*run.files[:3], again)))
    assert len(known.files) == 3
    assert known.named_by[1] == known.named_by[5]


def test_a_file_that_was_written_over_is_another_file(run: Snapshot) -> None:
    over = b.file(5, "PIECE", "/lab/exp/a.map", "other content")
    known = lineage(replace(run, files=(*run.files[:3], over)))
    assert [(file.path, file.maker) for file in known.files if file.path.endswith("a.map")] == [
        ("/lab/exp/a.map", None),
        ("/lab/exp/a.map", 2),
    ]


def test_what_was_never_tried_did_not_happen(run: Snapshot) -> None:
    known = lineage(run)
    assert [row.name for row in run.activations if not known.happened(row)] == ["late.7"]


def test_the_attempt_that_finished_is_the_decisive_one(run: Snapshot) -> None:
    known = lineage(run)
    numbers = []
    for row in run.activations:
        decisive = known.decisive(row)
        numbers.append(decisive and (decisive.number, decisive.cause))
    assert numbers[2] == (2, "finished")
    assert numbers[4] == (1, "exit code")
    assert numbers[6] is None


def test_parents_by_name_as_imported_traces_have_them() -> None:
    tasks = b.relation("tasks", "ID", "PARENTS")
    task = Activity(
        "task", Operator.MAP, "x", tasks, b.SUMMARY, id_field="ID", parents_field="PARENTS"
    )
    head = b.head(workflow=replace(b.workflow(), activities=(task,)))
    run = replace(
        b.snapshot(),
        head=head,
        activations=tuple(b.activation(id, "task") for id in (1, 2, 3)),
        tuples=(
            b.tuple_(1, "tasks", {"ID": "a", "PARENTS": ""}),
            b.tuple_(2, "tasks", {"ID": "b", "PARENTS": "a"}),
            b.tuple_(3, "tasks", {"ID": "c", "PARENTS": "a b nobody"}),
        ),
        used=b.used([(1, 1), (2, 2), (3, 3)]),
        files=(),
    )
    known = lineage(run)
    assert [known.parents(row) for row in run.activations] == [(), (1,), (1, 2)]
