"""Named queries about tuples and files, their lineage and what two runs share, on known runs."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import Engine

from scicore.provenance.queries import run_query
from tests.integration.conftest import Ask
from tests.integration.known_runs import measure_key


def image(n: int) -> dict[str, str]:
    return {"ID": str(n), "FILE": f"{n}.fits"}


def made_file(n: int, run: int = 1) -> str:
    return f"/stars/exp/runs/{run}/{n}-1/m.fits"


def measured(n: int, run: int = 1) -> dict[str, str]:
    return {"ID": str(n), "BRIGHTNESS": str(10 * n), "FILE": made_file(n, run)}


def checked(n: int) -> dict[str, str]:
    return {"ID": str(n), "BRIGHTNESS": str(10 * n)}


def test_outputs_are_the_tuples_that_nothing_consumes(ask: Ask) -> None:
    assert ask("outputs", run=1) == [(23, "catalog", {"BEST": "100"}, "merge.1")]
    assert ask("outputs", run=2) == []


def test_tuples_of_a_relation_come_in_their_order_with_their_makers(ask: Ask) -> None:
    assert ask("tuples", run=1, relation="measured") == [
        (10 + n, str(n), measured(n), f"measure.{n}") for n in range(1, 11)
    ]
    assert ask("tuples", run=2, relation="IMAGES") == [
        (1, "1", image(1), None),
        (2, "2", image(2), None),
    ]
    assert ask("tuples", run=2, relation="unknown") == []


def test_lineage_goes_back_to_the_inputs(ask: Ask) -> None:
    assert ask("lineage", run=1, tuple=23) == [
        (0, 23, "catalog", {"BEST": "100"}, "merge.1"),
        (1, 21, "checked", checked(9), "check.9"),
        (1, 22, "checked", checked(10), "check.10"),
        (2, 19, "measured", measured(9), "measure.9"),
        (2, 20, "measured", measured(10), "measure.10"),
        (3, 9, "images", image(9), None),
        (3, 10, "images", image(10), None),
    ]
    assert ask("lineage", run=1, tuple=99) == []


def test_lineage_forward_goes_on_to_the_results(ask: Ask) -> None:
    assert ask("lineage_forward", run=1, tuple=9) == [
        (0, 9, "images", image(9), None),
        (1, 19, "measured", measured(9), "measure.9"),
        (2, 21, "checked", checked(9), "check.9"),
        (3, 23, "catalog", {"BEST": "100"}, "merge.1"),
    ]
    assert ask("lineage_forward", run=1, tuple=3) == [  # the filter kept its measure back
        (0, 3, "images", image(3), None),
        (1, 13, "measured", measured(3), "measure.3"),
    ]


def test_lineage_of_a_file_goes_back_through_tuples_and_their_files(ask: Ask) -> None:
    assert ask("lineage_of_file", run=1, path=made_file(10)) == [
        (0, 20, "measured", measured(10), [made_file(10)], "measure.10"),
        (1, 10, "images", image(10), ["/data/10.fits"], None),
    ]
    assert ask("lineage_of_file", run=1, path="/nowhere") == []


def test_lineage_forward_of_a_file_goes_on_to_the_results(ask: Ask) -> None:
    assert ask("lineage_forward_of_file", run=1, path="/data/10.fits") == [
        (0, 10, "images", image(10), ["/data/10.fits"], None),
        (1, 20, "measured", measured(10), [made_file(10)], "measure.10"),
        (2, 22, "checked", checked(10), [], "check.10"),
        (3, 23, "catalog", {"BEST": "100"}, [], "merge.1"),
    ]


def test_inputs_of_best_are_found_by_the_value_of_any_field(ask: Ask) -> None:
    best = {"relation": "measured", "field": "brightness", "top": 2}
    assert ask("inputs_of_best", run=1, best="highest", **best) == [
        (1, 100.0, 20, 10, "images", image(10)),
        (2, 90.0, 19, 9, "images", image(9)),
    ]
    assert ask("inputs_of_best", run=1, best="lowest", **best) == [
        (1, 10.0, 11, 1, "images", image(1)),
        (2, 20.0, 12, 2, "images", image(2)),
    ]


def test_inputs_of_best_are_all_inputs_of_a_result_of_many(ask: Ask) -> None:
    asked = {"relation": "catalog", "field": "BEST", "best": "highest", "top": 5}
    assert ask("inputs_of_best", run=1, **asked) == [
        (1, 100.0, 23, 9, "images", image(9)),
        (1, 100.0, 23, 10, "images", image(10)),
    ]


def test_values_that_are_no_numbers_are_never_the_best(ask: Ask) -> None:
    asked = {"relation": "images", "field": "FILE", "best": "highest", "top": 5}
    assert ask("inputs_of_best", run=1, **asked) == []


def test_changes_between_runs_say_what_is_new_gone_or_different(ask: Ask) -> None:
    assert ask("changes_between_runs", run=3, other=2) == [
        ("activation", "check.2", None, "blocked"),
        ("activation", "measure.3", "ready", None),
        ("activation", "merge.1", None, "blocked"),
        ("work", "measure.2", measure_key("values of measure.2"), measure_key("other values")),
        ("state", "check.1", "ready", "finished"),
        ("state", "measure.2", "running", "failed"),
    ]


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        ("checked", [("1", None, checked(1))]),
        ("images", [("3", image(3), None)]),
        ("measured", []),  # the same, but for the runs' directories in the paths of files
        ("elsewhere", []),
    ],
)
def test_tuples_between_runs_are_those_with_other_values(
    ask: Ask, relation: str, expected: list[tuple[object, ...]]
) -> None:
    found = ask("tuples_between_runs", run=3, other=2, relation=relation)
    assert [(path, *map(_parsed, values)) for path, *values in found] == expected


def test_times_between_runs_compare_the_means_of_activities(ask: Ask) -> None:
    assert ask("times_between_runs", run=3, other=2) == [
        ("measure", 1, 1, 1.0, 2.0, 0.5),
        ("check", 0, 1, None, 1.0, None),
    ]


def test_a_run_does_not_differ_from_itself(ask: Ask) -> None:
    assert ask("changes_between_runs", run=1, other=1) == []
    assert ask("tuples_between_runs", run=1, other=1, relation="measured") == []
    assert {row[-1] for row in ask("times_between_runs", run=1, other=1)} == {1.0}


def _parsed(text: object) -> object:
    try:
        return json.loads(str(text)) if text is not None else None
    except json.JSONDecodeError:
        return text


def test_reuse_finds_the_same_work_in_the_latest_earlier_run(ask: Ask) -> None:
    assert ask("reuse", run=1) == []
    assert ask("reuse", run=2) == [
        ("measure.1", "finished", 1, 1.0),
        ("check.1", "finished", 1, 1.0),
        ("check.2", "blocked", 1, 1.0),
        ("merge.1", "blocked", 1, 5.0),
    ]
    assert ask("reuse", run=3) == [
        ("measure.1", "finished", 2, 2.0),
        ("measure.2", "running", 1, 1.0),
        ("measure.3", "ready", 1, 1.0),
        ("check.1", "ready", 2, 1.0),
    ]


def test_domain_data_joins_with_the_execution_in_one_question(known: Engine) -> None:
    answer = run_query(
        known,
        """
        SELECT measured.brightness, activation.name, activation.vm
        FROM stars.measured
        JOIN activation ON activation.run_id = measured.run_id
                       AND activation.activation_id = measured.generated_by
        WHERE measured.run_id = :run AND measured.brightness > 80
        ORDER BY measured.brightness
        """,
        {"run": 1},
    )
    assert answer.rows == [(90.0, "measure.9", "small-1"), (100.0, "measure.10", "large-1")]
