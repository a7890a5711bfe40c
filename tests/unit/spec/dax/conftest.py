"""A way to read a document that was changed a little."""

from __future__ import annotations

from pathlib import Path

import pytest

from scicore.errors import Defect, SpecificationError
from scicore.model.trace import Trace
from scicore.spec.dax import read_dax
from tests.unit.spec.dax.documents import DAX_2, Broken, Load


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Write a document, with replacements if asked, and read it."""

    def _load(*changes: tuple[str, str], xml: str = DAX_2) -> Trace:
        for old, new in changes:
            assert old in xml
            xml = xml.replace(old, new)
        path = tmp_path / "trace.xml"
        path.write_text(xml, encoding="utf-8")
        return read_dax(path)

    return _load


@pytest.fixture
def broken(load: Load) -> Broken:
    def _broken(*changes: tuple[str, str], xml: str = DAX_2) -> tuple[Defect, ...]:
        with pytest.raises(SpecificationError) as caught:
            load(*changes, xml=xml)
        return caught.value.defects

    return _broken
