"""summary.py GROUP: the mean warming per decade over a station's clear decades."""

import csv
import statistics
import sys
from pathlib import Path

with Path(sys.argv[1]).open(newline="") as stream:
    slopes = [float(row["SLOPE"]) for row in csv.DictReader(stream, delimiter=";")]
Path("ERelation.txt").write_text(f"DECADES;WARMING\n{len(slopes)};{statistics.fmean(slopes):.4f}\n")
