"""clears.py CLEARANCE: passes the tuple on when the ball flew over the wall."""

import sys
from pathlib import Path

clearance = float(sys.argv[1])
Path("ERelation.txt").write_text("CLEARANCE\n" + (f"{clearance}\n" if clearance > 0 else ""))
