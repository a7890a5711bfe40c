"""SQL activities: what can be said about their text before the database sees it.

That a query reads nothing but its run's relations is the database's to enforce, not this file's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from scicore.algebra.template import tags
from scicore.spec.draft import DraftField
from scicore.spec.reader import Element, Findings

QUERY_TAGS = ("KEY", "EWKFID")
_QUOTED_OR_COMMENT = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$(\w*)\$.*?\$\1\$|/\*.*?\*/|--[^\n]*(?P<end>\n|\Z)",
    re.DOTALL,
)
_FOR_PROGRAMS = ("extractor", "template", "cpus", "memory", "runtime", "id", "parents")


def check_query(element: Element, fields: Iterable[DraftField], findings: Findings) -> None:
    """One SELECT, whose only tags are the run and the key; relations are named as they are."""
    sql = element.get("activation")
    bare = _QUOTED_OR_COMMENT.sub(" ", sql).strip().rstrip(";")
    if _swallowed(sql):
        found = "a -- comment that goes on to the end: an XML attribute has no line ends"
        findings.at(element, "activation", found, "/* … */ around the comment")
    elif sql.strip() and not re.match(r"(?i)[\s(]*(select|with)\b", bare):
        begin = " ".join(sql.split())[:30]
        findings.at(element, "activation", f"SQL that begins {begin!r}", "SELECT … or WITH …")
    if ";" in bare:
        findings.at(element, "activation", "several statements in one query", "one SELECT")
    for tag in tags(sql):
        if tag.upper() not in QUERY_TAGS:
            found = f"the tag %={tag}% in the query"
            expected = "no other tags than %=KEY% and %=EWKFID%; fields are columns, by their names"
            findings.at(element, "activation", found, expected)
    _warn_of_idle(element, fields, findings)


def _swallowed(sql: str) -> bool:
    """Whether a line comment takes something with it that was meant to be SQL."""
    return any(
        match[0].startswith("--") and not match["end"] and match[0].strip("- ")
        for match in _QUOTED_OR_COMMENT.finditer(sql)
    )


def _warn_of_idle(element: Element, fields: Iterable[DraftField], findings: Findings) -> None:
    why = "the master runs the query in the database"
    for name in _FOR_PROGRAMS:
        if element.get(name):
            told = f"{name} of activity {element.get('tag')} has no effect: {why}"
            findings.warn(element.line_of(name), told)
    for child in (*element.all("extractor"), *element.all("environment")):
        told = f"<{child.tag}> of activity {element.get('tag')} has no effect: {why}"
        findings.warn(child.line, told)
    for each in fields:
        if each.staging is not None and not each.element.get("output"):
            told = f"the file of field {each.field.name} is not staged: {why}"
            findings.warn(each.element.line, told)
