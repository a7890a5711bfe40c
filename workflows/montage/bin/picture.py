"""picture.py GROUP: mViewer, the bands of a mosaic as a picture: in colour if there are three."""

import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from programs import montaged

STRETCH = "2% 99.9% gaussian-log"
WAVELENGTH = {"red": 3, "green": 2, "blue": 1, "k": 3, "h": 2, "j": 1, "i": 3, "r": 2, "g": 1}

with Path(sys.argv[1]).open(newline="") as stream:
    bands = list(csv.DictReader(stream, delimiter=";"))
bands.sort(key=lambda band: (WAVELENGTH.get(band["BAND"].lower(), 0), band["BAND"]))
for number, band in enumerate(bands):  # names without blanks, whatever the directory is called
    Path(f"{number}.fits").symlink_to(band["SMALL"])
if len(bands) >= 3:
    blue, green, red = 0, len(bands) // 2, len(bands) - 1
    files = {"-red": red, "-green": green, "-blue": blue}
    layers = " ".join(f"{flag} {number}.fits {STRETCH}" for flag, number in files.items())
else:
    layers = f"-gray 0.fits {STRETCH}"
montaged("mViewer", f"{layers} -out mosaic.png", "", mode=2)
Path("ERelation.txt").write_text("PICTURE\nmosaic.png\n")
