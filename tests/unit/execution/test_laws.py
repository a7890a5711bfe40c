"""What holds in every run: any workflow, any plan, any order in which things happen.

Hypothesis makes up workflows, fleets and plans; a driver plays the slaves, as unkindly as asked.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from scicore.algebra.forecast import forecast
from scicore.execution.messages import (
    ActivationCreated,
    ActivationMoved,
    AttemptEnded,
    AttemptStarted,
    LimitReached,
    RunEnded,
    TupleGenerated,
    VmChanged,
)
from scicore.execution.replay import from_lines, replay, to_line
from scicore.model.activation import ActivationState, Cause, Dispatch, RunState
from scicore.model.workflow import Dataset, Operator, Workflow
from tests.unit.execution.building import Stage, activity, fleet, plan, relation
from tests.unit.execution.random_runs import stages, workflows
from tests.unit.execution.unkind_slaves import CHAOS, FAULTS, RANDOMS, Chaos, inputs_of, played

BAD = frozenset({ActivationState.FAILED, ActivationState.BLOCKED})
TERMINAL = BAD | {ActivationState.FINISHED, ActivationState.CANCELLED}


def crowded(random: Random) -> Stage:
    """Enough activations for stragglers and bad VMs to stand out."""
    source = relation("source", "ID", "SITE")
    first = activity("first", Operator.MAP, source, "ID", "SITE")
    second = activity("second", Operator.FILTER, first, "ID", "SITE")
    last = activity("last", Operator.REDUCE, second, "SITE", operand=("SITE",))
    rows = tuple(
        (random.choice("pqr"), random.choice("pqr")) for _ in range(random.randint(20, 40))
    )
    spec = Workflow(
        "w",
        (replace(first, cpus=random.choice("12")), second, last),
        (Dataset(source, rows),),
        "/w",
        "/w/exp",
        max_attempts=3,
        redundancy=True,
        reliability=0.8,
    )
    vms = fleet(*(random.randint(1, 3) for _ in range(3)))
    names = list(forecast(spec).names)
    random.shuffle(names)
    assignments = {name: random.choice(vms.vms).id for name in names}
    return Stage(spec, plan(vms, assignments), random.choice(list(Dispatch)))


def test_doubles_drains_losses_and_limits_leave_the_books_in_order() -> None:
    doubled, drained, limited = 0, 0, 0
    for seed in range(30):
        random = Random(seed)
        chaos = Chaos(
            failure=0.05,
            losses=random.choice([0, 0, 2]),
            returns=True,
            late=0.5,
            limit_s=random.choice([0.0, 0.0, 60.0]),
            bad_vm="vm-2",
        )
        stage = played(crowded(random), random, chaos)
        books_are_closed(stage, chaos)
        facts_are_consistent(stage)
        told = replay(stage.workflow, stage.plan, stage.events, stage.dispatch)
        assert told == stage.answers
        facts = stage.facts()
        doubled += sum(isinstance(fact, AttemptStarted) and fact.redundant for fact in facts)
        drained += sum(isinstance(fact, VmChanged) and fact.state == "drained" for fact in facts)
        limited += sum(isinstance(fact, LimitReached) for fact in facts)
    assert min(doubled, drained, limited) > 3, "the world was too kind to show anything"


@settings(max_examples=90, deadline=None)
@given(stage=stages(), random=RANDOMS, chaos=CHAOS)
def test_every_run_ends_with_closed_books_and_can_be_told_again(
    stage: Stage, random: Random, chaos: Chaos
) -> None:
    played(stage, random, chaos)
    books_are_closed(stage, chaos)
    facts_are_consistent(stage)
    logged = [to_line(event) for event in stage.events]
    told = replay(stage.workflow, stage.plan, from_lines(logged), stage.dispatch)
    assert told == stage.answers


def books_are_closed(stage: Stage, chaos: Chaos) -> None:
    ends = [fact.state for fact in stage.facts() if isinstance(fact, RunEnded)]
    assert ends == [stage.execution.state]
    states = set(stage.states().values())
    if ends[0] in (RunState.FINISHED, RunState.FAILED):
        assert states <= TERMINAL
        assert (ends[0] is RunState.FAILED) == bool(states & BAD)
    else:
        assert ActivationState.RUNNING not in states or ends[0] is RunState.INTERRUPTED
        assert chaos.stops or chaos.limit_s if ends[0] is RunState.STOPPED else chaos.losses


def facts_are_consistent(stage: Stage) -> None:
    tuples: set[int] = set()
    states: dict[int, ActivationState] = {}
    names: set[str] = set()
    attempts: dict[tuple[int, int], Cause | None] = {}
    for fact in stage.facts():
        match fact:
            case TupleGenerated():
                assert fact.id not in tuples
                assert fact.activation is None or states[fact.activation] is (
                    ActivationState.FINISHED
                )
                tuples.add(fact.id)
            case ActivationCreated():
                assert fact.id not in states
                assert fact.name not in names
                assert set(fact.used) <= tuples
                assert (fact.state is ActivationState.BLOCKED) == (fact.blocked_by is not None)
                if fact.blocked_by is not None:
                    assert states[fact.blocked_by] is ActivationState.FAILED
                states[fact.id] = fact.state
                names.add(fact.name)
            case AttemptStarted():
                before = ActivationState.RUNNING if fact.redundant else ActivationState.READY
                assert states[fact.activation] is before
                states[fact.activation] = ActivationState.RUNNING
                assert (fact.activation, fact.number) not in attempts
                attempts[fact.activation, fact.number] = None
            case AttemptEnded():
                assert attempts[fact.activation, fact.number] is None, "ended twice"
                attempts[fact.activation, fact.number] = fact.cause
            case ActivationMoved():
                assert states[fact.id] not in TERMINAL, "moved after its end"
                assert (fact.state is ActivationState.BLOCKED) == (fact.blocked_by is not None)
                states[fact.id] = fact.state
    assert states == {fact.id: stage.states()[fact.name] for fact in stage.created().values()}
    if stage.execution.state is not RunState.INTERRUPTED:  # then the master may be in a query
        assert None not in attempts.values(), "an attempt without an end"
    results = Counter(id for (id, _), cause in attempts.items() if cause is Cause.FINISHED)
    finished = {id for id, state in states.items() if state is ActivationState.FINISHED}
    assert results == dict.fromkeys(finished, 1), "not exactly one result"


@settings(max_examples=50, deadline=None)
@given(stage=stages(), random=RANDOMS, failure=st.sampled_from([0.1, 0.4]))
def test_a_failure_is_final_only_when_attempts_are_used_up_and_leaves_nothing_out_of_the_books(
    stage: Stage, random: Random, failure: float
) -> None:
    played(stage, random, Chaos(failure, losses=1, returns=True))
    failures = Counter(
        fact.activation
        for fact in stage.facts()
        if isinstance(fact, AttemptEnded) and fact.cause in FAULTS
    )
    blocked = Counter(
        fact.activity for fact in stage.created().values() if fact.state is ActivationState.BLOCKED
    )
    for name, state in stage.states().items():
        fact = stage.created()[name]
        failed = failures[fact.id] == stage.workflow.max_attempts
        assert failed == (state is ActivationState.FAILED)
        if state in BAD and stage.execution.state is not RunState.INTERRUPTED:
            output = stage.workflow.activity(fact.activity).output.name
            for consumer in stage.workflow.consumers(fact.activity, output):
                assert blocked[consumer.tag], f"{name} is {state}, {consumer.tag} is not blocked"


@settings(max_examples=50, deadline=None)
@given(stage=stages(), one=RANDOMS, other=RANDOMS, seed=st.integers(0, 999))
def test_the_order_of_completion_does_not_change_what_is_run(
    stage: Stage, one: Random, other: Random, seed: int
) -> None:
    again = Stage(stage.workflow, stage.plan, stage.dispatch)
    played(stage, one, seed=seed)
    played(again, other, seed=seed)
    assert stage.execution.state is RunState.FINISHED
    assert set(stage.created()) == set(again.created())
    rows = {name: fact.rows for name, fact in stage.created().items()}
    assert rows == {name: fact.rows for name, fact in again.created().items()}


@settings(max_examples=90, deadline=None)
@given(
    stage=stages(),
    random=RANDOMS,
    seed=st.integers(0, 999),
    failure=st.sampled_from([0.1, 0.4]),
    losses=st.integers(0, 2),
)
def test_nothing_runs_on_other_data_because_something_else_failed(
    stage: Stage, random: Random, seed: int, failure: float, losses: int
) -> None:
    """Above all no group without all of its tuples."""
    undisturbed = Stage(stage.workflow, stage.plan, stage.dispatch)
    played(undisturbed, random, seed=seed)
    played(stage, random, Chaos(failure, losses, late=0.5), seed=seed)
    ran = [name for name in stage.created() if stage.states()[name] is not ActivationState.BLOCKED]
    assert inputs_of(stage, ran) <= inputs_of(undisturbed, list(undisturbed.created()))


@settings(max_examples=50, deadline=None)
@given(
    spec=workflows(foreseeable=True),
    random=RANDOMS,
    counts=st.lists(st.integers(1, 3), min_size=5, max_size=5),
)
def test_a_run_that_turns_out_as_forecast_has_the_activations_and_edges_of_the_forecast(
    spec: Workflow, random: Random, counts: list[int]
) -> None:
    fan_out = {made.tag: count for made, count in zip(spec.activities, counts, strict=False)}
    expected = forecast(spec, fan_out)
    stage = played(Stage(spec, plan(fleet(2, 1))), random, fan_out=fan_out)
    created = stage.created()
    assert set(created) == set(expected.names)
    names = {fact.id: name for name, fact in created.items()}
    makers = {
        fact.id: fact.activation for fact in stage.facts() if isinstance(fact, TupleGenerated)
    }
    edges = {
        (names[maker], name)
        for name, fact in created.items()
        for used in fact.used
        if (maker := makers[used]) is not None
    }
    assert edges == {
        (expected.names[parent], expected.names[child]) for parent, child in expected.edges
    }
