"""The prospective half of a Provenance Run Crate: the workflow, its programs, steps, parameters.

    the specification    main entity: File, SoftwareSourceCode, ComputationalWorkflow, HowTo
    an activity          a HowToStep, and the SoftwareApplication that it runs
    a relation           two FormalParameters: the whole of it (a CSV file), which the workflow
                         takes or gives, and one tuple of it, which a program takes or gives

Pure: entities are JSON-LD objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from scicore.exports.snapshot import Head
from scicore.model.workflow import Activity, Relation

Entity = dict[str, Any]

LANGUAGE = "#language"
LICENSE = "#license"
PROVENANCE = "https://w3id.org/ro/wfrun/provenance/0.5"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    PROVENANCE: ("Provenance Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
TERMS_CONTEXT = "https://w3id.org/ro/terms/workflow-run/context"
_WORKFLOW_PROFILE = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
_PARAMETER_PROFILE = "https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE"


def ref(id: str) -> Entity:
    return {"@id": id}


def refs(ids: Iterable[str]) -> Entity | list[Entity]:
    """One reference stands alone, as RO-Crate recommends."""
    found = [ref(id) for id in ids]
    return found[0] if len(found) == 1 else found


def step_id(activity: str) -> str:
    return f"#step/{quote(activity, safe='')}"


def program_id(activity: str) -> str:
    return f"#program/{quote(activity, safe='')}"


def relation_id(relation: str) -> str:
    return f"#relation/{quote(relation, safe='')}"


def tuple_parameter_id(relation: str) -> str:
    return f"#tuple-of/{quote(relation, safe='')}"


def specification_file(head: Head) -> str:
    """An imported trace may have been JSON."""
    return "workflow.json" if head.source.lstrip().startswith("{") else "workflow.xml"


def workflow_properties(head: Head, ran: set[str]) -> Entity:
    """`ran` are the activities with an action to show: the profile allows no other tools."""
    workflow = head.workflow
    tags = [activity.tag for activity in workflow.activities]
    return {
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"],
        "name": workflow.tag,
        "description": workflow.description or f"the workflow {workflow.tag}",
        "version": head.run.workflow_digest,
        "encodingFormat": _encoding(head),
        "conformsTo": ref(_WORKFLOW_PROFILE),
        "hasPart": refs(program_id(tag) for tag in tags if tag in ran),
        "step": refs(map(step_id, tags)),
        "input": refs(relation_id(relation.name) for relation in head.inputs),
        "output": refs(relation_id(relation.name) for relation in head.outputs),
    }


def workflow_entities(head: Head) -> Iterator[Entity]:
    yield {
        "@id": LANGUAGE,
        "@type": "ComputerLanguage",
        "name": _language(head),
    }
    yield {
        "@id": LICENSE,
        "@type": "CreativeWork",
        "name": "No license stated",
        "description": "The run's user has not said how its data may be used: ask before you do.",
    }
    for profile, (name, version) in PROFILES.items():
        yield {"@id": profile, "@type": "CreativeWork", "name": name, "version": version}
    for position, activity in enumerate(head.workflow.activities, start=1):
        yield _step(activity, position)
        yield _program(activity, head.run.workflow_digest)
    for relation in head.workflow.relations:
        yield from _parameters(relation)


def _step(activity: Activity, position: int) -> Entity:
    return {
        "@id": step_id(activity.tag),
        "@type": "HowToStep",
        "name": activity.tag,
        "position": str(position),
        "description": f"{activity.operator} from {', '.join(_inputs(activity))} "
        f"to {activity.output.name}",
        "workExample": ref(program_id(activity.tag)),
    }


def _inputs(activity: Activity) -> list[str]:
    return [source.relation.name for source in activity.sources]


def _program(activity: Activity, version: str) -> Entity:
    commands = [activity.command, *([activity.extractor] if activity.extractor else [])]
    about = activity.description or f"the program of {activity.tag}"
    return {
        "@id": program_id(activity.tag),
        "@type": "SoftwareApplication",
        "name": activity.tag,
        "version": version,  # the workflow's: the program's own is not known
        "description": f"{about}: {' ; '.join(commands)}",
        "input": refs(map(tuple_parameter_id, _inputs(activity))),
        "output": refs([tuple_parameter_id(activity.output.name)]),
    }


def _parameters(relation: Relation) -> Iterator[Entity]:
    fields = ", ".join(f"{field.name} ({field.type})" for field in relation.fields)
    for id, name, kind in (
        (relation_id(relation.name), relation.name, "File"),
        (tuple_parameter_id(relation.name), f"tuple of {relation.name}", "PropertyValue"),
    ):
        yield {
            "@id": id,
            "@type": "FormalParameter",
            "name": name,
            "additionalType": kind,
            "description": f"fields: {fields}" if fields else "no fields",
            "conformsTo": ref(_PARAMETER_PROFILE),
        }


def _language(head: Head) -> str:
    text = head.source.lstrip()
    if text.startswith("{"):
        return "WfCommons WfFormat"
    return "Pegasus DAX" if "<adag" in text[:10_000] else "SciCumulus XML"


def _encoding(head: Head) -> str:
    return "application/json" if specification_file(head).endswith("json") else "application/xml"
