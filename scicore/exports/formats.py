"""The formats that a run can be exported to: a literal table, and what a writer gives back."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from scicore.errors import ScicumulusError
from scicore.exports.snapshot import Records

EXTRA = 'pip install "scicumulus[exports]"'


@dataclass(frozen=True, slots=True)
class Options:
    max_file_bytes: int = 10_000_000  # larger files are only referred to (RO-Crate)


@dataclass(frozen=True, slots=True)
class Written:
    """What an export consists of."""

    files: tuple[str, ...]  # below the target; empty: the target itself is the file
    records: Mapping[str, int]  # how many of which kind
    warnings: tuple[str, ...] = ()  # what was left out, and why


class Writer(Protocol):
    def __call__(self, records: Records, target: Path, options: Options) -> Written:
        """Write to a path where nothing is yet."""
        ...


@dataclass(frozen=True, slots=True)
class Format:
    extension: str
    module: str  # of this room
    function: str = "write"
    packages: tuple[str, ...] = ()  # of the extra `exports`
    mark: str = ""  # file that tells a directory made by this format; empty: it makes one file
    archive: str = ""  # extension that asks for one file instead of a directory

    def makes_directory(self, target: Path) -> bool:
        return bool(self.mark) and not (self.archive and target.suffix.lower() == self.archive)


FORMATS: Mapping[str, Format] = {
    "prov-json": Format("prov.json", "prov_text", "write_json", ("prov",)),
    "prov-n": Format("provn", "prov_text", "write_n", ("prov",)),
    "ro-crate": Format(
        "crate", "ro_crate", packages=("rocrate",), mark="ro-crate-metadata.json", archive=".zip"
    ),
    "wfformat": Format("wfformat.json", "wfformat"),
    "csv": Format("csv", "csv_files", mark="run.csv"),
    "parquet": Format("parquet", "parquet", packages=("pyarrow",), mark="run.parquet"),
}


def writer(name: str) -> Writer:
    """The function that writes the format; its packages are imported now."""
    form = FORMATS[name]
    try:
        module = importlib.import_module(f"scicore.exports.{form.module}")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing.startswith("scicore"):
            raise
        raise ScicumulusError(
            f"the format {name} needs the Python package {missing}, which is not installed",
            f"install the extra for exports: {EXTRA}",
        ) from error
    found: Writer = getattr(module, form.function)
    return found
