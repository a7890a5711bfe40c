"""XML text as it stands in the file, before any parser: where its tags are, and its secrets.

Nothing here may repeat a secret, not even from a text whose quotes do not match.
"""

from __future__ import annotations

import re
from bisect import bisect_left

SECRET = re.compile(r"passw|pwd|secret|access_key", re.IGNORECASE)  # in a name
_SECRET_ASSIGNMENT = re.compile(  # also where quotes are missing or do not match
    r"((?:passw|pwd|secret|access_key)\w*\s*=\s*)(?:\"[^\"]*\"|'[^']*'|\S+)", re.IGNORECASE
)
_TAG_BODY = r"(?:[^\"'>]|\"[^\"]*\"|'[^']*')*+"
_ATTRIBUTE = re.compile(r"([^\s=\"'<>/]+)(\s*=\s*)(\"[^\"]*\"|'[^']*')")
_MARKUP = re.compile(
    rf"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|</[^>]*>|<[^\s/>]+(?P<body>{_TAG_BODY})>",
    re.DOTALL,
)
_PROLOG_DOCTYPE = re.compile(r"\ufeff?(?:\s+|<\?.*?\?>|<!--.*?-->)*+<!DOCTYPE", re.DOTALL)

Place = tuple[int, dict[str, int]]  # the line of a start tag, and of each of its attributes


def doctype_line(text: str) -> int:
    """The line of a DOCTYPE in front of the root; 0 without one."""
    doctype = _PROLOG_DOCTYPE.match(text)
    return text.count("\n", 0, doctype.end()) + 1 if doctype else 0


def places(text: str) -> list[Place]:
    """The lines of every start tag and of its attributes, in document order.

    libxml2 knows only the line on which a start tag ends, which in a tag that fills ten lines is
    not where the mistake is.
    """
    newlines = [match.start() for match in re.finditer("\n", text)]
    found: list[Place] = []
    for markup in _MARKUP.finditer(text):
        if markup["body"] is None:
            continue
        attributes = _ATTRIBUTE.finditer(text, markup.start("body"), markup.end("body"))
        lines = {match[1]: bisect_left(newlines, match.start()) + 1 for match in attributes}
        found.append((bisect_left(newlines, markup.start()) + 1, lines))
    return found


def masked(text: str) -> str:
    """A well-formed text with every secret in a tag or a comment as `***`."""

    def mask_value(attribute: re.Match[str]) -> str:
        name, equals, value = attribute.groups()
        hide = len(value) > 2 and SECRET.search(name)
        return f"{name}{equals}{value[0]}***{value[0]}" if hide else attribute[0]

    def mask_markup(markup: re.Match[str]) -> str:
        if markup["body"] is None:
            return _SECRET_ASSIGNMENT.sub(r"\1***", markup[0])
        return _ATTRIBUTE.sub(mask_value, markup[0])

    return _MARKUP.sub(mask_markup, text)


def may_show_secret(text: str, number: int, line: str) -> bool:
    """Quotes cannot be trusted in a broken text, so any doubt about a line counts as a secret."""
    if SECRET.search(line):
        return True
    for match in _SECRET_ASSIGNMENT.finditer(text):
        first = text.count("\n", 0, match.start()) + 1
        if first <= number <= first + match[0].count("\n"):
            return True
    return False
