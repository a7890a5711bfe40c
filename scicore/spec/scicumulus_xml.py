"""The SciCumulus XML language: one file, and the datasets it names, become a Workflow.

Reading goes on after a mistake, so that the user is told everything in one go; only a text
without any defect becomes a Workflow. Here is the execution half.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scicore.algebra.template import substitute, tags
from scicore.errors import Defect, SpecificationError
from scicore.model.cloud import LOCAL, VmType
from scicore.model.workflow import QUERIES, Activity, Workflow
from scicore.spec import markup, program, reader, shape, warm
from scicore.spec.activities import read_activities
from scicore.spec.dataset import DatasetFile, Table, read_dataset
from scicore.spec.edges import check_edges
from scicore.spec.language import LANGUAGE
from scicore.spec.linking import External
from scicore.spec.reader import Element, Findings, did_you_mean
from scicore.spec.values import Places, fits

DEFAULT_MAX_ATTEMPTS = 3
_VM_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # stands in fleets, as in 8xt2.micro


@dataclass(frozen=True, slots=True)
class Loaded:
    workflow: Workflow
    warnings: tuple[str, ...]  # file:line: what was accepted and has no effect
    source: str  # the XML as read, but for passwords: they are ***


@dataclass(frozen=True, slots=True)
class Inspected:
    """Everything that can be said about a specification, whether it holds or not."""

    loaded: Loaded | None  # None with defects
    defects: tuple[Defect, ...]
    warnings: tuple[str, ...]


def load_workflow(path: Path) -> Loaded:
    """Read a specification; raises SpecificationError with all its defects at once."""
    return _load(path, Findings(str(path)))


def inspect_workflow(path: Path) -> Inspected:
    """Read a specification for its defects and warnings; never raises for what it says."""
    findings = Findings(str(path))
    try:
        loaded = _load(path, findings)
    except SpecificationError as error:
        return Inspected(None, error.defects, findings.warnings)
    return Inspected(loaded, (), loaded.warnings)


def _load(path: Path, findings: Findings) -> Loaded:
    root, text = reader.read_document(path, findings)
    if root.tag != "SciCumulus":
        findings.stop(root.line, f"the root element <{root.tag}>", "<SciCumulus>")
    shape.check(root, LANGUAGE, findings)
    shape.refuse_secrets(root, findings)
    for environment in root.all("environment"):
        shape.choice(environment, "type", ("LOCAL", "CLOUD_AMAZON", "CLUSTER"), findings)
    conceptual, execution = root.first("conceptualWorkflow"), root.first("executionWorkflow")
    activities, externals = read_activities(conceptual, findings) if conceptual else ((), ())
    directory, experiment = _directories(path, root.first("workspace"), execution, findings)
    care = _care(execution, findings)
    tables: dict[str, Table] = {}
    if execution is not None:
        places = Places(directory, experiment)
        files = _dataset_files(execution, places, externals, activities, findings)
        tables = {file.relation.name: read_dataset(file, findings) for file in files}
        check_edges(activities, tables, findings)
    algorithm = _algorithm(root, execution, findings)
    constraint = root.first("constraint")
    limits = _limits(constraint, findings)
    machine_types = _machine_types(root.first("machineTypes"), findings)
    if conceptual is not None and directory and experiment:
        directories = {"WFDIR": directory, "EXPDIR": experiment}
        program.check_templates(conceptual, activities, directories, findings)
        warm.check_modules(conceptual, activities, directory, findings)
    findings.raise_defects()
    _warn_of_nothing_to_do(activities, tables, findings)
    assert conceptual is not None  # check() asks for both
    assert execution is not None
    execution_tag = constraint.get("workflow_exectag") if constraint else ""
    workflow = Workflow(
        tag=conceptual.get("tag"),
        activities=activities,
        datasets=tuple(table.dataset for table in tables.values()),
        directory=directory,
        experiment_directory=experiment,
        max_attempts=care.max_attempts,
        redundancy=care.redundancy,
        reliability=care.reliability,
        algorithm=algorithm,
        sizing=execution.get("sizing"),
        execution_tag=execution_tag or execution.get("tag"),
        description=conceptual.get("description"),
        machine_types=machine_types,
        max_vm_amount=limits.vm_amount,
        max_time_s=limits.time_s,
        max_cost_usd=limits.cost_usd,
    )
    return Loaded(workflow, findings.warnings, markup.masked(text))


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


@dataclass(frozen=True, slots=True)
class _Care:
    """What a run does about trouble."""

    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    redundancy: bool = False
    reliability: float = 0.0


def _care(execution: Element | None, findings: Findings) -> _Care:
    if execution is None:
        return _Care()
    return _Care(
        shape.count(execution, "max_failure", DEFAULT_MAX_ATTEMPTS, findings),
        shape.flag(execution, "redundancy", findings),
        shape.share(execution, "reliability", findings),
    )


@dataclass(frozen=True, slots=True)
class _Limits:
    vm_amount: int = 0
    time_s: float = 0.0
    cost_usd: float = 0.0


def _limits(constraint: Element | None, findings: Findings) -> _Limits:
    if constraint is None:
        return _Limits()
    return _Limits(
        shape.count(constraint, "max_vm_amount", 0, findings),
        shape.quantity(constraint, "max_time", "seconds", findings),
        shape.quantity(constraint, "max_financial_cost", "US dollars", findings),
    )


def _machine_types(element: Element | None, findings: Findings) -> tuple[VmType, ...]:
    """The specification's VM types; speeds are relative to the slowest of them."""
    vms = element.all("vm") if element else ()
    gflops = [shape.quantity(vm, "gflops", "gigaflops", findings) for vm in vms]
    slowest = min((figure for figure in gflops if figure), default=1.0)
    types = {}
    for vm, figure in zip(vms, gflops, strict=True):
        name = vm.get("type")
        if name and (name == LOCAL.name or not _VM_TYPE.fullmatch(name)):
            expected = "letters, digits and . _ -, as in t2.micro; local is this machine"
            findings.at(vm, "type", f'type="{name}"', expected)
        elif name in types:
            findings.at(vm, "type", f"the VM type {name} twice", "every VM type once")
        types[name] = VmType(
            name=name,
            slots=shape.count(vm, "cores", 1, findings),
            memory_mb=round(shape.quantity(vm, "ram", "gigabytes", findings) * 1024),
            speed=(figure or slowest) / slowest,
            price_usd_per_hour=shape.quantity(vm, "financial_cost", "US dollars", findings),
        )
    return tuple(types.values())


def _algorithm(root: Element, execution: Element | None, findings: Findings) -> str:
    named = [*root.all("algorithm"), *(execution.all("algorithm") if execution else ())]
    for extra in named[1:]:
        findings.at(extra, "", "one more <algorithm>", "one for the whole workflow")
    return named[0].text if named else ""


def _dataset_files(
    execution: Element,
    places: Places,
    externals: Sequence[External],
    activities: Sequence[Activity],
    findings: Findings,
) -> Iterator[DatasetFile]:
    """Each external relation with its file and the line that names it."""
    values = {"WFDIR": places.workflow, "EXPDIR": places.experiment}
    wanted = {external.relation.name.casefold() for external in externals}
    given: dict[str, Element] = {}  # relation names match whatever their case here
    for element in execution.all("relation"):
        name = element.get("name")
        if given.setdefault(name.casefold(), element) is not element:
            findings.at(element, "name", f"a second dataset for relation {name}", "one dataset")
        if name and name.casefold() not in wanted:
            findings.warn(element.line, f"no activity reads the dataset relation {name}")
    for external in externals:
        relation = external.relation
        named = given.get(relation.name.casefold())
        if named is not None:
            file = _path(named, "filename", places.experiment, values, findings)
            if file and named.get("filename"):
                judged = fits(relation, activities, places)
                yield DatasetFile(relation, Path(file), named.line_of("filename"), judged)
            continue
        outputs = [activity.output.name for activity in activities]
        names = [element.get("name") for element in given.values()]
        hint = did_you_mean(relation.name, [*names, *outputs])
        expected = f'<relation name="{relation.name}" filename="…"/> in <executionWorkflow>{hint}'
        for place in external.readers:
            found = f"the input {relation.name}, which neither a dataset nor an activity gives"
            findings.at(place, "name", found, expected)


def _warn_of_nothing_to_do(
    activities: Sequence[Activity], tables: Mapping[str, Table], findings: Findings
) -> None:
    """Without a single tuple no program would ever start; a query can do without."""
    empty = [table for table in tables.values() if not table.rows]
    nothing = len(empty) == len(tables) and all(each.operator not in QUERIES for each in activities)
    for table in empty:
        told = f"the dataset of {table.relation.name} has no tuples"
        if nothing:
            told += ", so that no activation will start: write some below the header"
        findings.warn(1, told, table.file)
