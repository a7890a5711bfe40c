"""split.py STATION LATITUDE SEED: the station's monthly record, cut into decades.

The record is made up (a seasonal cycle, a warming trend, noise), always the same for a seed.
"""

import csv
import math
import random
import sys
from pathlib import Path

FIRST_YEAR, DECADES = 1970, 5

station, latitude, seed = sys.argv[1], float(sys.argv[2]), int(float(sys.argv[3]))
noise = random.Random(seed)
amplitude = abs(latitude) / 4  # seasons are stronger far from the equator
warming_per_year = 0.02 + abs(latitude) / 1500  # and so is warming

rows = []
for decade in range(FIRST_YEAR, FIRST_YEAR + 10 * DECADES, 10):
    path = Path(f"{decade}.csv").resolve()
    with path.open("w", newline="") as stream:
        months = csv.writer(stream)
        for month in range(120):
            year = decade - FIRST_YEAR + month / 12
            season = amplitude * math.cos(2 * math.pi * (month - 6) / 12)
            months.writerow(
                [
                    month,
                    15 - abs(latitude) / 3 + season + warming_per_year * year + noise.gauss(0, 0.6),
                ]
            )
    rows.append([decade, path])

with Path("ERelation.txt").open("w", newline="") as stream:
    relation = csv.writer(stream, delimiter=";")
    relation.writerow(["DECADE", "SERIES"])
    relation.writerows(rows)
print(f"{station}: {DECADES} decades")
