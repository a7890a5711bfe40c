"""The SciCumulus XML language: one file, and the datasets it names, become a Workflow.

Reading goes on after a mistake, so that the user is told everything in one go; only a text
without any defect becomes a Workflow. Here are the words and the execution half.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scicore.algebra.template import substitute, tags
from scicore.model.workflow import Dataset, Relation, Workflow
from scicore.spec import reader
from scicore.spec.activities import External, read_activities
from scicore.spec.dataset import read_dataset
from scicore.spec.reader import Element, Findings, Shape, did_you_mean

DEFAULT_MAX_ATTEMPTS = 3

_ALGORITHM = Shape(text=True, repeatable=True)  # counted over both places below
_ACTIVITY = Shape(
    ("tag", "type", "activation"),
    ("description", "operand", "extractor", "template"),
    children={
        "relation": Shape(("reltype",), ("name", "dependency"), repeatable=True),
        "field": Shape(
            ("name", "type"),
            ("input", "output", "decimalplaces"),
            idle={"operation": (), "instrumented": ("false",)},
            repeatable=True,
        ),
        "extractor": Shape(unsupported="the attribute extractor of <activity>"),
    },
    repeatable=True,
)
_EXECUTION = Shape(
    ("tag",),
    ("expdir", "max_failure"),
    idle={
        "execmodel": (),
        "user_interaction": ("false",),
        "redundancy": ("false",),
        "reliability": (),
    },
    children={"relation": Shape(("name", "filename"), repeatable=True), "algorithm": _ALGORITHM},
)
LANGUAGE = Shape(
    children={
        "environment": Shape(("type",)),
        "constraint": Shape(
            optional=("workflow_exectag",),
            idle={"cores": (), "max_time": (), "max_financial_cost": (), "max_vm_amount": ()},
        ),
        "workspace": Shape(optional=("workflow_dir",)),
        "database": Shape(unused="the database is chosen by --database-url or the environment"),
        "credentials": Shape(unused="the AWS profile or environment counts"),
        "machineTypes": Shape(unused="VM types come from the catalog", repeatable=True),
        "binary": Shape(unused="nothing has to be installed", repeatable=True),
        "query": Shape(unused="questions are asked by scicumulus query", repeatable=True),
        "algorithm": _ALGORITHM,
        "conceptualWorkflow": Shape(("tag",), ("description",), children={"activity": _ACTIVITY}),
        "executionWorkflow": _EXECUTION,
    },
    needed=("conceptualWorkflow", "executionWorkflow"),
)


@dataclass(frozen=True, slots=True)
class Loaded:
    workflow: Workflow
    warnings: tuple[str, ...]  # file:line: what was accepted and has no effect
    source: str  # the XML as read, but for passwords: they are ***


def load_workflow(path: Path) -> Loaded:
    """Read a specification; raises SpecificationError with all its defects at once."""
    findings = Findings(str(path))
    root, text = reader.read_document(path, findings)
    if root.tag != "SciCumulus":
        findings.stop(root.line, f"the root element <{root.tag}>", "<SciCumulus>")
    reader.check(root, LANGUAGE, findings)
    reader.refuse_secrets(root, findings)
    for environment in root.all("environment"):
        reader.choice(environment, "type", ("LOCAL", "CLOUD_AMAZON", "CLUSTER"), findings)
    conceptual, execution = root.first("conceptualWorkflow"), root.first("executionWorkflow")
    activities, externals = read_activities(conceptual, findings) if conceptual else ((), ())
    directory, experiment = _directories(path, root.first("workspace"), execution, findings)
    max_attempts = DEFAULT_MAX_ATTEMPTS
    datasets: tuple[Dataset, ...] = ()
    if execution is not None:
        max_attempts = reader.count(execution, "max_failure", DEFAULT_MAX_ATTEMPTS, findings)
        outputs = [activity.output.name for activity in activities]
        files = _dataset_files(execution, directory, experiment, externals, outputs, findings)
        datasets = tuple(read_dataset(*each, findings) for each in files)
    algorithm = _algorithm(root, execution, findings)
    findings.raise_defects()
    assert conceptual is not None  # check() asks for both
    assert execution is not None
    constraint = root.first("constraint")
    execution_tag = constraint.get("workflow_exectag") if constraint else ""
    workflow = Workflow(
        tag=conceptual.get("tag"),
        activities=activities,
        datasets=datasets,
        directory=directory,
        experiment_directory=experiment,
        max_attempts=max_attempts,
        algorithm=algorithm,
        execution_tag=execution_tag or execution.get("tag"),
        description=conceptual.get("description"),
    )
    return Loaded(workflow, findings.warnings, reader.masked(text))


def _directories(
    path: Path, workspace: Element | None, execution: Element | None, findings: Findings
) -> tuple[str, str]:
    """WFDIR and EXPDIR, both absolute: relative ones start at the XML file and at WFDIR."""
    home = str(path.absolute().parent)
    directory = _path(workspace, "workflow_dir", home, {}, findings)
    return directory, _path(execution, "expdir", directory, {"WFDIR": directory}, findings)


def _path(
    element: Element | None,
    attribute: str,
    base: str,
    values: Mapping[str, str],
    findings: Findings,
) -> str:
    """The attribute as an absolute path below `base`, tags filled in; empty with a defect."""
    text = element.get(attribute) if element else ""
    unknown = [tag for tag in tags(text) if tag.upper() not in values]
    if element is not None and unknown:
        known = "/".join(f"%={name}%" for name in values)
        expected = f"no other tag than {known}" if known else "a path without tags"
        findings.at(element, attribute, f"the tag %={unknown[0]}% in {attribute}", expected)
    if unknown or not base:
        return ""
    return os.path.normpath(Path(base) / substitute(text, values))


def _algorithm(root: Element, execution: Element | None, findings: Findings) -> str:
    named = [*root.all("algorithm"), *(execution.all("algorithm") if execution else ())]
    for extra in named[1:]:
        findings.at(extra, "", "one more <algorithm>", "one for the whole workflow")
    return named[0].text if named else ""


def _dataset_files(
    execution: Element,
    directory: str,
    experiment: str,
    externals: Sequence[External],
    outputs: Sequence[str],
    findings: Findings,
) -> Iterator[tuple[Relation, Path, int]]:
    """Each external relation with its file and the line that names it."""
    values = {"WFDIR": directory, "EXPDIR": experiment}
    given: dict[str, Element] = {}
    for element in execution.all("relation"):
        name = element.get("name")
        if given.setdefault(name, element) is not element:
            findings.at(element, "name", f"a second dataset for relation {name}", "one dataset")
        if name and name not in [external.relation.name for external in externals]:
            findings.warn(element.line, f"no activity reads the dataset relation {name}")
    for external in externals:
        relation = external.relation
        if relation.name in given:
            element = given[relation.name]
            file = _path(element, "filename", experiment, values, findings)
            if file and element.get("filename"):
                yield relation, Path(file), element.line_of("filename")
            continue
        hint = did_you_mean(relation.name, [*given, *outputs])
        expected = f'<relation name="{relation.name}" filename="…"/> in <executionWorkflow>{hint}'
        for place in external.readers:
            found = f"the input {relation.name}, which neither a dataset nor an activity gives"
            findings.at(place, "name", found, expected)
