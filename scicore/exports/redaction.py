"""Secrets that users' texts may hold despite all advice, masked before anything leaves us."""

from __future__ import annotations

import re

_DATABASE = re.compile(r"\bpostgres(?:ql)?(?:\+\w+)?://[^\s'\"<>`]*")
_CREDENTIALS = re.compile(r"(://[^\s:/@'\"<>]*:)[^\s/@'\"<>]+(?=@)")
_ASSIGNMENT = re.compile(
    r"((?:passw\w*|pwd|secret\w*|access_key\w*)[\"']?\s*[=:]\s*)"
    r"(\"[^\"]*\"|'[^']*'|[^\s'\"<>&;]+)",
    re.IGNORECASE,
)
_SUSPECT = re.compile(r"://|passw|pwd|secret|access_key", re.IGNORECASE)
_VARIABLE = re.compile(r"<environment\b(?:[^\"'>]|\"[^\"]*\"|'[^']*')*>")
_VARIABLE_NAME = re.compile(r"\bname\s*=\s*[\"']([^\"']*)")
_VARIABLE_VALUE = re.compile(r"(\bvalue\s*=\s*)(\"[^\"]*\"|'[^']*')")
_NAME = re.compile(r"passw|pwd|secret|access_key|token|api_?key|PGSERVICE", re.IGNORECASE)


def clean(text: str) -> str:
    """The text without database URLs, passwords in URLs, and `password=…` in any spelling."""
    if not _SUSPECT.search(text):
        return text
    text = _DATABASE.sub("postgresql://***", text)
    text = _CREDENTIALS.sub(r"\1***", text)
    return _ASSIGNMENT.sub(_mask, text)


def clean_specification(text: str) -> str:
    """A specification's text; what it sets variables with telling names to is masked as well."""
    return _VARIABLE.sub(_mask_variable, clean(text))


def clean_variable(name: str, value: str) -> str:
    """The value of an environment variable, or `***` if its name says that it is a secret."""
    return "***" if _NAME.search(name) else clean(value)


def _mask_variable(match: re.Match[str]) -> str:
    name = _VARIABLE_NAME.search(match[0])
    secret = name is not None and _NAME.search(name[1])
    return _VARIABLE_VALUE.sub(_mask, match[0]) if secret else match[0]


def _mask(match: re.Match[str]) -> str:
    """A quoted value keeps its quotes, so that XML and commands stay well-formed."""
    assigned, value = match.groups()
    quote = value[0] if value[0] in "\"'" else ""
    return f"{assigned}{quote}***{quote}"
