"""How a test loads a specification: what the fixtures of conftest.py are, and the one defect."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from scicore.errors import Defect
from scicore.spec import Loaded

Load = Callable[..., Loaded]
Broken = Callable[..., tuple[Defect, ...]]
LoadFile = Callable[[Path], Loaded]


def the_only(defects: tuple[Defect, ...]) -> Defect:
    assert len(defects) == 1, "\n".join(map(str, defects))
    return defects[0]
