"""Small workflows, written as a scientist would: an XML file, a dataset and some programs."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from tests.acceptance.console import Console

GENERATOR = Path(__file__).resolve().parents[2] / "workflows/montage_trace/generate.py"
SHELL = "/bin/sh"
PYTHON = sys.executable
PASS_ON = 'printf "ID\\n%s\\n" "$1" > ERelation.txt\n'


@dataclass(frozen=True, slots=True)
class Step:
    """An activity and its program."""

    tag: str
    program: str = PASS_ON  # it gets the values of `takes` as arguments
    takes: tuple[str, ...] = ("ID",)
    gives: tuple[str, ...] = ("ID",)
    after: str = ""  # the activity whose output it reads; empty: the dataset
    operator: str = "MAP"
    operand: str = ""
    interpreter: str = SHELL


def write_workflow(
    directory: Path,
    steps: Sequence[Step],
    rows: Iterable[Sequence[str]],
    columns: tuple[str, ...] = ("ID",),
    *,
    max_failure: int = 1,
    tag: str = "test",
) -> Path:
    """The specification's path. Its dataset is called `input`, a program like its activity."""
    (directory / "bin").mkdir(parents=True)
    for step in steps:
        (directory / "bin" / step.tag).write_text(step.program, encoding="utf-8")
    lines = [";".join(columns), *(";".join(map(quoted, row)) for row in rows)]
    (directory / "input.dataset").write_text("\n".join(lines) + "\n", encoding="utf-8")
    spec = directory / "workflow.xml"
    spec.write_text(
        f"""<SciCumulus>
  <environment type="LOCAL"/>
  <conceptualWorkflow tag="{tag}">
    {"".join(_activity(step, columns) for step in steps)}
  </conceptualWorkflow>
  <executionWorkflow tag="{tag}" max_failure="{max_failure}">
    <relation name="input" filename="input.dataset"/>
  </executionWorkflow>
</SciCumulus>
""",
        encoding="utf-8",
    )
    return spec


def write_mosaic(console: Console) -> Path:
    """A trace of forty activations, in the console's directory."""
    path = console.directory / "montage.json"
    words = ("--activations", "40", "--seed", "3", "-o", path)
    assert console.execute(sys.executable, GENERATOR, *words).code == 0
    return path


def quoted(value: str) -> str:
    """As in a dataset: only what would break the line needs quotes."""
    special = any(character in value for character in ';"\n')
    return '"{}"'.format(value.replace('"', '""')) if special else value


def _activity(step: Step, columns: tuple[str, ...]) -> str:
    values = " ".join(f"%={name}%" for name in step.takes)
    command = f"{shlex.quote(step.interpreter)} %=WFDIR%/bin/{step.tag} {values}"
    source = f'dependency="{step.after}"' if step.after else 'name="input"'
    operand = f' operand="{step.operand}"' if step.operand else ""
    read = () if step.after else columns
    fields = "".join(
        f'<field name="{name}" type="string"'
        + (' input="input"' if name in read else "")
        + (f' output="{step.tag}_out"' if name in step.gives else "")
        + "/>"
        for name in dict.fromkeys((*read, *step.gives))
    )
    return f"""
    <activity tag="{step.tag}" type="{step.operator}"{operand} activation={quoteattr(command)}>
      <relation reltype="Input" {source}/>
      <relation reltype="Output" name="{step.tag}_out"/>
      {fields}
    </activity>"""
