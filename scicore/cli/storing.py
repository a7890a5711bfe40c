"""The storage of a run, as the verbs use it: looked at before, filled with inputs, brought home."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from scicore.cli.output import say
from scicore.errors import ScicumulusError

if TYPE_CHECKING:
    from provisioning.s3 import Moved
    from scicore.provenance.connection import Database

AT_ONCE = 16


def require_storage(url: str) -> None:
    """It can be reached from here; what hosts may do is seen when they do it."""
    from provisioning.s3 import Storage, parse

    Storage(parse(url), 0).check()


def store_inputs(database: Database, run_id: int, url: str) -> None:
    """The files that the run's datasets name, so that every host can fetch them."""
    from provisioning.s3 import Storage, parse
    from scicore.provenance.reader import files_of

    with database.engine.connect() as connection:
        inputs = files_of(connection, run_id)
    storage = Storage(parse(url), run_id)
    failed, size_bytes = _each(inputs, storage.put)
    if failed:
        first = next(iter(failed.values()))
        raise ScicumulusError(
            f"{len(failed)} of {len(inputs)} input files could not be stored: {first}",
            f"run {run_id} was not started",
        )
    if inputs:
        say(f"{len(inputs)} input files ({size_bytes / 1e6:.1f} MB) are in {storage.place.url}")


def bring_home(url: str, run_id: int, files: Mapping[str, str]) -> dict[str, str]:
    """From the storage to their paths here; returns why not, for those that did not come."""
    from provisioning.s3 import Storage, parse

    return _each(files, Storage(parse(url), run_id).get)[0]


def _each(
    files: Mapping[str, str], move: Callable[[Path, str], Moved]
) -> tuple[dict[str, str], int]:
    """What went wrong, by path, and how many bytes were moved."""

    def one(item: tuple[str, str]) -> Moved | str:
        try:
            return move(Path(item[0]), item[1])
        except (ScicumulusError, OSError) as error:
            return str(error)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = dict(zip(files, pool.map(one, files.items()), strict=True))
    failed = {path: each for path, each in answers.items() if isinstance(each, str)}
    moved = [each for each in answers.values() if not isinstance(each, str)]
    return failed, sum(each.size_bytes for each in moved)
