"""Activities of which one process serves many activations: functions, and programs on stdin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from keyword import iskeyword
from pathlib import Path

from scicore.model.workflow import (
    PYTHON,
    QUERIES,
    Activity,
    Batch,
    Operator,
    Relation,
    Staging,
)
from scicore.spec import shape
from scicore.spec.reader import Element, Findings, one_of

OPERATORS = (Operator.MAP, Operator.SPLIT_MAP, Operator.FILTER)  # those with one tuple in
NO_FIELDS = Relation("", ())  # a process that serves many tuples is started for none of them
_FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+")


def batch(element: Element, findings: Findings) -> Batch | None:
    word = shape.choice(element, "batch", tuple(Batch), findings)
    return Batch(word) if word else None


def names_function(element: Element) -> bool:
    return element.get("activation").startswith(PYTHON)


def check(
    element: Element, operator: Operator | None, batch: Batch | None, findings: Findings
) -> None:
    """What only a program of its own could do is refused."""
    function = names_function(element)
    if function:
        _check_name(element, findings)
    place = "activation" if function else "batch"
    what = f'{place}="{element.get(place)}"'
    if function and batch is not None:
        found = f'batch="{element.get("batch")}" with a Python function'
        findings.at(element, "batch", found, "one of the two: a function is called per tuple")
    if operator is not None and operator not in OPERATORS:
        found = f"{what} with type {operator}"
        findings.at(element, place, found, f"{one_of(OPERATORS)}, which take a tuple at a time")
    if element.get("extractor") or element.first("extractor") is not None:
        expected = "no extractor: the answers are the output's tuples"
        findings.at(element, place, f"{what} with an extractor", expected)
    if batch is not None and element.get("template"):
        expected = "no template: the program serves many tuples, and has one directory"
        findings.at(element, "template", f"{what} with a template", expected)


def _check_name(element: Element, findings: Findings) -> None:
    name = element.get("activation").removeprefix(PYTHON)
    if not _FUNCTION.fullmatch(name) or any(map(iskeyword, name.split("."))):
        expected = f"{PYTHON}module.function, with the module in the workflow's directory"
        findings.at(element, "activation", f'activation="{PYTHON}{name}"', expected)


def refuse_staging(element: Element, staging: Iterable[Staging], findings: Findings) -> None:
    fields = ", ".join(wish.field for wish in staging)
    found = f'batch="{element.get("batch")}" with files to be staged: {fields}'
    expected = "file fields without operation and instrumented: the program gets their paths"
    findings.at(element, "batch", found, expected)


def check_modules(
    conceptual: Element, activities: Sequence[Activity], directory: str, findings: Findings
) -> None:
    """The module's file is there. What is wrong inside, its first call will tell."""
    elements = {each.get("tag"): each for each in conceptual.all("activity")}
    for activity in activities:
        if activity.operator in QUERIES or not _FUNCTION.fullmatch(activity.function):
            continue
        module = Path(directory, *activity.function.split(".")[:-1])
        file = module.with_name(f"{module.name}.py")
        if not file.is_file() and not (module / "__init__.py").is_file():
            found = f"the function {activity.function}, whose module {file} is not there"
            expected = "a module in the workflow's directory, or in a package there"
            findings.at(elements[activity.tag], "activation", found, expected)
