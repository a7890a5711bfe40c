"""The sky mosaic: real Montage programs under the engine, and whether the picture is right."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
from astropy.io import fits
from astropy.wcs import WCS
from numpy.typing import NDArray

from tests.acceptance.console import Console
from tests.acceptance.readme import answers

pytest.importorskip("MontagePy", reason="no wheel for this Python or machine")

ROOT = Path(__file__).resolve().parents[2]
TILES, PIXELS, SEED = 3, 128, 11
BANDS = ("red", "green", "blue")
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Mosaic:
    run: Any
    directory: Path
    rows: Callable[[str], list[dict[str, Any]]]  # of a relation, by its name

    def file(self, relation: str, field: str, **where: str) -> Path:
        (row,) = (
            row
            for row in self.rows(relation)
            if all(row[name] == value for name, value in where.items())
        )
        return Path(row[field])

    def picture(self, version: str) -> Array:
        """Its brightness, from 0 to 1; the first row is the mosaic's first, not the picture's."""
        image = matplotlib.image.imread(self.file("pictures", "picture", version=version))
        return np.asarray(image[::-1, :, :3].mean(axis=2), dtype=float)


@pytest.fixture(scope="module")
def mosaic(module_console: Console) -> Mosaic:
    directory = module_console.directory / "montage"
    left_out = shutil.ignore_patterns("runs", "input", "__pycache__")
    shutil.copytree(ROOT / "workflows/montage", directory, ignore=left_out)
    made = module_console.execute(
        *(sys.executable, directory / "observe.py"),
        *("--tiles", str(TILES), "--pixels", str(PIXELS), "--seed", str(SEED)),
    )
    assert made.code == 0, made
    run = module_console.run(directory / "workflow.xml")

    @cache
    def rows(relation: str) -> list[dict[str, Any]]:
        sql = f"SELECT * FROM montage.{relation} WHERE run_id = :run"
        said = module_console("query", "--sql", sql, "--run", str(run["run_id"]), "--json")
        assert said.code == 0, said
        return [*json.loads(said.out)]

    return Mosaic(run, directory, rows)


@pytest.fixture(scope="module")
def stars(mosaic: Mosaic) -> list[dict[str, float]]:
    table = mosaic.directory / "input" / f"sky-{TILES}-{PIXELS}-{SEED}" / "stars.csv"
    with table.open(newline="") as stream:
        return [{name: float(text) for name, text in row.items()} for row in csv.DictReader(stream)]


def places(stars: list[dict[str, float]], header: Any) -> Array:
    """Where the sky model's stars are on an image, in pixels from 0."""
    world = [(star["ra"], star["dec"]) for star in stars]
    return np.asarray(WCS(header).wcs_world2pix(world, 0))


def lonely(stars: list[dict[str, float]], header: Any, fewest: int) -> list[tuple[float, float]]:
    """Bright stars well inside the mosaic without a neighbour that could be mistaken for them."""
    at = places(stars, header)
    width, height = header["NAXIS1"], header["NAXIS2"]
    found = []
    for number, (x, y) in enumerate(at):
        inside = 30 < x < width - 30 and 30 < y < height - 30
        near = np.hypot(*(at - (x, y)).T) < 10
        if inside and stars[number]["green"] > 60 and near.sum() == 1:
            found.append((x, y))
    assert len(found) >= fewest, "the sky has too few stars to judge by"
    return found


def test_it_finishes_with_as_many_activations_as_there_are_images_and_overlaps(
    mosaic: Mosaic,
) -> None:
    images = len(BANDS) * TILES**2
    overlaps = len(BANDS) * (2 * TILES * (TILES - 1) + 2 * (TILES - 1) ** 2)
    assert mosaic.run["state"] == "finished"
    assert len(mosaic.rows("projected")) == len(mosaic.rows("corrections")) == images
    assert len(mosaic.rows("differences")) == overlaps
    queries, concat, model, add, shrink, picture = 3, 3, 3, 6, 6, 2
    assert mosaic.run["activations"] == (
        2 * images + len(mosaic.rows("pairs")) + queries + concat + model + add + shrink + picture
    )


def test_without_correction_tiles_differ_from_the_sky_by_steps_and_with_it_they_do_not(
    mosaic: Mosaic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(mosaic.directory))
    telescope, whole = import_module("observe"), import_module("sky")
    sky = whole.Sky(SEED, width=PIXELS * (1 - telescope.OVERLAP) * (TILES - 1) + PIXELS)
    for band in BANDS:
        unevenness = {}
        for version in ("raw", "corrected"):
            path = mosaic.file("mosaics", "mosaic", band=band, version=version)
            with fits.open(path) as file:
                image, wcs = file[0].data, WCS(file[0].header)
            y, x = np.mgrid[0 : image.shape[0] : 3, 0 : image.shape[1] : 3]
            world = wcs.wcs_pix2world(np.column_stack([x.ravel(), y.ravel()]), 0)
            xi, eta = telescope.frame().wcs_world2pix(world, 0).T
            left = image[y.ravel(), x.ravel()] - sky.glow(xi, eta, band)
            left = left[np.isfinite(left)]
            # stars are not in the model here; they are far from the quartiles
            unevenness[version] = np.quantile(left, 0.75) - np.quantile(left, 0.25)
        assert unevenness["raw"] > 8, (band, unevenness)
        assert unevenness["corrected"] < 2.5, (band, unevenness)  # the noise of the pixels is 1.6


def step(strip: Array, edge: int) -> float:
    """How much brighter it gets at an edge, beyond how the sky brightens there anyway."""
    far, near, here, beyond = (
        np.median(strip[:, edge + start : edge + start + 6]) for start in (-18, -9, 3, 12)
    )
    return abs(float((here - near) - (near - far + beyond - here) * 12 / 18))


def test_in_the_picture_the_steps_at_the_edges_of_tiles_are_gone(mosaic: Mosaic) -> None:
    pictures = {version: mosaic.picture(version) for version in ("raw", "corrected")}
    template = mosaic.file("mosaics", "mosaic", band="red", version="raw")
    origin = fits.getheader(template)["CRPIX1"], fits.getheader(template)["CRPIX2"]
    steps: dict[tuple[str, str], list[float]] = {}
    for tile in mosaic.rows("projected"):
        left, bottom = origin[0] - tile["crpix1"], origin[1] - tile["crpix2"]
        rows = slice(round(bottom + 0.3 * tile["height"]), round(bottom + 0.7 * tile["height"]))
        edges = (("edge", 0.0), ("edge", 1.0), ("inside", 0.45), ("inside", 0.55))
        for (where, part), (version, picture) in product(edges, pictures.items()):
            column = round(left + part * tile["width"])
            if 25 < column < picture.shape[1] - 25:
                steps.setdefault((version, where), []).append(step(picture[rows], column))
    assert min(map(len, steps.values())) >= 12
    size = {which: np.median(each) for which, each in steps.items()}
    assert size["raw", "edge"] > 3 * size["raw", "inside"], size
    assert size["corrected", "edge"] < 1.5 * size["corrected", "inside"], size


def test_known_stars_are_where_the_sky_model_put_them_in_the_mosaic_and_in_the_picture(
    mosaic: Mosaic, stars: list[dict[str, float]]
) -> None:
    with fits.open(mosaic.file("mosaics", "mosaic", band="green", version="corrected")) as file:
        image, header = file[0].data, file[0].header
    picture = mosaic.picture("corrected")
    assert picture.shape == image.shape
    for x, y in lonely(stars, header, fewest=8):
        i, j = round(y), round(x)
        window = image[i - 4 : i + 5, j - 4 : j + 5]
        light = np.clip(window - np.median(image[i - 9 : i + 10, j - 9 : j + 10]), 0, None)
        row, column = np.mgrid[i - 4 : i + 5, j - 4 : j + 5]
        centre = (light * column).sum() / light.sum(), (light * row).sum() / light.sum()
        assert np.hypot(centre[0] - x, centre[1] - y) < 0.6, "arcseconds off"
        there = picture[i - 1 : i + 2, j - 1 : j + 2].max()
        around = np.median(picture[i - 9 : i + 10, j - 9 : j + 10])
        assert there > min(around + 0.1, 0.98), f"no star at {x:.0f}, {y:.0f} in the picture"


def test_provenance_leads_from_the_picture_to_every_image_of_the_sky(
    module_console: Console, mosaic: Mosaic
) -> None:
    picture = next(row for row in mosaic.rows("pictures") if row["version"] == "corrected")
    lineage = module_console.query(
        "lineage", mosaic.run["run_id"], "--set", f"tuple={picture['tuple_id']}"
    )
    images = {row["values"]["IMAGE"] for row in lineage if row["relation"] == "images"}
    assert len(images) == len(BANDS) * TILES**2


def test_the_questions_of_the_readme_have_answers(module_console: Console, mosaic: Mosaic) -> None:
    spreads, levels, pictures = answers(module_console, "montage", mosaic.run["run_id"])
    spread = {(row["band"], row["version"]): float(str(row["spread"])) for row in spreads}
    assert all(spread[band, "corrected"] < spread[band, "raw"] / 3 for band in BANDS), spread
    assert len(levels) == 5
    assert {row["version"] for row in pictures} == {"corrected", "raw"}


def test_ones_own_images_make_a_mosaic_whatever_their_projection(
    module_console: Console, mosaic: Mosaic
) -> None:
    own = module_console.directory / "my images"
    own.mkdir()
    sky = mosaic.directory / "input" / f"sky-{TILES}-{PIXELS}-{SEED}"
    for number in (1, 2, 4, 5):
        with fits.open(sky / f"red/{number:04}.fits") as file:
            file[0].header["FILTER"] = "r/SDSS 2"
            if number == 5:  # mProjectPP does not know this one
                file[0].header["CTYPE1"], file[0].header["CTYPE2"] = "RA---CAR", "DEC--CAR"
            file.writeto(own / f"night {number}.fits")
    fits.PrimaryHDU().writeto(own / "note.fits")
    elsewhere = mosaic.directory.with_name("own")
    left_out = shutil.ignore_patterns("runs", "input", "__pycache__")
    shutil.copytree(ROOT / "workflows/montage", elsewhere, ignore=left_out)
    said = module_console.execute(sys.executable, elsewhere / "observe.py", "--images", own)
    assert said.code == 0, said
    assert "note.fits: left out" in said.err
    run = module_console.run(elsewhere / "workflow.xml")
    assert run["state"] == "finished"
    (picture,) = Path(run["directory"]).glob("picture/1/*.png")
    assert matplotlib.image.imread(picture).std() > 0.05, "there is something on it"
    nothing = module_console.execute(
        sys.executable, elsewhere / "observe.py", "--images", elsewhere / "bin"
    )
    assert nothing.code == 1
    assert "no FITS image with a WCS" in nothing.err
