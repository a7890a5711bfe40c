"""The retrospective half of a Provenance Run Crate: who ran what, where, when, on which data.

    the run           a CreateAction whose instrument is the workflow
    an activation     a CreateAction whose instrument is its activity's program; its attempts are
                      told in its description, what it used up in resourceUsage
    a step            a ControlAction over all activations of its activity
    SciCumulus-RL     the OrganizeAction around it all
    a tuple           a PropertyValue whose value is a JSON object
    a VM              a Place, the location of what ran there

Pure: entities are JSON-LD objects.
"""

from __future__ import annotations

import json
import mimetypes
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from scicore.exports.crate_workflow import (
    Entity,
    program_id,
    ref,
    refs,
    relation_id,
    specification_file,
    step_id,
    tuple_parameter_id,
)
from scicore.exports.lineage import DataFile, Lineage
from scicore.exports.snapshot import ActivationRow, AttemptRow, Head, Snapshot, TupleRow
from scicore.model.activation import ActivationState, Cause, RunState

RUN = "#run"
ENGINE = "#engine"
ORGANIZED = "#engine-run"
_COMPLETED, _FAILED, _ACTIVE = (
    f"http://schema.org/{word}ActionStatus" for word in ("Completed", "Failed", "Active")
)
_STATUS = {
    ActivationState.FINISHED: _COMPLETED,
    ActivationState.FAILED: _FAILED,
    ActivationState.CANCELLED: _FAILED,
}
_SECOND, _BYTE = "https://qudt.org/vocab/unit/SEC", "https://qudt.org/vocab/unit/BYTE"
_USAGE = (
    ("cpu_s", "CPU time", _SECOND),
    ("peak_rss_bytes", "peak memory", _BYTE),
    ("read_bytes", "bytes read", _BYTE),
    ("written_bytes", "bytes written", _BYTE),
)


@dataclass(frozen=True, slots=True)
class Crate:
    """What the entities are made from."""

    snapshot: Snapshot
    lineage: Lineage
    file_ids: Mapping[DataFile, str]  # as they are called in the crate
    relation_files: Mapping[str, str]  # relation → its CSV file in the crate

    @property
    def head(self) -> Head:
        return self.snapshot.head

    @property
    def happened(self) -> Iterator[ActivationRow]:
        return (row for row in self.snapshot.activations if self.lineage.happened(row))


def activation_id(row: ActivationRow) -> str:
    return f"#activation/{row.activation_id}"


def run_entities(crate: Crate) -> Iterator[Entity]:
    yield from _agents(crate.head)
    yield _run(crate)
    yield from map(_tuple, crate.snapshot.tuples)
    steps = defaultdict(list)
    vms = {vm.vm for vm in crate.head.vms}
    for row in crate.happened:
        yield from _activation(crate, row, vms)
        steps[row.activity].append(activation_id(row))
    for tag, actions in steps.items():
        yield {
            "@id": _control_id(tag),
            "@type": "ControlAction",
            "name": f"the step {tag}",
            "instrument": ref(step_id(tag)),
            "object": refs(actions),
        }
    if steps:
        yield {
            "@id": ORGANIZED,
            "@type": "OrganizeAction",
            "name": f"SciCumulus-RL {crate.head.run.version} executing {crate.head.run.workflow}",
            "agent": ref(user_id(crate.head)),
            "instrument": ref(ENGINE),
            "object": refs(map(_control_id, steps)),
            "result": ref(RUN),
            **_times(crate.head.run.started_at, crate.head.run.ended_at),
        }


def user_id(head: Head) -> str:
    return f"#user/{quote(head.run.user_name, safe='')}"


def _vm_id(vm: str) -> str:
    return f"#vm/{quote(vm, safe='')}"


def _control_id(activity: str) -> str:
    return f"#control/{quote(activity, safe='')}"


def _agents(head: Head) -> Iterator[Entity]:
    yield {"@id": user_id(head), "@type": "Person", "name": head.run.user_name}
    yield {
        "@id": ENGINE,
        "@type": "SoftwareApplication",
        "name": "SciCumulus-RL",
        "softwareVersion": head.run.version,
    }
    for vm in head.vms:
        yield {
            "@id": _vm_id(vm.vm),
            "@type": "Place",
            "name": vm.vm,
            "description": f"VM of type {vm.vm_type} with {vm.slots} slots on {vm.host or '?'}",
        }


def _run(crate: Crate) -> Entity:
    head, files = crate.head, crate.lineage.files
    run = head.run
    given = [crate.relation_files[relation.name] for relation in head.inputs]
    given += [crate.file_ids[file] for file in files if file.maker is None]
    results = [crate.relation_files[relation.name] for relation in head.outputs]
    results += [crate.file_ids[file] for file in files if file.maker is not None]
    status = _ACTIVE if head.going_on else _FAILED
    entity: Entity = {
        "@id": RUN,
        "@type": "CreateAction",
        "name": f"Run {run.run_id} of {run.workflow}",
        "description": f"{run.state}; fleet {head.plan.fleet}, planned by {head.plan.algorithm}",
        "instrument": ref(specification_file(head)),
        "agent": ref(user_id(head)),
        "actionStatus": _COMPLETED if run.state == RunState.FINISHED else status,
        "object": refs(given),
        "result": refs(results),
        "identifier": f"urn:scicumulus:run:{run.run_id}",
        **_times(run.started_at, run.ended_at),
    }
    if entity["actionStatus"] == _FAILED:
        entity["error"] = f"the run is {run.state}"
    return entity


def _activation(crate: Crate, row: ActivationRow, vms: set[str]) -> Iterator[Entity]:
    known, attempts = crate.lineage, crate.lineage.attempts(row)
    decisive = known.decisive(row)
    taken = [_tuple_id(used) for used in known.used(row)]
    taken += [crate.file_ids[file] for file in known.files_used(row)]
    given = [_tuple_id(made) for made in known.made(row)]
    given += [crate.file_ids[file] for file in known.files_made(row)]
    entity: Entity = {
        "@id": activation_id(row),
        "@type": "CreateAction",
        "name": row.name,
        "description": _story(attempts),
        "instrument": ref(program_id(row.activity)),
        "agent": ref(user_id(crate.head)),
        "actionStatus": _STATUS.get(ActivationState(row.state), _ACTIVE),
        "object": refs(taken),
        "result": refs(given),
    }
    if attempts:
        entity |= _times(attempts[0].started_at, attempts[-1].ended_at)
    if entity["actionStatus"] == _FAILED:
        entity["error"] = _error(decisive) or row.state
    if decisive is not None:
        if decisive.vm in vms:
            entity["location"] = ref(_vm_id(decisive.vm))
        usage = list(_usage(row, decisive))
        if usage:
            entity["resourceUsage"] = refs(each["@id"] for each in usage)
        yield from usage
    yield entity


def _story(attempts: tuple[AttemptRow, ...]) -> str:
    if not attempts:
        return "finished without an attempt of its own"
    tries = (
        f"attempt {attempt.number} on {attempt.vm}: {attempt.cause or 'still running'}"
        for attempt in attempts
    )
    command = attempts[-1].command
    return "; ".join(tries) + (f". Command: {command}" if command else "")


def _error(attempt: AttemptRow | None) -> str:
    if attempt is None:
        return ""
    code = f" {attempt.exit_code}" if attempt.cause == Cause.EXIT_CODE else ""
    tail = f": {attempt.stderr_tail}" if attempt.stderr_tail else ""
    return f"{attempt.cause}{code}{tail}"


def _usage(row: ActivationRow, attempt: AttemptRow) -> Iterator[Entity]:
    for name, label, unit in _USAGE:
        value = getattr(attempt, name)
        if value:
            yield {
                "@id": f"#usage/{row.activation_id}/{name}",
                "@type": "PropertyValue",
                "name": label,
                "propertyID": f"urn:scicumulus:terms/{name}",
                "unitCode": unit,
                "value": str(value),
            }


def _tuple_id(row: TupleRow) -> str:
    return f"#tuple/{row.tuple_id}"


def _tuple(row: TupleRow) -> Entity:
    return {
        "@id": _tuple_id(row),
        "@type": "PropertyValue",
        "name": f"{row.relation} {row.path}",
        "value": json.dumps(dict(row.values), ensure_ascii=False),
        "exampleOfWork": ref(tuple_parameter_id(row.relation)),
    }


def relation_properties(relation: str) -> Entity:
    return {
        "name": relation,
        "description": f"every tuple of the relation {relation}",
        "encodingFormat": "text/csv",
        "exampleOfWork": ref(relation_id(relation)),
    }


def file_properties(file: DataFile) -> Entity:
    name = file.path.rsplit("/", 1)[-1]
    return {
        "name": name,
        "encodingFormat": mimetypes.guess_type(name)[0] or "application/octet-stream",
        "contentSize": str(file.size_bytes),
        "sha256": file.sha256,
    }


def _times(started_at: datetime | None, ended_at: datetime | None) -> Entity:
    times = {"startTime": started_at, "endTime": ended_at}
    return {
        name: at.astimezone(UTC).isoformat(timespec="milliseconds")
        for name, at in times.items()
        if at is not None
    }
