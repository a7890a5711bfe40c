"""concat.py GROUP: the fits of a band's overlaps as the two tables that mBgModel reads."""

import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from programs import FIT

IMAGE = ("cntr", "fname", "nl", "ns", "crpix1", "crpix2")  # lines are the height, samples the width


def table(path, columns, rows):
    """An IPAC table; mBgModel finds columns by their names and places."""
    with Path(path).open("w") as stream:
        print(*(f"|{column:>16}" for column in columns), "|", sep="", file=stream)
        for row in rows:
            print(*(f" {value:>16}" for value in row), "", sep="", file=stream)


with Path(sys.argv[1]).open(newline="") as stream:
    fits = list(csv.DictReader(stream, delimiter=";"))
images = {
    fit[side]: [fit[f"{side}_{name}"] for name in ("HEIGHT", "WIDTH", "CRPIX1", "CRPIX2")]
    for fit in fits
    for side in ("PLUS", "MINUS")
}
table(
    "images.tbl",
    IMAGE,
    ([number, f"{number}.fits", *images[number]] for number in sorted(images, key=float)),
)
table(
    "fits.tbl",
    ("plus", "minus", *FIT),
    ([fit["PLUS"], fit["MINUS"], *fit["FIT"].split()] for fit in fits),
)
Path("ERelation.txt").write_text(f"IMAGES;FITS;OVERLAPS\nimages.tbl;fits.tbl;{len(fits)}\n")
