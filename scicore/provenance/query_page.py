"""docs/queries.md, written from the headers of the query files:

python -m scicore.provenance.query_page > docs/queries.md
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from scicore.provenance.queries import NamedQuery, named_queries

_INTRODUCTION = """\
# Questions to the provenance

<!-- Written by `python -m scicore.provenance.query_page` from the headers of sql/queries/*.sql. -->

`scicumulus query` lists these questions, `scicumulus query NAME --run last` answers one; `--run`
takes a run's number, or `last`. Further parameters are given by `--set NAME=VALUE`, and `--json`
and `--csv` are there for programs. The files in `sql/queries/` also work in psql, where text needs
quotes of its own:

```
psql "$(scicumulus db url)" -v run=1 -f sql/queries/progress.sql
psql "$(scicumulus db url)" -v run=1 -v relation="'images'" -f sql/queries/tuples.sql
```

Where an answer has a limit, rows after it are left out: the views of the relations (see
[schema.md](schema.md)) and `scicumulus export` give everything. Times are seconds, sizes bytes
unless a name says otherwise; `bench/queries.py` measures every query on a million activations.
"""


def page(queries: Iterable[NamedQuery]) -> str:
    return "\n".join([_INTRODUCTION, *(_section(query) for query in queries)])


def _section(query: NamedQuery) -> str:
    parts = [f"## {query.name}\n", f"{query.question}\n"]
    needed = {name: meaning for name, meaning in query.parameters.items() if name != "run"}
    if needed:
        parts.append(_table("parameter", needed))
    parts.append(_table("column", query.columns))
    if query.limit is not None:
        parts.append(f"At most {query.limit:,} rows.\n")
    return "\n".join(parts)


def _table(title: str, meanings: Mapping[str, str]) -> str:
    rows = (f"| `{name}` | {meaning} |" for name, meaning in meanings.items())
    return "\n".join([f"| {title} | |", "|---|---|", *rows, ""])


if __name__ == "__main__":
    print(page(named_queries()), end="")
