"""XML text to elements that know their lines, checked against the words of a language.

The only file that touches lxml. It knows nothing of workflows, and it never repeats a secret.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from lxml import etree

from scicore.errors import Defect, SpecificationError

_SECRET = re.compile(r"passw|pwd|secret|access_key", re.IGNORECASE)
_SECRET_ASSIGNMENT = re.compile(  # also where quotes are missing or do not match
    r"((?:passw|pwd|secret|access_key)\w*\s*=\s*)(?:\"[^\"]*\"|'[^']*'|\S+)", re.IGNORECASE
)
_SECRET_TEXT = ("credentials", "access_key", "secret_access_key", "password")
_TAG_BODY = r"(?:[^\"'>]|\"[^\"]*\"|'[^']*')*+"
_ATTRIBUTE = re.compile(r"([^\s=\"'<>/]+)(\s*=\s*)(\"[^\"]*\"|'[^']*')")
_MARKUP = re.compile(
    rf"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|</[^>]*>|<[^\s/>]+(?P<body>{_TAG_BODY})>",
    re.DOTALL,
)
_PROLOG_DOCTYPE = re.compile(r"\ufeff?(?:\s+|<\?.*?\?>|<!--.*?-->)*+<!DOCTYPE", re.DOTALL)
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


@dataclass(frozen=True, slots=True)
class Shape:
    """What may be written in an element."""

    required: tuple[str, ...] = ()  # attributes, and none of them empty
    optional: tuple[str, ...] = ()
    idle: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Attributes without effect so far, each with the values that ask for nothing."""
    children: Mapping[str, Shape] = field(default_factory=dict)
    needed: tuple[str, ...] = ()  # children that must be there
    text: bool = False
    repeatable: bool = False
    unused: str = ""  # the element is accepted and left alone; what to tell the user
    unsupported: str = ""  # the element is refused; what to write instead


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
    if doctype := _PROLOG_DOCTYPE.match(loose_text):
        _refuse_doctype(loose_text.count("\n", 0, doctype.end()) + 1, findings)
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
    places = _places(text)
    if len(places) != sum(1 for _ in root.iter()):
        findings.stop(1, f"a text in an encoding other than {encoding}", "a file in UTF-8")
    return _element(root, iter(places)), text


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
    if _may_show_secret(text, number, line):
        found = "XML that is not well-formed, in a line not shown here because of a secret in it"
    elif line.strip():
        quoted = _excerpt(line, error.position[1])
        found = f"XML that is not well-formed ({what}) in the line {quoted}"
    else:
        found = f"XML that is not well-formed ({what})"
    findings.stop(number, found, remedy)


def _excerpt(line: str, column: int) -> str:
    """The line, or of a long one the part that leads up to a column."""
    begin = max(0, min(column, len(line)) - _SHOWN)
    piece = line[begin : begin + _SHOWN + 20]
    before, after = "…" * (begin > 0), "…" * (begin + len(piece) < len(line))
    return f"{before}{piece.strip()}{after}"


def _may_show_secret(text: str, number: int, line: str) -> bool:
    """Quotes cannot be trusted in a broken text, so any doubt counts as a secret."""
    if _SECRET.search(line):
        return True
    for match in _SECRET_ASSIGNMENT.finditer(text):
        first = text.count("\n", 0, match.start()) + 1
        if first <= number <= first + match[0].count("\n"):
            return True
    return False


def check(element: Element, shape: Shape, findings: Findings) -> None:
    """Compare an element and all below it with the language: words only, no meaning."""
    if element.text and not shape.text:
        findings.warn(element.line, f"the text inside <{element.tag}> is ignored")
    known = (*shape.required, *shape.optional, *shape.idle)
    for name in shape.required:
        if not element.get(name).strip():
            missing = "an empty" if name in element.attributes else "no"
            findings.defect(
                element.line_of(name),
                f"<{element.tag}> with {missing} {name}",
                f'<{element.tag} {name}="…">',
            )
    for name, value in element.attributes.items():
        line = element.line_of(name)
        if name not in known:
            hint = did_you_mean(name, known)
            findings.warn(line, f"<{element.tag}> has no attribute {name}: it is ignored{hint}")
        elif name in shape.idle and value not in ("", *shape.idle[name]):
            findings.warn(line, f"{name} of <{element.tag}> has no effect in this version")
    for name in shape.needed:
        if element.first(name) is None:
            findings.at(element, "", f"no <{name}> inside <{element.tag}>", f"<{name} …>")
    seen: set[str] = set()
    for child in element.children:
        _check_child(child, element, shape, child.tag in seen, findings)
        seen.add(child.tag)


def _check_child(
    child: Element, parent: Element, shape: Shape, again: bool, findings: Findings
) -> None:
    known = shape.children.get(child.tag)
    if known is None:
        names = one_of(f"<{name}>" for name in shape.children) if shape.children else "nothing"
        hint = did_you_mean(child.tag, shape.children)
        where = f"inside <{parent.tag}>"
        findings.defect(child.line, f"<{child.tag}> {where}", f"{names} {where}{hint}")
    elif known.unsupported:
        findings.defect(child.line, f"<{child.tag}>, not supported yet", known.unsupported)
    elif again and not known.repeatable:
        findings.defect(child.line, f"a second <{child.tag}>", "only one of them")
    elif known.unused:
        findings.warn(child.line, f"<{child.tag}> is not used: {known.unused}")
    else:
        check(child, known, findings)


def choice(element: Element, attribute: str, known: Iterable[str], findings: Findings) -> str:
    """The attribute's value if it is one of the known words, else an empty text."""
    value, words = element.get(attribute), tuple(known)
    if value in words:
        return value
    if value.strip():  # `check` tells of a missing one
        expected = one_of(words) + did_you_mean(value, words)
        findings.defect(element.line_of(attribute), f'{attribute}="{value}"', expected)
    return ""


def count(element: Element, attribute: str, default: int, findings: Findings) -> int:
    """The attribute as a whole number from 1 up."""
    value = element.get(attribute)
    if re.fullmatch("0*[1-9][0-9]{0,8}", value):
        return int(value)
    if attribute in element.attributes:
        findings.at(element, attribute, f'{attribute}="{value}"', "a whole number from 1 up")
    return default


def refuse_secrets(root: Element, findings: Findings) -> None:
    """Only a database password is let through: it is of no use to us, and masked."""
    for element in root.walk():
        attributes = element.attributes.items()
        names = [name for name, value in attributes if value and _SECRET.search(name)]
        if element.tag == "database" and names == ["password"]:
            told = "the password in <database> is not used; better take it out of this file"
            findings.warn(element.line_of("password"), told)
        elif names or (element.tag in _SECRET_TEXT and element.text):
            findings.defect(
                element.line_of(names[0]) if names else element.line,
                f"a secret in <{element.tag}>" + (f": {', '.join(names)}" if names else ""),
                "no secrets in this file: run `aws configure` and set AWS_PROFILE, or set"
                " AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment",
            )


def masked(text: str) -> str:
    """A well-formed text with every secret in a tag or a comment as `***`."""

    def mask_value(attribute: re.Match[str]) -> str:
        name, equals, value = attribute.groups()
        hide = len(value) > 2 and _SECRET.search(name)
        return f"{name}{equals}{value[0]}***{value[0]}" if hide else attribute[0]

    def mask_markup(markup: re.Match[str]) -> str:
        if markup["body"] is None:
            return _SECRET_ASSIGNMENT.sub(r"\1***", markup[0])
        return _ATTRIBUTE.sub(mask_value, markup[0])

    return _MARKUP.sub(mask_markup, text)


def _places(text: str) -> list[tuple[int, dict[str, int]]]:
    """The lines of every start tag and of its attributes, in document order.

    libxml2 knows only the line on which a start tag ends, which in a tag that fills ten lines is
    not where the mistake is.
    """
    newlines = [match.start() for match in re.finditer("\n", text)]
    places: list[tuple[int, dict[str, int]]] = []
    for markup in _MARKUP.finditer(text):
        if markup["body"] is None:
            continue
        attributes = _ATTRIBUTE.finditer(text, markup.start("body"), markup.end("body"))
        lines = {match[1]: bisect_left(newlines, match.start()) + 1 for match in attributes}
        places.append((bisect_left(newlines, markup.start()) + 1, lines))
    return places


def _element(node: etree._Element, places: Iterator[tuple[int, dict[str, int]]]) -> Element:
    line, lines = next(places)
    attributes = {str(name): str(value) for name, value in node.attrib.items()}
    text = "".join([node.text or "", *(child.tail or "" for child in node)]).strip()
    children = tuple(_element(child, places) for child in node)
    return Element(str(node.tag), line, attributes, lines, text, children)
