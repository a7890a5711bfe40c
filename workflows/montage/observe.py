"""observe.py: images for the mosaic. Makes up a sky, or takes your own FITS images.

    python workflows/montage/observe.py --tiles 4 --seed 7      a made-up sky, 4 by 4 tiles per band
    python workflows/montage/observe.py --images DIRECTORY      your own, one band per FILTER

Either way it writes input/images.dataset, the relation that workflow.xml starts from, and the
header of the mosaic (Montage's mMakeHdr).
"""

from __future__ import annotations

import argparse
import csv
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from astropy.io import fits
from astropy.wcs import WCS
from MontagePy import main as montage
from sky import BANDS, CENTRE, Sky

HERE = Path(__file__).resolve().parent
ARCSECOND = 1 / 3600  # degrees; one pixel
OVERLAP = 0.25  # of a tile's width
NOISE = 1.2
LEVEL, SLOPE = 25.0, 0.6  # how much backgrounds differ: from image to image, across an image


@dataclass(frozen=True)
class Image:
    band: str
    number: int
    path: Path


def tangent(right_ascension: float, declination: float, rotation: float, pixels: int) -> WCS:
    """A square image around a place, turned by so many degrees."""
    wcs = WCS(naxis=2)
    wcs.wcs.ctype = ["RA---TAN", "DEC--TAN"]
    wcs.wcs.crval = [right_ascension, declination]
    wcs.wcs.crpix = [(pixels + 1) / 2, (pixels + 1) / 2]
    cosine, sine = np.cos(np.radians(rotation)), np.sin(np.radians(rotation))
    wcs.wcs.cd = ARCSECOND * np.array([[-cosine, sine], [sine, cosine]])
    return wcs


def frame() -> WCS:
    """Tangent-plane coordinates of the whole sky: xi and eta in arcseconds, as in sky.py."""
    wcs = tangent(*CENTRE, 0, 0)
    wcs.wcs.crpix = [1, 1]
    wcs.wcs.cd = ARCSECOND * np.eye(2)
    return wcs


def make_up(directory: Path, tiles: int, pixels: int, seed: int) -> list[Image]:
    """A telescope looks at tiles × tiles places in each band, never quite the same way."""
    step = pixels * (1 - OVERLAP)
    sky = Sky(seed, width=step * (tiles - 1) + pixels)
    chance = np.random.default_rng([seed, tiles, pixels])
    whole = frame()
    places = np.array([(star.xi, star.eta) for star in sky.stars])
    stars = whole.wcs_pix2world(places, 0)
    images = []
    for band in BANDS:
        (directory / band).mkdir(parents=True, exist_ok=True)
        for number in range(1, tiles * tiles + 1):
            row, column = divmod(number - 1, tiles)
            aim = step * (np.array([column, row]) - (tiles - 1) / 2) + chance.normal(0, 3, 2)
            ((right_ascension, declination),) = whole.wcs_pix2world([aim], 0)
            wcs = tangent(right_ascension, declination, chance.normal(0, 1.5), pixels)
            y, x = np.mgrid[0:pixels, 0:pixels]
            world = wcs.wcs_pix2world(np.column_stack([x.ravel(), y.ravel()]), 0)
            xi, eta = whole.wcs_world2pix(world, 0).T.reshape(2, pixels, pixels)
            light = sky.glow(xi, eta, band)
            light += sky.starlight(*wcs.wcs_world2pix(stars, 0).T, band, (pixels, pixels))
            light += chance.normal(100, LEVEL) + chance.normal(0, NOISE, (pixels, pixels))
            light += chance.normal(0, SLOPE) * (x / pixels - 0.5)
            light += chance.normal(0, SLOPE) * (y / pixels - 0.5)
            path = directory / band / f"{number:04}.fits"
            header = wcs.to_header()
            for key in [key for key in header if key.startswith(("PC", "CDELT"))]:
                del header[key]  # Montage reads CDi_j
            for i in (1, 2):
                for j in (1, 2):
                    header[f"CD{i}_{j}"] = wcs.wcs.cd[i - 1, j - 1]
            header["FILTER"], header["EQUINOX"] = band, 2000.0
            fits.PrimaryHDU(light.astype("f4"), header).writeto(path, overwrite=True)
            images.append(Image(band, number, path))
    with (directory / "stars.csv").open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["ra", "dec", *BANDS])
        for star, (right_ascension, declination) in zip(sky.stars, stars, strict=True):
            table.writerow([right_ascension, declination, *star.flux])
    return images


def gather(directory: Path, source: Path) -> list[Image]:
    """Somebody's own images: linked below the workflow's directory, where it may read them."""
    directory.mkdir(parents=True, exist_ok=True)
    images = []
    for path in sorted(source.rglob("*.fit*")):
        header = fits.getheader(path)
        if header.get("NAXIS") != 2 or "CTYPE1" not in header:
            print(f"{path}: left out, no image with a WCS in its first HDU", file=sys.stderr)
            continue
        link = directory / f"{len(images) + 1:04}.fits"
        link.unlink(missing_ok=True)
        link.symlink_to(path.resolve())
        images.append(Image(str(header.get("FILTER", "all")).strip(), len(images) + 1, link))
    if not images:
        sys.exit(f"{source}: no FITS image with a WCS found; expected *.fits with CTYPE1, CRVAL1 …")
    return images


def write_dataset(directory: Path, images: list[Image]) -> None:
    """The mosaic's header, and the relation that the workflow starts from."""
    listed, template = directory / "images.tbl", directory / "region.hdr"
    done(montage.mImgtbl(str(directory), str(listed), recursiveMode=True), "mImgtbl")
    done(montage.mMakeHdr(str(listed), str(template), northAligned=1, pad=4), "mMakeHdr")
    with (HERE / "input/images.dataset").open("w", newline="") as stream:
        table = csv.writer(stream, delimiter=";")
        table.writerow(["BAND", "NUMBER", "IMAGE", "TEMPLATE"])
        for image in images:
            places = (path.relative_to(HERE) for path in (image.path, template))
            table.writerow([image.band, image.number, *places])


def done(answer: dict[str, object], program: str) -> None:
    if answer["status"] != "0":
        sys.exit(f"{program}: {answer.get('msg')}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tiles", type=int, default=4, help="N by N images per band (2 to 40)")
    parser.add_argument("--pixels", type=int, default=200, help="width of an image")
    parser.add_argument("--seed", type=int, default=7, help="same seed, same sky")
    parser.add_argument("--images", type=Path, metavar="DIRECTORY", help="your own FITS images")
    wish = parser.parse_args()
    if wish.images:
        directory = HERE / "input" / f"own-{wish.images.resolve().name}"
        images = gather(directory, wish.images)
    else:
        if not (2 <= wish.tiles <= 40 and 64 <= wish.pixels <= 2000):
            parser.error("expected --tiles from 2 to 40 and --pixels from 64 to 2000")
        directory = HERE / "input" / f"sky-{wish.tiles}-{wish.pixels}-{wish.seed}"
        images = make_up(directory, wish.tiles, wish.pixels, wish.seed)
    write_dataset(directory, images)
    bands = len({image.band for image in images})
    print(f"{len(images)} images in {bands} bands: {directory}")


if __name__ == "__main__":
    main()
