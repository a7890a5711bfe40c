"""fit.py SERIES SEED: degrees per decade, and how far that may be off (bootstrap)."""

import csv
import random
import statistics
import sys
from pathlib import Path

RESAMPLES = 400

with Path(sys.argv[1]).open() as stream:
    months = [(float(month), float(degrees)) for month, degrees in csv.reader(stream)]
chance = random.Random(int(float(sys.argv[2])))

# Without the seasons: each month's distance from the mean of that month over the decade.
of_month = {m: statistics.fmean(d for month, d in months if month % 12 == m) for m in range(12)}
anomalies = [(month, degrees - of_month[month % 12]) for month, degrees in months]


def slope(points):
    month, degrees = zip(*points, strict=True)
    return statistics.linear_regression(month, degrees).slope * 120


resampled = [slope(chance.choices(anomalies, k=len(anomalies))) for _ in range(RESAMPLES)]
Path("ERelation.txt").write_text(
    f"SLOPE;ERROR\n{slope(anomalies):.4f};{statistics.stdev(resampled):.4f}\n"
)
