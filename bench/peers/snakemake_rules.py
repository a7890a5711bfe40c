"""Snakemake: a rule whose jobs touch a file each, for it knows jobs by what they leave."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from work import asked, timed

RULES = """
rule all:
    input: expand("done/{n}", n=range(COUNT))

rule noop:
    output: touch("done/{n}")
    shell: "/bin/true"
"""


def main() -> None:
    _, count, slots = asked()
    with tempfile.TemporaryDirectory() as place:
        Path(place, "Snakefile").write_text(RULES.replace("COUNT", str(count)))
        words = [sys.executable, "-m", "snakemake", "--cores", str(slots), "--quiet", "all"]

        def run() -> None:
            subprocess.run(words, check=True, cwd=place, stdout=subprocess.DEVNULL)

        timed(count, run)


if __name__ == "__main__":
    main()
