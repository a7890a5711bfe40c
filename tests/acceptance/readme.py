"""What a workflow's README suggests to ask."""

from __future__ import annotations

import re
from pathlib import Path

from tests.acceptance.console import Console

ROOT = Path(__file__).resolve().parents[2]


def answers(console: Console, workflow: str, run_id: int) -> list[list[dict[str, object]]]:
    """Every `query --sql "…"` of the README, asked about a run."""
    text = (ROOT / "workflows" / workflow / "README.md").read_text(encoding="utf-8")
    found = []
    for sql in re.findall(r'scicumulus query --sql "([^"]+)"', text):
        said = console("query", "--sql", sql, "--run", str(run_id), "--json")
        assert said.code == 0, f"{sql}\n{said.err}"
        found.append([*said.document])
    return found
