"""The published schema: it accepts what loads (see conftest), and has the loader's own words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lxml import etree

from scicore.model.workflow import FieldType, FileOperation, Operator
from scicore.spec.language import LANGUAGE
from scicore.spec.scicumulus_xml import inspect_workflow
from scicore.spec.shape import Shape
from tests.unit.spec.conftest import VALID, XSD

ROOT = Path(__file__).resolve().parents[3]
WORKFLOWS = sorted(ROOT.glob("workflows/*/workflow.xml"))
XS = {"xs": "http://www.w3.org/2001/XMLSchema"}


class Definitions:
    """The schema's document, by name."""

    def __init__(self, path: Path) -> None:
        self.root = etree.parse(str(path)).getroot()

    def find(self, kind: str, name: str) -> etree._Element | None:
        found = self.root.xpath(f"xs:{kind}[@name=$name]", namespaces=XS, name=name)
        assert isinstance(found, list)
        return found[0] if found and isinstance(found[0], etree._Element) else None

    def elements(self, content: etree._Element) -> Iterator[etree._Element]:
        """The child elements that some content may have, with their declarations."""
        for node in content:
            if node.tag == f"{{{XS['xs']}}}element":
                yield node
            elif node.tag == f"{{{XS['xs']}}}group":
                group = self.find("group", str(node.get("ref")))
                assert group is not None
                yield from self.elements(group)
            elif node.tag != f"{{{XS['xs']}}}attribute":
                yield from self.elements(node)

    def words(self, simple_type: str) -> set[str]:
        found = self.root.xpath(
            "xs:simpleType[@name=$name]//xs:enumeration/@value", namespaces=XS, name=simple_type
        )
        assert isinstance(found, list)
        return {str(word) for word in found}


DEFINITIONS = Definitions(XSD)


def compare(tag: str, element: etree._Element, shape: Shape) -> None:
    definition = DEFINITIONS.find("complexType", str(element.get("type")))
    if shape.unused:
        assert element.get("type") == "unused", tag
        return
    if definition is None:  # a simple type: text, and nothing else
        assert shape == Shape(text=True, repeatable=shape.repeatable), tag
        return
    attributes = {
        str(node.get("name")): node.get("use") == "required"
        for node in definition.iterfind("xs:attribute", XS)
    }
    assert {name for name, required in attributes.items() if required} == set(shape.required), tag
    others = {name for name, required in attributes.items() if not required}
    assert others == {*shape.optional, *shape.idle}, tag
    children = {str(child.get("name")): child for child in DEFINITIONS.elements(definition)}
    assert set(children) == set(shape.children), tag
    for name, child in children.items():
        compare(f"{tag}/{name}", child, shape.children[name])


def test_schema_and_loader_know_the_same_elements_and_attributes() -> None:
    root = DEFINITIONS.find("element", "SciCumulus")
    assert root is not None
    compare("SciCumulus", root, LANGUAGE)


def test_schema_and_model_know_the_same_words() -> None:
    assert DEFINITIONS.words("operator") == set(Operator)
    assert DEFINITIONS.words("operation") == set(FileOperation)
    assert DEFINITIONS.words("fieldType") == {*FieldType, "text", "int", "integer"}


def test_every_element_type_and_attribute_is_documented() -> None:
    for node in DEFINITIONS.root.iter(f"{{{XS['xs']}}}attribute", f"{{{XS['xs']}}}complexType"):
        text = node.findtext("xs:annotation/xs:documentation", "", XS)
        is_root = node.get("name") == "specification"
        assert is_root or text.strip().endswith("."), etree.tostring(node)[:80]


def test_what_has_no_effect_says_so_in_the_schema() -> None:
    def idle(shape: Shape) -> Iterator[str]:
        yield from shape.idle
        for child in shape.children.values():
            yield from idle(child)

    documented = [
        str(node.get("name"))
        for node in DEFINITIONS.root.iter(f"{{{XS['xs']}}}attribute")
        if "Without effect" in node.findtext("xs:annotation/xs:documentation", "", XS)
    ]
    assert sorted(documented) == sorted(idle(LANGUAGE))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.parent.name)
def test_shipped_workflows_are_valid(path: Path, schema: etree.XMLSchema) -> None:
    schema.assertValid(etree.parse(str(path)))


def test_there_are_shipped_workflows() -> None:
    assert WORKFLOWS


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('type="MAP"', 'type="MAPP"'),
        ('reltype="Input"', 'reltype="In"'),
        ('tag="square"', 'tag="s.1"'),
        (' type="LOCAL"', ""),
        ("<relation", "<relations"),
        ('type="float"', 'type="flaot"'),
        ('tag="demo-1"', 'tag="demo-1" max_failure="0"'),
        ('tag="demo-1"', 'tag="demo-1" maxfailure="1"'),
        ('type="MAP"', 'type="MAP" cpus="some"'),
        ("executionWorkflow", "executionworkflow"),
    ],
)
def test_an_editor_can_tell_a_wrong_word(old: str, new: str, schema: etree.XMLSchema) -> None:
    assert old in VALID
    document = VALID.replace(old, new)
    assert not schema.validate(etree.fromstring(document.encode()))


LANGUAGE_PAGE = (ROOT / "docs/language.md").read_text(encoding="utf-8")


def sections() -> dict[str, str]:
    """The page's sections about elements, by their headings."""
    pieces = re.split(r"^### ", LANGUAGE_PAGE.split("\n## Operators")[0], flags=re.MULTILINE)
    return {piece.splitlines()[0]: piece for piece in pieces[1:]}


def documented(tag: str, shape: Shape, parent: str = "") -> Iterator[tuple[str, Shape]]:
    """The heading that an element has on the page, and its shape; and so on below it."""
    below = ("activity", "executionWorkflow", "machineTypes", "conceptualWorkflow")
    yield f"`<{tag}>` in `<{parent}>`" if parent in below else f"`<{tag}>`", shape
    for name, child in shape.children.items():
        if not child.unused and name != "algorithm":
            yield from documented(name, child, tag)


@pytest.mark.parametrize(("heading", "shape"), list(documented("SciCumulus", LANGUAGE)))
def test_every_attribute_is_on_the_language_page(heading: str, shape: Shape) -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([\w ]+) \|", sections()[heading], flags=re.MULTILINE)
    known = [*shape.required, *shape.optional, *shape.idle]
    assert sorted(name for name, _ in rows) == sorted(known)
    assert {name for name, origin in rows if origin == "no effect"} == set(shape.idle)


@pytest.mark.parametrize("block", re.findall(r"```xml\n(.*?)```", LANGUAGE_PAGE, flags=re.DOTALL))
def test_every_example_of_the_page_is_valid(
    block: str, schema: etree.XMLSchema, tmp_path: Path
) -> None:
    whole = block.startswith("<SciCumulus>")
    text = (
        f'<conceptualWorkflow tag="page">{block}</conceptualWorkflow><executionWorkflow tag="p"/>'
    )
    document = block if whole else f"<SciCumulus>{text}</SciCumulus>"
    schema.assertValid(etree.fromstring(document.encode()))
    (tmp_path / "workflow.xml").write_text(document)
    (tmp_path / "template").mkdir()
    (tmp_path / "sky.py").touch()
    missing = ("which neither a dataset nor an activity gives", "the dataset ")
    for defect in inspect_workflow(tmp_path / "workflow.xml").defects:
        assert any(words in defect.found for words in missing), defect
