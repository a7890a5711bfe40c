"""Every command of README.md and of the tutorial is typed, in order, as a reader would.

What the tutorial asks to be saved or put into a file is marked by a comment above its block.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import matplotlib.image
import pytest

from tests.acceptance.console import Console, Said

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]+) -->\n)?^(?P<indent> *)```(?P<kind>\w+)\n(?P<text>.*?)^ *```$",
    re.M | re.S,
)
# CI types these itself, on a clean checkout, see .ci/run; `setup` is a part of both.
BY_CI = {"make setup", "make demo", "make test"}


@dataclass(frozen=True)
class Block:
    kind: str  # sh, xml, python
    text: str
    mark: str  # what is to be done with it


def blocks(document: Path) -> Iterator[Block]:
    for match in BLOCK.finditer(document.read_text(encoding="utf-8")):
        indent = match["indent"]
        lines = (line.removeprefix(indent) for line in match["text"].splitlines(keepends=True))
        yield Block(match["kind"], "".join(lines), match["mark"] or "")


def script(block: Block) -> str:
    """What bash is given: an exit code other than the documented one ends it."""
    lines = ["set -e"]
    for line in block.text.splitlines():
        code = re.search(r"\s+# exit code (\d+)$", line)
        if line in BY_CI:
            continue
        command = f"{line[: code.start()]} && false || [ $? -eq {code[1]} ]" if code else line
        lines.append(command)
    return "\n".join(lines)


@dataclass
class Reader:
    console: Console
    place: Path  # where the terminal is

    def follow(self, document: Path) -> list[Said]:
        return [self.do(block) for block in blocks(document)]

    def do(self, block: Block) -> Said:
        if block.kind == "sh":
            where = self.console.directory / "where"
            text = f"cd '{self.place}'\n{script(block)}\npwd > '{where}'\n"
            said = self.console.execute("bash", "-c", text)
            assert said.code == 0, f"{block.text}\n{said.out}\n{said.err}"
            self.place = Path(where.read_text().strip())
            return said
        words = block.mark.split()
        if block.mark.startswith("save as "):
            (self.place / words[-1]).write_text(block.text)
        elif block.mark.startswith("put into "):
            file, before = self.place / words[2], words[-1]
            head, found, tail = file.read_text().partition(f"  {before}")
            assert found, f"{file} has no {before}"
            file.write_text(head + block.text + found + tail)
        elif block.mark.startswith("the same as "):
            assert (self.place / words[-1]).read_text() == block.text
        else:
            pytest.fail(f"nobody says what this block is for:\n{block.text}")
        return Said(0, "", "")


@pytest.fixture
def reader(console: Console) -> Reader:
    """In a fresh clone: the workflows as they are shipped, and a .venv."""
    left_out = shutil.ignore_patterns("runs", "input", "__pycache__", "montage")
    shutil.copytree(ROOT / "workflows", console.directory / "workflows", ignore=left_out)
    (console.directory / ".venv").symlink_to(sys.prefix)
    return Reader(console, console.directory)


def test_readme(reader: Reader) -> None:
    said = reader.follow(ROOT / "README.md")
    text = "\n".join(each.out for each in said)
    assert "12 activations, 12 attempts on 2xlocal" in text
    assert "32.400" in text  # the worst of the epidemics
    assert "gap to bound" in text


def test_tutorial(reader: Reader) -> None:
    said = reader.follow(ROOT / "docs/tutorial.md")
    text = "\n".join(each.out for each in said)
    assert "PEAK" in text
    assert "ZeroDivisionError" in text
    directory = reader.place
    assert directory.name == "mine"
    newest = max((directory / "runs").iterdir(), key=lambda path: path.stat().st_mtime)
    charts = sorted(newest.glob("chart/*/chart.png"))
    assert len(charts) == 2, "illnesses of 5 and of 8 days have severe cases"
    assert all(matplotlib.image.imread(chart).std() > 0.1 for chart in charts)


def test_what_is_left_to_ci_is_what_ci_does() -> None:
    typed = {
        line
        for document in (ROOT / "README.md", ROOT / "docs/tutorial.md")
        for block in blocks(document)
        if block.kind == "sh"
        for line in block.text.splitlines()
        if line.startswith("make ")
    }
    done = (ROOT / ".ci/run").read_text()
    assert typed <= BY_CI
    assert "make demo\n" in done + "\n"
    assert "make test\n" in done


def test_a_command_that_ends_otherwise_than_documented_is_noticed(reader: Reader) -> None:
    reader.do(Block("sh", "ls nowhere  # exit code 2\n", ""))
    for wrong in ("ls nowhere\n", "ls .  # exit code 2\n", "ls nowhere  # exit code 1\n"):
        with pytest.raises(AssertionError):
            reader.do(Block("sh", wrong, ""))
