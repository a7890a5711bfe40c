"""The command-line reference is what the code says."""

from __future__ import annotations

from pathlib import Path

from scicore.cli import VERBS
from scicore.cli.page import page

DOCUMENT = Path(__file__).resolve().parents[3] / "docs/cli.md"


def test_the_reference_is_current() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == page(), (
        "write it anew: python -m scicore.cli.page > docs/cli.md"
    )


def test_the_reference_has_every_verb_with_an_example() -> None:
    text = page()
    for verb in VERBS:
        (section,) = (part for part in text.split("\n## ")[1:] if part.startswith(f"{verb}\n"))
        assert f"\n    scicumulus {verb}" in section
        assert section.count("\n    scicumulus ") >= 2, f"{verb}: usage, then an example"
