"""A small specification that holds, and a way to break it line by line."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from lxml import etree

import scicore.spec
from scicore.errors import Defect, SpecificationError
from scicore.spec import Loaded, load_workflow
from tests.unit.spec.loader import Broken, Load, LoadFile

VALID = dedent("""\
    <SciCumulus>
      <environment type="LOCAL"/>
      <conceptualWorkflow tag="demo">
        <activity tag="square" type="MAP" activation="bin/square %=ID% %=X%">
          <relation reltype="Input" name="numbers"/>
          <relation reltype="Output" name="squares"/>
          <field name="ID" type="string" input="numbers" output="squares"/>
          <field name="X" type="float" input="numbers"/>
          <field name="Y" type="float" output="squares"/>
        </activity>
      </conceptualWorkflow>
      <executionWorkflow tag="demo-1">
        <relation name="numbers" filename="numbers.txt"/>
      </executionWorkflow>
    </SciCumulus>
    """)
"""Line 4 is the activity, 5 and 6 its relations, 7 to 9 its fields, 13 the dataset."""

DATA = "ID;X\na;1\n"
XSD = Path(scicore.spec.__file__).with_name("scicumulus.xsd")
UNKNOWN_WORDS = ("has no attribute", "the text inside")  # warnings; a schema refuses such words


@pytest.fixture(scope="session")
def schema() -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(str(XSD)))


@pytest.fixture
def load_file(schema: etree.XMLSchema) -> LoadFile:
    """Load a specification; whatever loads is valid by the published schema, too."""

    def _load_file(path: Path) -> Loaded:
        loaded = load_workflow(path)
        if not any(words in warning for warning in loaded.warnings for words in UNKNOWN_WORDS):
            schema.assertValid(etree.parse(str(path)))
        return loaded

    return _load_file


@pytest.fixture
def load(tmp_path: Path, load_file: LoadFile) -> Load:
    """Write a specification, with replacements if asked, and its dataset; then load it."""

    def _load(*changes: tuple[str, str], xml: str = VALID, data: str | bytes = DATA) -> Loaded:
        for old, new in changes:
            assert old in xml
            xml = xml.replace(old, new)
        content = data.encode() if isinstance(data, str) else data
        (tmp_path / "numbers.txt").write_bytes(content)
        (tmp_path / "workflow.xml").write_text(xml, encoding="utf-8")
        return load_file(tmp_path / "workflow.xml")

    return _load


@pytest.fixture
def broken(load: Load) -> Broken:
    """The defects that loading ends with."""

    def _broken(
        *changes: tuple[str, str], xml: str = VALID, data: str | bytes = DATA
    ) -> tuple[Defect, ...]:
        with pytest.raises(SpecificationError) as caught:
            load(*changes, xml=xml, data=data)
        return caught.value.defects

    return _broken
