"""Workflow to text: our XML beside its datasets, such that loading it gives the workflow again.

What the language cannot say is not written: boot times and bandwidths of machine types, and the
order of datasets, which is that of the activities that read them first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path

from lxml import etree

from scicore.algebra.relation_text import write_relation
from scicore.model.cloud import VmType
from scicore.model.workflow import (
    Activity,
    Dataset,
    Field,
    Relation,
    Row,
    Staging,
    Workflow,
)

FILE_NAME = "workflow.xml"
_ROWS_AT_ONCE = 1000


def write_workflow(workflow: Workflow, directory: Path) -> Path:
    """Write workflow.xml and one file per dataset; the XML comes last and appears whole."""
    directory.mkdir(parents=True, exist_ok=True)
    for dataset in workflow.datasets:
        with _file(dataset, directory).open("w", encoding="utf-8", newline="") as stream:
            stream.writelines(_lines(dataset))
    target = directory / FILE_NAME
    draft = directory / f".{FILE_NAME}.draft"
    tree = etree.ElementTree(_root(workflow, directory.absolute()))
    tree.write(str(draft), encoding="utf-8", xml_declaration=True, pretty_print=True)
    return draft.replace(target)


def _file(dataset: Dataset, directory: Path) -> Path:
    return directory / f"{dataset.relation.name}.dataset"


def _lines(dataset: Dataset) -> Iterator[str]:
    """The text in pieces: a trace's dataset can be larger than what should be in memory twice."""
    rows: Iterator[Row] = chain([dataset.relation.field_names], dataset.rows)
    while piece := tuple(islice(rows, _ROWS_AT_ONCE)):
        yield write_relation(piece[0], piece[1:])  # a header is a line like any other


def _root(workflow: Workflow, directory: Path) -> etree._Element:
    root = etree.Element("SciCumulus")
    limits = {
        "max_time": _number(workflow.max_time_s),
        "max_financial_cost": _number(workflow.max_cost_usd),
        "max_vm_amount": _number(workflow.max_vm_amount),
    }
    if any(limits.values()):
        _element(root, "constraint", limits)
    home = str(directory)
    if workflow.directory != home:
        _element(root, "workspace", {"workflow_dir": workflow.directory})
    if workflow.machine_types:
        machines = _element(root, "machineTypes", {})
        for vm_type in workflow.machine_types:
            _element(machines, "vm", _vm(vm_type))
    about = {"tag": workflow.tag, "description": workflow.description}
    conceptual = _element(root, "conceptualWorkflow", about)
    declared: set[str] = set()  # dataset relations whose fields are in order already
    for activity in workflow.activities:
        _write_activity(conceptual, activity, declared)
    _write_execution(root, workflow, directory)
    return root


def _vm(vm_type: VmType) -> Mapping[str, str]:
    return {
        "type": vm_type.name,
        "cores": str(vm_type.slots),
        "ram": _number(vm_type.memory_mb / 1024),  # gigabytes
        "gflops": _number(vm_type.speed),  # only their ratios count
        "financial_cost": _number(vm_type.price_usd_per_hour),
    }


def _write_activity(parent: etree._Element, activity: Activity, declared: set[str]) -> None:
    attributes = {
        "tag": activity.tag,
        "type": activity.operator.value,
        "description": activity.description,
        "activation": activity.command,
        "extractor": activity.extractor,
        "template": activity.template,
        "operand": ",".join(activity.operand),
        "cpus": activity.cpus if activity.cpus != "1" else "",
        "memory": activity.memory_mb if activity.memory_mb != "0" else "",
        "runtime": activity.runtime_s,
        "timeout": _number(activity.timeout_s),
        "id": activity.id_field,
        "parents": activity.parents_field,
        "batch": activity.batch.value if activity.batch else "",
    }
    element = _element(parent, "activity", attributes)
    sources = activity.sources
    for source in sources:
        name = source.alias or source.relation.name
        link = {"reltype": "Input", "name": name, "dependency": source.producer or ""}
        _element(element, "relation", link)
    _element(element, "relation", {"reltype": "Output", "name": activity.output.name})
    for relation in dict.fromkeys(source.relation for source in sources):
        staging = activity.staging if relation == activity.input else ()
        external = any(each.relation == relation and each.producer is None for each in sources)
        first_reader = external and relation.name not in declared
        _write_inputs(element, relation, staging, in_order=first_reader)
        if external:
            declared.add(relation.name)
    for field in activity.output.fields:
        _element(element, "field", {**_field(field), "output": activity.output.name})
    for name, value in activity.environment:
        etree.SubElement(element, "environment", {"name": name, "value": value})


def _write_inputs(
    parent: etree._Element, relation: Relation, staging: Iterable[Staging], in_order: bool
) -> None:
    """Whoever reads a dataset first tells the order of its fields; others that of their staging."""
    staged = {wish.field: wish for wish in staging}
    place = {name: number for number, name in enumerate(staged)}
    fields = list(relation.fields)
    if not in_order:
        fields.sort(key=lambda field: place.get(field.name, len(place)))
    for field in fields:
        wish = staged.get(field.name, Staging(field.name, None))
        operation = {
            "operation": wish.operation.value if wish.operation else "",
            "instrumented": "true" if wish.instrumented else "",
        }
        _element(parent, "field", {**_field(field), "input": relation.name, **operation})


def _field(field: Field) -> Mapping[str, str]:
    places = "" if field.decimal_places is None else str(field.decimal_places)
    return {"name": field.name, "type": field.type.value, "decimalplaces": places}


def _write_execution(root: etree._Element, workflow: Workflow, directory: Path) -> None:
    experiment = workflow.experiment_directory
    elsewhere = experiment if experiment != workflow.directory else ""
    attributes = {
        "tag": workflow.execution_tag or workflow.tag,
        "expdir": _relative(elsewhere, workflow.directory),
        "max_failure": str(workflow.max_attempts),
        "redundancy": "true" if workflow.redundancy else "",
        "reliability": _number(workflow.reliability),
        "sizing": workflow.sizing,
    }
    execution = _element(root, "executionWorkflow", attributes)
    for dataset in workflow.datasets:
        file = _relative(str(_file(dataset, directory)), experiment)
        _element(execution, "relation", {"name": dataset.relation.name, "filename": file})
    if workflow.algorithm:
        _element(execution, "algorithm", {}).text = workflow.algorithm


def _relative(path: str, base: str) -> str:
    """As the language reads paths: from `base` where they lie below it, else absolute."""
    below = path.startswith(os.path.join(base, ""))  # noqa: PTH118
    return path[len(base) :].lstrip("/") if below else path


def _number(value: float) -> str:
    """Empty for 0, which stands for `not said`."""
    if not value:
        return ""
    return str(int(value)) if value == int(value) else repr(value)


def _element(parent: etree._Element, tag: str, attributes: Mapping[str, str]) -> etree._Element:
    """A child with the attributes that say something."""
    given = {name: value for name, value in attributes.items() if value}
    return etree.SubElement(parent, tag, given)
