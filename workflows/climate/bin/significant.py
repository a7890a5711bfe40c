"""significant.py SLOPE ERROR: passes the tuple on when the slope is more than two errors."""

import sys
from pathlib import Path

slope, error = map(float, sys.argv[1:3])
passes = abs(slope) > 2 * error
Path("ERelation.txt").write_text("SLOPE;ERROR\n" + (f"{slope};{error}\n" if passes else ""))
