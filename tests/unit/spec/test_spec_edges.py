"""Explicit edges: activations that name their parents, and what is wrong with some of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.spec.loader import Broken, Load

EDGES = (
    ('type="MAP"', 'type="MAP" id="id" parents="Parents"'),
    (
        '<field name="X" type="float" input="numbers"/>',
        '<field name="X" type="float" input="numbers"/><field name="PARENTS" type="string"'
        ' input="numbers"/>',
    ),
)
HEADER = "ID;X;PARENTS\n"


def test_edges_are_two_fields_of_the_dataset(load: Load) -> None:
    loaded = load(*EDGES, data=f"{HEADER}a;1;\nb;1;a\nc;1;a  b\n")
    (activity,) = loaded.workflow.activities
    assert (activity.id_field, activity.parents_field) == ("ID", "PARENTS")
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("rows", "line", "found", "expected"),
    [
        ("a;1;\nb;1;c\n", 3, "the parent c of b", "the id of another activation"),
        ("a;1;\nb;1;b\n", 3, "b as its own parent", "other parents, or none"),
        ("a;1;\nb;1;\na;1;\n", 4, "a second activation with the id a", "an id of its own"),
        ("a;1;\n;1;\n", 3, "the id ''", "one word"),
        ("a;1;\nb c;1;\n", 3, "the id 'b c'", "one word"),
        ("a;1;c\nb;1;a\nc;1;b\n", 2, "the cycle a → b → c → a", "take one parent away"),
        ("z;1;b\na;1;b\nb;1;a\n", 3, "the cycle a → b → a", "take one parent away"),
    ],
)
def test_a_wrong_edge_is_told_with_the_line_of_its_tuple(
    rows: str, line: int, found: str, expected: str, broken: Broken, tmp_path: Path
) -> None:
    (defect,) = broken(*EDGES, data=HEADER + rows)
    assert (defect.file, defect.line) == (str(tmp_path / "numbers.txt"), line)
    assert defect.found == found
    assert expected in defect.expected


def test_parents_may_come_later_and_from_other_activities(load: Load, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("ID;PARENTS\nz;a\n")
    second = (
        '<activity tag="second" type="MAP" id="ID" parents="PARENTS" activation="p">'
        '<relation reltype="Input" name="more"/><relation reltype="Output" name="o"/>'
        '<field name="ID" type="string" input="more"/>'
        '<field name="PARENTS" type="string" input="more"/></activity></conceptualWorkflow>'
    )
    loaded = load(
        *EDGES,
        ("</conceptualWorkflow>", second),
        ("</exec", '<relation name="more" filename="more.txt"/></exec'),
        data=f"{HEADER}b;1;z\na;1;\n",
    )
    assert len(loaded.workflow.datasets) == 2


def test_a_long_cycle_is_told_by_its_beginning(broken: Broken) -> None:
    rows = "".join(f"t{n};1;t{(n + 99) % 100}\n" for n in range(100))
    (defect,) = broken(*EDGES, data=HEADER + rows)
    assert defect.found == ("the cycle t0 → t1 → t2 → t3 → t4 → t5 → t6 → t7 → t8 → t9 → … → t0")


def test_after_twenty_wrong_edges_the_rest_is_counted(broken: Broken) -> None:
    rows = "".join(f"t{n};1;u{n}\n" for n in range(30))
    defects = broken(*EDGES, data=HEADER + rows)
    assert len(defects) == 21
    assert (defects[20].line, defects[20].found) == (22, "10 more problems from here on")


@pytest.mark.parametrize(
    ("attributes", "operator"),
    [
        ('id="ID"', "MAP"),
        ('parents="PARENTS"', "MAP"),
        ('id="ID" parents="PARENTS"', "FILTER"),
    ],
)
def test_edges_need_both_fields_and_a_map(attributes: str, operator: str, broken: Broken) -> None:
    changed = ('type="MAP"', f'type="{operator}" {attributes}')
    (defect,) = broken(changed, EDGES[1], data=f"{HEADER}a;1;\n")
    assert (defect.line, defect.found) == (4, "explicit edges in activity square")
    assert defect.expected == "both id and parents, in a MAP activity that reads a dataset"


def test_edges_need_a_dataset_whose_ids_are_known_beforehand(broken: Broken) -> None:
    second = (
        '<activity tag="second" type="MAP" id="ID" parents="Y" activation="p">'
        '<relation reltype="Input" dependency="square"/><relation reltype="Output" name="o"/>'
        "</activity></conceptualWorkflow>"
    )
    (defect,) = broken(("</conceptualWorkflow>", second))
    assert (defect.line, defect.found) == (11, "explicit edges in activity second")


def test_an_edge_field_must_be_there(broken: Broken) -> None:
    (defect,) = broken(('type="MAP"', 'type="MAP" id="IDD" parents="ID"'))
    assert (defect.line, defect.found) == (4, 'id="IDD"')
    assert defect.expected == "a field of numbers: ID, X; did you mean ID?"
