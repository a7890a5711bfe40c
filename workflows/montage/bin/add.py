"""add.py GROUP: mAdd, the images of one band and version become one."""

import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from programs import montaged

SIDE = 1000  # pixels; what is larger is shrunk for its picture

with Path(sys.argv[1]).open(newline="") as stream:
    images = list(csv.DictReader(stream, delimiter=";"))
Path("tiles").mkdir()
for number, image in enumerate(images):  # Montage wants them in one directory
    Path(f"tiles/{number}.fits").symlink_to(image["IMAGE"])
    Path(f"tiles/{number}_area.fits").symlink_to(image["AREA"])
montaged("mImgtbl", "tiles", "images.tbl")
montaged("mAdd", "tiles", "images.tbl", images[0]["TEMPLATE"], "mosaic.fits", haveAreas=True)

header = Path(images[0]["TEMPLATE"]).read_text().split("\n")
sides = [float(line.partition("=")[2]) for line in header if line.startswith(("NAXIS1", "NAXIS2"))]
factor = max(1.0, max(sides) / SIDE)
Path("ERelation.txt").write_text(f"MOSAIC;TILES;FACTOR\nmosaic.fits;{len(images)};{factor}\n")
