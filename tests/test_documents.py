"""What the documents say is true: verbs and options exist, links lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from scicore.cli import VERBS, scicumulus

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("workflows/*/README.md")]
)
# A line of a block (indented, or fenced), or a span in a sentence, which may go over a line end.
COMMAND = re.compile(r"^ *(?:\$ )?(scicumulus [a-z][^\n]*)$|`(scicumulus\s[a-z][^`]*)`", re.M)
LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")


def commands(text: str) -> Iterator[list[str]]:
    """Their words up to the first that a shell, SQL or a comment would begin."""
    for line, span in COMMAND.findall(text):
        yield re.split(r"""\s[#|>&"']|;|…""", " ".join((line or span).split()))[0].split()


def known_options(words: list[str]) -> set[str]:
    """What the verb (or the verb below a verb) takes; an unknown verb is an error."""
    command: click.Command = scicumulus
    context = click.Context(scicumulus)
    for word in words:
        if not isinstance(command, click.Group):
            break
        # a|b|c in a sentence stands for each of them
        for name in reversed(word.split("|")):
            below = command.get_command(context, name)
            if below is None and command is not scicumulus:  # `explain NAME` goes to one of them
                return {"--help"}.union(*map(options, command.commands.values()))
            assert below is not None, f"no such verb: {name}"
        assert below is not None
        command = below
    return {"--help", "-h", *options(command)}


def options(command: click.Command) -> set[str]:
    return {name for each in command.params for name in (*each.opts, *each.secondary_opts)}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_in_a_document_has_a_verb_and_options_that_exist(path: Path) -> None:
    for words in commands(path.read_text(encoding="utf-8")):
        if words[1:2] and words[1] != "VERB":
            words = words[: words.index("--")] if "--" in words else words  # the rest is another's
            known = known_options(words[1:])
            given = {word.partition("=")[0] for word in words[2:] if re.match(r"--?[a-z]", word)}
            assert given <= known, f"{' '.join(words)}: no such option: {given - known}"


def test_the_check_finds_what_does_not_exist() -> None:
    (wrong,) = commands("Then type\n\n    scicumulus run workflow.xml --flet 2xlocal  # oh\n")
    assert wrong == ["scicumulus", "run", "workflow.xml", "--flet", "2xlocal"]
    assert "--flet" not in known_options(wrong[1:])
    with pytest.raises(AssertionError, match="no such verb: runn"):
        known_options(["runn"])


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_in_a_document_leads_to_a_file_and_a_heading(path: Path) -> None:
    for link in LINK.findall(path.read_text(encoding="utf-8")):
        place, _, anchor = link.partition("#")
        target = (path.parent / place).resolve() if place else path
        assert target.exists(), f"{path.name}: {link}"
        if anchor:
            assert anchor in anchors(target), f"{path.name}: {link}"


def anchors(document: Path) -> set[str]:
    """As GitHub makes them from headings."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", each.lower()).strip().replace(" ", "-") for each in headings}


def test_links_lead_from_the_readme_to_every_document() -> None:
    found, new = set[Path](), {ROOT / "README.md"}
    while new:
        found |= new
        new = {
            (path.parent / link.partition("#")[0]).resolve()
            for path in new
            for link in LINK.findall(path.read_text(encoding="utf-8"))
            if link.partition("#")[0].endswith(".md")
        } - found
    assert {path for path in DOCUMENTS if path not in found} == set()


def test_every_verb_is_in_the_reference() -> None:
    reference = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    assert [verb for verb in VERBS if f"\n## {verb}\n" not in reference] == []
