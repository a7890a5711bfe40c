"""docs/schema.md speaks of the schema that there is."""

from __future__ import annotations

import re
from pathlib import Path

from sqlalchemy import Engine, text

from scicore.provenance.tables import metadata

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "schema.md").read_text(encoding="utf-8")
TABLES = PAGE.partition("## What the scientist wrote")[2].partition("## Domain data")[0]
DIAGRAM = PAGE.partition("```mermaid")[2].partition("```")[0]
ORIGINAL = PAGE.partition("## Tables of the original")[2].partition("- **Numbers**")[0]


def test_every_table_is_explained_and_drawn() -> None:
    explained = set(re.findall(r"^\| `(\w+)` \|", TABLES, flags=re.MULTILINE))
    drawn = set(re.findall(r"\b(\w+) (?:\|\||\|o)--o\{ (\w+)", DIAGRAM))
    assert explained == set(metadata.tables)
    assert {name for pair in drawn for name in pair} == set(metadata.tables)


def test_the_diagram_has_every_foreign_key() -> None:
    drawn = set(re.findall(r"\b(\w+) (?:\|\||\|o)--o\{ (\w+)", DIAGRAM))
    keys = {
        (key.column.table.name, table.name)
        for table in metadata.tables.values()
        for key in table.foreign_keys
    }
    assert keys - drawn == set()
    assert drawn - keys == {("activation", "tuple")}  # generated_by: written in either order


def test_the_views_of_the_original_have_the_columns_that_the_page_lists(known: Engine) -> None:
    listed = {
        view: [re.sub(r" \(.*\)", "", column) for column in columns.split(", ")]
        for view, columns in re.findall(r"^\| `(\w+)` \| (.*) \|$", _flat(ORIGINAL), re.MULTILINE)
    }
    sql = text(
        "SELECT table_name, column_name FROM information_schema.columns"
        " WHERE table_name IN (SELECT viewname FROM pg_views WHERE schemaname = 'public')"
        " ORDER BY table_name, ordinal_position"
    )
    found: dict[str, list[str]] = {}
    with known.connect() as connection:
        for view, column in connection.execute(sql):
            found.setdefault(view, []).append(column)
    assert listed == found


def _flat(table: str) -> str:
    """A remark in parentheses may have commas of its own."""
    return re.sub(r" \([^)]*\)", "", table)
