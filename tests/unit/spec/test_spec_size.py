"""Large datasets: memory for the tuples, and little besides."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROWS = 200_000
SPEC = """<SciCumulus>
  <conceptualWorkflow tag="large">
    <activity tag="act" type="MAP" activation="p %=NAME%">
      <relation reltype="Input" name="items"/>
      <relation reltype="Output" name="done"/>
      <field name="NAME" type="string" input="items" output="done"/>
      <field name="A" type="float" input="items"/>
      <field name="B" type="float" input="items"/>
    </activity>
  </conceptualWorkflow>
  <executionWorkflow tag="large-1"><relation name="items" filename="items.txt"/></executionWorkflow>
</SciCumulus>
"""
MEASURE = """
import resource, sys
from pathlib import Path
from scicore.spec import load_workflow

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

before = peak()
rows = load_workflow(Path(sys.argv[1])).workflow.datasets[0].rows
grown = peak() - before
kept = sys.getsizeof(rows) + sum(sys.getsizeof(row) + 16 for row in rows)
kept += sum(sys.getsizeof(value) for row in rows for value in row)
print(len(rows), grown, kept)
"""


def measured(directory: Path) -> tuple[int, int, int]:
    """Tuples, bytes by which loading them let the process grow, and bytes that they fill."""
    out = subprocess.run(
        [sys.executable, "-c", MEASURE, str(directory / "workflow.xml")],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    rows, grown, kept = map(int, out.split())
    return rows, grown, kept


def test_loading_needs_little_more_memory_than_the_tuples_themselves(tmp_path: Path) -> None:
    (tmp_path / "workflow.xml").write_text(SPEC)
    with (tmp_path / "items.txt").open("w") as stream:
        stream.write("NAME;A;B\n")
        stream.writelines(f"item-{n:09d};{n * 7}.25;{n / 3:.6f}\n" for n in range(ROWS))
    rows, grown, kept = measured(tmp_path)
    assert rows == ROWS
    assert grown < 1.25 * kept + 20e6
