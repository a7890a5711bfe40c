"""How pictures get into files: SVG or PNG, and the same picture always gives the same bytes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scicore.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".svg", ".png")
PNG_DOTS_PER_INCH = 160
INK, GREY, RULE, PAPER = "#1f2937", "#6b7280", "#e2e8f0", "#ffffff"


def require_format(file: Path, example: str) -> None:
    """Before anything long is computed: the file's ending tells the format."""
    if file.suffix.lower() not in FORMATS:
        raise UsageError(
            f"{file}: a picture can be written as {' or '.join(FORMATS)}", f"e.g. {example}"
        )


@contextmanager
def drawing() -> Iterator[None]:
    """matplotlib as we want it, whatever the user's own settings are."""
    import matplotlib as mpl

    with (
        mpl.rc_context(
            {"svg.hashsalt": "scicumulus", "text.parse_math": False, "font.family": "DejaVu Sans"}
        ),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", message="Glyph")  # a box stands for a letter it lacks
        yield


def save(figure: Figure, file: Path) -> None:
    kind = file.suffix.lower()
    dots = PNG_DOTS_PER_INCH if kind == ".png" else 72
    nothing = {"Date": None} if kind == ".svg" else {"Software": None}
    try:
        figure.savefig(file, dpi=dots, format=kind[1:], metadata=nothing)
    except OSError as error:
        raise UsageError(f"{file}: the picture cannot be written: {error.strerror}") from error
