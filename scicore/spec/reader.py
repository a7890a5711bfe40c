"""XML text to elements that know their lines. The only file that touches lxml's parser.

It knows nothing of workflows, and it never repeats a secret.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from lxml import etree

from scicore.errors import Defect, SpecificationError
from scicore.spec import markup

_SCHEMA_HINT = "{http://www.w3.org/2001/XMLSchema-instance}"  # tells editors where the XSD is
_DOUBLED_QUOTE = re.compile(r'([\w:.-]+\s*=\s*"[^"]+")"')
_SHOWN = 100  # characters of a line that are quoted in a message


class Findings:
    """Everything noticed while one specification is read, so that nothing is told piecemeal."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.defects: list[Defect] = []
        self._warnings: list[tuple[str, int, str]] = []

    def defect(self, line: int, found: str, expected: str, file: str = "") -> None:
        self.defects.append(Defect(file or self.file, line, found, expected))

    def at(self, element: Element, attribute: str, found: str, expected: str) -> None:
        """A defect at an attribute, or with an empty one at the element itself."""
        self.defect(element.line_of(attribute), found, expected)

    def warn(self, line: int, text: str, file: str = "") -> None:
        self._warnings.append((file or self.file, line, text))

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(f"{file}:{line}: {text}" for file, line, text in sorted(self._warnings))

    def stop(self, line: int, found: str, expected: str) -> NoReturn:
        """Give up at a defect that leaves nothing to look at behind it."""
        self.defect(line, found, expected)
        raise SpecificationError(self.defects)

    def raise_defects(self) -> None:
        if self.defects:
            raise SpecificationError(self.defects)


@dataclass(frozen=True, slots=True)
class Element:
    tag: str
    line: int  # of its `<`, also when the tag goes on over several lines
    attributes: Mapping[str, str]
    lines: Mapping[str, int]  # of each attribute
    text: str  # all text directly inside, stripped
    children: tuple[Element, ...]

    def get(self, attribute: str) -> str:
        return self.attributes.get(attribute, "")

    def line_of(self, attribute: str) -> int:
        return self.lines.get(attribute, self.line)

    def all(self, tag: str) -> tuple[Element, ...]:
        return tuple(child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Element | None:
        return next((child for child in self.children if child.tag == tag), None)

    def walk(self) -> Iterator[Element]:
        yield self
        for child in self.children:
            yield from child.walk()


def did_you_mean(word: str, known: Iterable[str]) -> str:
    folded = {name.upper(): name for name in known}
    close = difflib.get_close_matches(word.upper(), folded, n=1)
    return f"; did you mean {folded[close[0]]}?" if close else ""


def one_of(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def read_document(path: Path, findings: Findings) -> tuple[Element, str]:
    """The root element and the text as it stands in the file; raises when there is none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        findings.stop(0, f"no readable file ({error.strerror})", "a SciCumulus XML file")
    loose_text = data.decode("utf-8", "replace")  # good enough for messages
    if doctype := markup.doctype_line(loose_text):
        _refuse_doctype(doctype, findings)
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        _syntax_defect(error, loose_text, findings)
    if root.getroottree().docinfo.internalDTD is not None:
        _refuse_doctype(1, findings)
    encoding = root.getroottree().docinfo.encoding or "UTF-8"
    try:
        text = data.decode(encoding)
    except (LookupError, UnicodeError):
        text = ""
    places = markup.places(text)
    if len(places) != sum(1 for _ in root.iter()):
        findings.stop(1, f"a text in an encoding other than {encoding}", "a file in UTF-8")
    return _element(root, iter(places)), text


def _element(node: etree._Element, places: Iterator[markup.Place]) -> Element:
    line, lines = next(places)
    attributes = {
        str(name): str(value)
        for name, value in node.attrib.items()
        if not str(name).startswith(_SCHEMA_HINT)
    }
    text = "".join([node.text or "", *(child.tail or "" for child in node)]).strip()
    children = tuple(_element(child, places) for child in node)
    return Element(str(node.tag), line, attributes, lines, text, children)


def _refuse_doctype(line: int, findings: Findings) -> NoReturn:
    found = "a DOCTYPE, which can pull in entities and other files"
    findings.stop(line, found, "the document without its <!DOCTYPE …>")


_REMEDIES = (  # words of libxml2's message → what to write
    (
        "attributes construct",
        'attributes as name="value" with a space between them and one pair of'
        " quotes each; inside a value a double quote is written &quot;",
    ),
    ("AttValue", 'a value in quotes after every attribute: name="value"'),
    ("mandates value", 'a value after every attribute: name="value"'),
    ("Unescaped '<'", "the closing quote of the value that begins above, or &lt; for a < in it"),
    ("EntityRef", "&amp; where a & is meant"),
    ("Entity", "&amp; where a & is meant; only &lt; &gt; &amp; &quot; &apos; are known"),
    ("tag mismatch", "the end tag </…> of the element that was opened last"),
    ("Premature end", "the end tag </…> of the element that is still open"),
    ("redefined", "every attribute once"),
    ("encoding", "text in UTF-8, or the encoding declared in <?xml … encoding=…?>"),
    ("end of the document", "one root element, <SciCumulus>, around everything"),
    ("", "a well-formed XML document with the root <SciCumulus>"),
)


def _syntax_defect(error: etree.XMLSyntaxError, text: str, findings: Findings) -> NoReturn:
    number = error.lineno or 1
    what = re.sub(r", line \d+, column \d+.*", "", error.msg or "an error")[:_SHOWN]
    lines = text.split("\n")
    line = lines[number - 1] if number <= len(lines) else ""
    remedy = next(remedy for words, remedy in _REMEDIES if words in what)
    if markup.may_show_secret(text, number, line):
        found = "XML that is not well-formed, in a line not shown here because of a secret in it"
    elif line.strip():
        column = error.position[1]
        quoted = _excerpt(line, column)
        found = f"XML that is not well-formed ({what}) at column {column} of the line {quoted}"
        doubled = _DOUBLED_QUOTE.search(line)
        if doubled and doubled.start() < column:
            remedy = f"{doubled[1]} with one quote at its end, where there are two"
    else:
        found = f"XML that is not well-formed ({what})"
    findings.stop(number, found, remedy)


def _excerpt(line: str, column: int) -> str:
    """The line, or of a long one the part that leads up to a column."""
    begin = max(0, min(column, len(line)) - _SHOWN)
    piece = line[begin : begin + _SHOWN + 20]
    before, after = "…" * (begin > 0), "…" * (begin + len(piece) < len(line))
    return f"{before}{piece.strip()}{after}"
