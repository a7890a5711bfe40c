"""A document to change at will, and a way to read it."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from scicore.errors import Defect, SpecificationError
from scicore.model.trace import Trace
from scicore.spec.wfformat import read_wfformat
from tests.unit.spec.wfformat.documents import NEW, OLD, Broken, Load


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Write a document, or a text as it is, and read it."""

    def _load(document: Any) -> Trace:
        text = document if isinstance(document, str) else json.dumps(document, indent=1)
        path = tmp_path / "trace.json"
        path.write_text(text, encoding="utf-8")
        return read_wfformat(path)

    return _load


@pytest.fixture
def broken(load: Load) -> Broken:
    def _broken(document: Any) -> tuple[Defect, ...]:
        with pytest.raises(SpecificationError) as caught:
            load(document)
        return caught.value.defects

    return _broken


@pytest.fixture
def new() -> dict[str, Any]:
    """A document of 1.5 to change at will."""
    return deepcopy(NEW)


@pytest.fixture
def old() -> dict[str, Any]:
    return deepcopy(OLD)
