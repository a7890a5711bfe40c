"""quality.py SEQUENCES: passes a gene on when at most a tenth of its bases are unknown."""

import sys
from pathlib import Path

lines = Path(sys.argv[1]).read_text().split("\n")
bases = "".join(line for line in lines if not line.startswith(">"))
unknown = bases.count("N") / len(bases)
Path("ERelation.txt").write_text("UNKNOWN\n" + (f"{unknown}\n" if unknown <= 0.1 else ""))
