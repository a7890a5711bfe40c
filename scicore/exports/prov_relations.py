"""A run's PROV relations, one kind after the other. Pure.

An attempt is one try of an activation on one VM, so it is the *qualified association* between the
two: wasAssociatedWith(run:12/attempt/17/1; activation 17, its VM, its activity's definition). A
second try is a second association, and no activity is told twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from prov import constants as prov
from prov.identifier import QualifiedName

from scicore.exports.prov_elements import Story
from scicore.exports.prov_names import Statement, Value, moment, told
from scicore.exports.snapshot import AttemptRow
from scicore.model.workflow import QUERIES


def relations(story: Story) -> Iterator[Statement]:
    yield from _starts(story)
    yield from _associations(story)
    yield from _delegations(story)
    yield from _attributions(story)
    yield from _usages(story)
    yield from _generations(story)
    yield from _derivations(story)
    yield from _communications(story)


def _starts(story: Story) -> Iterator[Statement]:
    """The run started its activations."""
    for row in story.happened:
        attempts = story.lineage.attempts(row)
        yield Statement(
            prov.PROV_START,
            story.names.part("start", row.activation_id),
            {
                prov.PROV_ATTR_ACTIVITY: story.names.activation(row.activation_id),
                prov.PROV_ATTR_STARTER: story.names.run,
                prov.PROV_ATTR_TIME: moment(attempts[0].started_at) if attempts else None,
            },
        )


def _associations(story: Story) -> Iterator[Statement]:
    """The user meant the workflow, the software followed the schedule, VMs ran activations."""
    names = story.names
    for role, agent, plan in (
        ("user", names.user, names.specification),
        ("software", names.software, names.plan),
    ):
        yield _association(names.part("association", role), names.run, agent, plan)
    for row in story.happened:
        activation, definition = names.activation(row.activation_id), names.definition(row.activity)
        for attempt in story.lineage.attempts(row):
            yield _association(
                names.part("attempt", row.activation_id, attempt.number),
                activation,
                names.vms.get(attempt.vm, names.software),  # the master runs queries itself
                definition,
                attempt,
            )


def _association(
    id: QualifiedName,
    activity: QualifiedName,
    agent: QualifiedName,
    plan: QualifiedName,
    attempt: AttemptRow | None = None,
) -> Statement:
    others = [] if attempt is None else _attempt(attempt)
    formal = {
        prov.PROV_ATTR_ACTIVITY: activity,
        prov.PROV_ATTR_AGENT: agent,
        prov.PROV_ATTR_PLAN: plan,
    }
    return Statement(prov.PROV_ASSOCIATION, id, formal, tuple(others))


def _attempt(attempt: AttemptRow) -> list[tuple[QualifiedName, Value]]:
    return told(
        number=attempt.number,
        vm=attempt.vm,
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        cause=attempt.cause,
        exit_code=attempt.exit_code,
        command=attempt.command,
        workspace=attempt.workspace,
        stderr_tail=attempt.stderr_tail,
        cpu_s=attempt.cpu_s,
        peak_rss_bytes=attempt.peak_rss_bytes,
        read_bytes=attempt.read_bytes,
        written_bytes=attempt.written_bytes,
    )


def _delegations(story: Story) -> Iterator[Statement]:
    """In this run the software acts for the user, and the VMs for the software."""
    names = story.names
    pairs = [("software", names.software, names.user)]
    pairs += [(vm, name, names.software) for vm, name in names.vms.items()]
    for who, delegate, responsible in pairs:
        yield Statement(
            prov.PROV_DELEGATION,
            names.part("delegation", who),
            {
                prov.PROV_ATTR_DELEGATE: delegate,
                prov.PROV_ATTR_RESPONSIBLE: responsible,
                prov.PROV_ATTR_ACTIVITY: names.run,
            },
        )


def _attributions(story: Story) -> Iterator[Statement]:
    """The planner made the plan; what was there before the run came from the user.

    Whom everything else is due to follows from its generation and the activation's association.
    """
    names = story.names
    yield _attribution(names.part("attribution", "plan"), names.plan, names.software)
    for row in story.snapshot.tuples:
        if row.generated_by is None:
            id = names.part("attribution", row.tuple_id)
            yield _attribution(id, names.tuple(row.tuple_id), names.user)
    for file in story.lineage.files:
        if file.maker is None:
            id = names.part("attribution", file.tuple_id, file.field)
            yield _attribution(id, names.file(file), names.user)


def _attribution(id: QualifiedName, entity: QualifiedName, agent: QualifiedName) -> Statement:
    formal = {prov.PROV_ATTR_ENTITY: entity, prov.PROV_ATTR_AGENT: agent}
    return Statement(prov.PROV_ATTRIBUTION, id, formal)


def _usages(story: Story) -> Iterator[Statement]:
    """Tuples in the role of their relation, and the files that they name."""
    names, known = story.names, story.lineage
    for row in story.happened:
        activation = names.activation(row.activation_id)
        for used in known.used(row):
            id = names.part("usage", row.activation_id, used.tuple_id)
            yield _usage(id, activation, names.tuple(used.tuple_id), used.relation)
        for file in known.files_used(row):
            id = names.part("usage", row.activation_id, file.tuple_id, file.field)
            yield _usage(id, activation, names.file(file), file.field)


def _usage(
    id: QualifiedName, activity: QualifiedName, entity: QualifiedName, role: str
) -> Statement:
    formal = {prov.PROV_ATTR_ACTIVITY: activity, prov.PROV_ATTR_ENTITY: entity}
    return Statement(prov.PROV_USAGE, id, formal, ((prov.PROV_ROLE, role),))


def _generations(story: Story) -> Iterator[Statement]:
    """When the attempt that finished ended: earlier, nobody could have seen the output."""
    names, known = story.names, story.lineage
    for row in story.happened:
        attempt = known.decisive(row)
        at = moment(attempt.ended_at if attempt else row.ended_at)
        activation = names.activation(row.activation_id)
        for made in known.made(row):
            id = names.part("generation", made.tuple_id)
            yield _generation(id, names.tuple(made.tuple_id), activation, at, made.relation)
        for file in known.files_made(row):
            id = names.part("generation", file.tuple_id, file.field)
            yield _generation(id, names.file(file), activation, at, file.field)


def _generation(
    id: QualifiedName,
    entity: QualifiedName,
    activity: QualifiedName,
    at: datetime | None,
    role: str,
) -> Statement:
    formal = {
        prov.PROV_ATTR_ENTITY: entity,
        prov.PROV_ATTR_ACTIVITY: activity,
        prov.PROV_ATTR_TIME: at,
    }
    return Statement(prov.PROV_GENERATION, id, formal, ((prov.PROV_ROLE, role),))


def _derivations(story: Story) -> Iterator[Statement]:
    """Output tuples from input tuples. Which rows a query's row came from, nobody knows."""
    names, known = story.names, story.lineage
    yield _derivation(names.part("derivation", "plan"), names.plan, names.specification, None)
    operators = {activity.tag: activity.operator for activity in story.head.workflow.activities}
    for row in story.happened:
        if operators[row.activity] in QUERIES:
            continue
        activation = names.activation(row.activation_id)
        for made in known.made(row):
            for used in known.used(row):
                yield _derivation(
                    names.part("derivation", made.tuple_id, used.tuple_id),
                    names.tuple(made.tuple_id),
                    names.tuple(used.tuple_id),
                    activation,
                )


def _derivation(
    id: QualifiedName, new: QualifiedName, old: QualifiedName, by: QualifiedName | None
) -> Statement:
    formal = {
        prov.PROV_ATTR_GENERATED_ENTITY: new,
        prov.PROV_ATTR_USED_ENTITY: old,
        prov.PROV_ATTR_ACTIVITY: by,
    }
    return Statement(prov.PROV_DERIVATION, id, formal)


def _communications(story: Story) -> Iterator[Statement]:
    """Only where no tuple passes: PROV infers the others from usage and generation."""
    names = story.names
    happened = {row.activation_id for row in story.happened}
    for child in sorted(happened):
        for parent in story.lineage.named_parents.get(child, ()):
            if parent in happened:
                yield Statement(
                    prov.PROV_COMMUNICATION,
                    names.part("communication", child, parent),
                    {
                        prov.PROV_ATTR_INFORMED: names.activation(child),
                        prov.PROV_ATTR_INFORMANT: names.activation(parent),
                    },
                )
