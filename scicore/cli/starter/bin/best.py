"""best.py GROUP: of all throws in a file, the one that flew farthest."""

import csv
import sys
from pathlib import Path

with Path(sys.argv[1]).open(newline="") as stream:
    throws = list(csv.DictReader(stream, delimiter=";"))
best = max(throws, key=lambda throw: float(throw["DISTANCE"]))
Path("ERelation.txt").write_text(f"ANGLE;DISTANCE\n{best['ANGLE']};{best['DISTANCE']}\n")
