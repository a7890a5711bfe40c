"""Activities in SQL: what is said before the database sees them."""

from __future__ import annotations

import pytest

from scicore.model.workflow import Operator
from tests.unit.spec.loader import Broken, Load


def query(sql: str, operator: str = "SR_QUERY", more: str = "") -> tuple[tuple[str, str], ...]:
    return (
        ('type="MAP"', f'type="{operator}" {more}'),
        ("bin/square %=ID% %=X%", sql),
    )


@pytest.mark.parametrize("operator", ["SR_QUERY", "MR_QUERY"])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, x * x AS y FROM numbers",
        "select ewkfid, %=KEY%, id, x FROM numbers WHERE ewkfid = %=EWKFID%",
        "WITH n AS (SELECT * FROM numbers) SELECT id, x FROM n;",
        "(SELECT id, x FROM numbers) UNION ALL (SELECT id, -x FROM numbers)",
        "/* squares; all of them */ SELECT id, x FROM numbers WHERE id &lt;&gt; 'a;b -- c'",
        "SELECT id, x -- one&#10;FROM numbers",
        "SELECT &quot;id;1&quot;, $q$;$q$, x FROM numbers --",
    ],
)
def test_a_query_is_one_select(sql: str, operator: str, load: Load) -> None:
    loaded = load(*query(sql, operator))
    (activity,) = loaded.workflow.activities
    assert activity.operator is Operator(operator)
    assert activity.command.lower().lstrip("( ").startswith(("select", "with", "/*"))
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("sql", "found", "expected"),
    [
        ("DROP TABLE numbers", "SQL that begins 'DROP TABLE numbers'", "SELECT … or WITH …"),
        ("bin/square", "SQL that begins 'bin/square'", "SELECT … or WITH …"),
        ("/* SELECT */ DELETE FROM numbers", "SQL that begins '/* SELECT", "SELECT … or WITH"),
        ("SELECT 1; DROP TABLE numbers", "several statements in one query", "one SELECT"),
        ("SELECT %=ID% FROM numbers", "the tag %=ID% in the query", "%=KEY% and %=EWKFID%; fields"),
        ("SELECT %=WFDIR%", "the tag %=WFDIR% in the query", "no other tags than"),
        ("SELECT 1 -- one\nFROM numbers", "a -- comment that goes on to the end", "/* … */"),
    ],
)
def test_what_is_not_one_select_is_told(
    sql: str, found: str, expected: str, broken: Broken
) -> None:
    (defect,) = broken(*query(sql))
    assert defect.line == 4
    assert found in defect.found
    assert expected in defect.expected


@pytest.mark.parametrize(
    "attribute",
    [
        *("extractor", "template", "cpus", "memory", "runtime"),
        *("id", "parents"),
    ],
)
def test_what_only_programs_need_has_no_effect_on_a_query(attribute: str, load: Load) -> None:
    (warning,) = load(*query("SELECT id, x FROM numbers", more=f'{attribute}="1"')).warnings
    why = "has no effect: the master runs the query in the database"
    assert f":4: {attribute} of activity square {why}" in warning


def test_a_query_may_have_a_timeout(load: Load, broken: Broken) -> None:
    loaded = load(*query("SELECT id, x FROM numbers", more='timeout="2.5"'))
    assert loaded.workflow.activities[0].timeout_s == 2.5
    assert loaded.warnings == ()
    (defect,) = broken(*query("SELECT id, x FROM numbers", more='timeout="soon"'))
    assert defect.expected == "a number of seconds above 0"


def test_nor_have_variables_extractors_and_staged_files(load: Load) -> None:
    children = '<extractor invocation="e"/>\n<environment name="A"/></activity>'
    loaded = load(
        *query("SELECT id, x FROM numbers"),
        ('"X" type="float"', '"X" type="file" operation="COPY"'),
        ("</activity>", children),
        data="ID;X\na;\n",
    )
    file, extractor, variable = loaded.warnings
    assert ":8: the file of field X is not staged: the master runs the query" in file
    assert ":10: <extractor> of activity square has no effect" in extractor
    assert ":11: <environment> of activity square has no effect" in variable
    assert loaded.workflow.activities[0].staging == ()


def test_an_operand_is_for_reduce_only(broken: Broken) -> None:
    (defect,) = broken(*query("SELECT 1", more='operand="ID"'))
    assert defect.found == 'operand="ID" with type SR_QUERY'
