"""epidemic.py CONTACTS DAYS: how many per cent are ill at the worst moment of an epidemic."""

import sys
from pathlib import Path

contacts, days = float(sys.argv[1]), float(sys.argv[2])  # infections a day, length of an illness
healthy, ill, peak = 0.999, 0.001, 0.001
for _ in range(36500):  # a hundredth of a day at a time, for a year
    infected, recovered = contacts * healthy * ill / 100, ill / days / 100
    healthy, ill = healthy - infected, ill + infected - recovered
    peak = max(peak, ill)

Path("ERelation.txt").write_text(f"PEAK\n{100 * peak}\n")
