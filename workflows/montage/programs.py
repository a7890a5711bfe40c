"""Montage's programs, which come as functions of MontagePy; each says by a status how it went."""

from __future__ import annotations

from typing import Any

from MontagePy import main as montage

FIT = (  # what mFitplane finds, in the order of the table that mBgModel reads
    *("a", "b", "c", "crpix1", "crpix2", "xmin", "xmax", "ymin", "ymax", "xcenter", "ycenter"),
    *("npixel", "rms", "boxx", "boxy", "boxwidth", "boxheight", "boxang"),
)


def montaged(program: str, *arguments: object, **options: object) -> dict[str, Any]:
    """Call one of Montage's programs; what goes wrong is an error with the program's own words."""
    answer = getattr(montage, program)(*arguments, **options)
    if answer["status"] != "0":
        message = answer.get("msg", b"")
        raise RuntimeError(
            f"{program}: {message.decode() if isinstance(message, bytes) else message}"
        )
    return answer
