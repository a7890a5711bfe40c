"""The activities of workflow.xml that are functions: a tuple in, Montage at work, tuples out.

Every activity has processes of its own, so astropy is imported only where it is needed: it takes
half a second.
"""

from __future__ import annotations

import math
from pathlib import Path

from programs import FIT, montaged

Tuple = dict[str, str]
TANGENT = ("TAN", "SIN", "ZEA", "STG", "ARC")  # projections that mProjectPP knows
FEWEST_PIXELS = 50  # in common, for a plane to mean something


def project(image: Tuple) -> dict[str, object]:
    """mProjectPP, or the general and slow mProject: the image on the grid of the mosaic."""
    from astropy.io import fits

    projection = fits.getheader(image["IMAGE"])["CTYPE1"][-3:]
    program = "mProjectPP" if projection in TANGENT else "mProject"
    projected, area = Path("projected.fits"), Path("projected_area.fits")
    montaged(program, image["IMAGE"], str(projected), image["TEMPLATE"])
    header = fits.getheader(projected)
    return {
        "PROJECTED": projected,
        "AREA": area,
        "WIDTH": header["NAXIS1"],
        "HEIGHT": header["NAXIS2"],
        "CRPIX1": header["CRPIX1"],
        "CRPIX2": header["CRPIX2"],
    }


def difference(pair: Tuple) -> dict[str, object] | None:
    """mDiff, mFitplane: the plane that two images differ by; none if they share hardly a pixel."""
    try:
        montaged("mDiff", pair["PLUS_IMAGE"], pair["MINUS_IMAGE"], "d.fits", pair["TEMPLATE"])
        plane = montaged("mFitplane", "d.fits")
    except RuntimeError as error:
        if "don't overlap" in str(error) or "pixels are blank" in str(error):
            return None
        raise
    fit = [plane[name] for name in FIT]
    if plane["npixel"] < FEWEST_PIXELS or not all(map(math.isfinite, fit)):
        return None
    summary = {name.upper(): plane[name] for name in ("a", "b", "c", "npixel", "rms")}
    return {**summary, "FIT": " ".join(f"{value:.9g}" for value in fit)}


def model(band: Tuple) -> list[dict[str, object]]:
    """mBgModel: one plane per image, so that all of them together differ least."""
    montaged("mBgModel", band["IMAGES"], band["FITS"], "corrections.tbl")
    lines = Path("corrections.tbl").read_text().splitlines()
    planes = [line.split() for line in lines if line.strip() and line[0] not in "|\\"]
    return [{"NUMBER": number, "A": a, "B": b, "C": c} for number, a, b, c in planes]


def correct(image: Tuple) -> dict[str, object]:
    """mBackground: take the image's plane away."""
    plane = (float(image[letter]) for letter in "ABC")
    montaged("mBackground", image["PROJECTED"], "corrected.fits", *plane)
    return {"CORRECTED": Path("corrected.fits"), "AREA": Path("corrected_area.fits")}


def shrink(mosaic: Tuple) -> dict[str, object]:
    """mShrink: small enough for a picture. SPREAD is how uneven the dark parts of the sky are."""
    import numpy as np
    from astropy.io import fits

    montaged("mShrink", mosaic["MOSAIC"], "small.fits", float(mosaic["FACTOR"]))
    pixels = fits.getdata("small.fits").ravel()
    pixels = pixels[np.isfinite(pixels)]
    dark = pixels[pixels <= np.median(pixels)]
    return {"SMALL": Path("small.fits"), "SPREAD": float(np.median(dark) - np.quantile(dark, 0.02))}
