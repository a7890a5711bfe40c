"""What holds in every run: any workflow, any plan, any order in which things happen.

Hypothesis makes up workflows, fleets and plans; a driver plays the slaves, as unkindly as asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from scicore.algebra.forecast import forecast
from scicore.execution.dispatch import MASTER
from scicore.execution.messages import (
    ActivationCreated,
    ActivationMoved,
    AttemptEnded,
    AttemptStarted,
    Cancel,
    Condition,
    Instruction,
    RunEnded,
    Start,
    Stop,
    TupleGenerated,
)
from scicore.execution.replay import from_lines, replay, to_line
from scicore.model.activation import ActivationState, Cause, RunState
from scicore.model.plan import Plan
from scicore.model.workflow import (
    QUERIES,
    Activity,
    Dataset,
    Operator,
    Relation,
    Row,
    Source,
    Workflow,
)
from tests.unit.execution.building import Stage, activity, attempt_ended, fleet, plan, relation

FIELDS = ("ID", "SITE", "KIND")
BAD = frozenset({ActivationState.FAILED, ActivationState.BLOCKED})
TERMINAL = BAD | {ActivationState.FINISHED, ActivationState.CANCELLED}
FAULTS = (Cause.EXIT_CODE, Cause.SIGNAL, Cause.NOT_STARTED, Cause.TIMEOUT, Cause.BAD_OUTPUT)


# --- any workflow, any plan ---------------------------------------------------------------------


@st.composite
def workflows(draw: st.DrawFn, foreseeable: bool = False) -> Workflow:
    """A forest of activities over one or two datasets and, at times, a trace.

    `foreseeable`: without queries and traces, and with groups formed only by values that come
    from a dataset unchanged.
    """
    datasets = [
        Dataset(relation(name, "ID", "SITE"), draw(_rows()))
        for name in ("source", "other")[: draw(st.integers(1, 2))]
    ]
    known = {dataset.relation.name: {"ID", "SITE"} for dataset in datasets}
    sources: list[Activity | Relation] = [dataset.relation for dataset in datasets]
    activities: list[Activity] = []
    if not foreseeable and draw(st.integers(0, 3)) == 0:
        trace = Dataset(relation("trace", "NAME", "PARENTS"), draw(_edges()))
        jobs = activity("jobs", Operator.MAP, trace.relation, "ID")
        jobs = replace(jobs, id_field="NAME", parents_field="PARENTS")
        datasets.append(trace)
        sources.append(jobs)
        activities.append(jobs)
        known["jobs_out"] = set()
    for number in range(draw(st.sampled_from([3, 2, 4, 1]))):
        made = draw(_activities(f"a{number}", sources, known if foreseeable else None))
        known[made.output.name] = known[made.input.name] & _carried_names(made)
        activities.append(made)
        sources.append(made)
    return Workflow(
        "w",
        tuple(activities),
        tuple(datasets),
        "/w",
        "/w/exp",
        max_attempts=draw(st.integers(1, 3)),
    )


@st.composite
def _rows(draw: st.DrawFn) -> tuple[Row, ...]:
    value = st.sampled_from("pqr")
    count = draw(st.sampled_from([4, 3, 2, 5, 1, 0]))
    return tuple((draw(value), draw(value)) for _ in range(count))


@st.composite
def _edges(draw: st.DrawFn) -> tuple[Row, ...]:
    """Each names some of those before it as its parents."""
    names = [f"job{number}" for number in range(draw(st.integers(1, 5)))]
    return tuple((name, " ".join(_some(draw, names[:number]))) for number, name in enumerate(names))


@st.composite
def _activities(
    draw: st.DrawFn,
    tag: str,
    sources: list[Activity | Relation],
    known: Mapping[str, set[str]] | None,
) -> Activity:
    operators = [*Operator, Operator.REDUCE, Operator.REDUCE]
    operator = draw(
        st.sampled_from([one for one in operators if known is None or one not in QUERIES])
    )
    source = draw(st.sampled_from(sources[-2:]))  # rather long than wide
    given_ = source.output if isinstance(source, Activity) else source
    usable = [name for name in given_.field_names if known is None or name in known[given_.name]]
    operand = _some(draw, usable) if operator is Operator.REDUCE else ()
    fields = _some(draw, FIELDS) or ("ID",)
    made = activity(tag, operator, source, *fields, operand=operand)
    if operator is Operator.MR_QUERY:
        return replace(made, also_reads=(_source(draw(st.sampled_from(sources))),))
    return replace(made, cpus=draw(st.sampled_from(["1", "1", "2", "4"])))


def _source(other: Activity | Relation) -> Source:
    if isinstance(other, Activity):
        return Source(other.output, other.tag)
    return Source(other, None)


def _some(draw: st.DrawFn, names: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(draw(st.lists(st.sampled_from(names), unique=True))) if names else ()


@st.composite
def plans(draw: st.DrawFn, spec: Workflow) -> Plan:
    """Any VM for any activation in any order; some that will come are left out."""
    vms = fleet(*(draw(st.integers(1, 3)) for _ in range(draw(st.sampled_from([2, 3, 1])))))
    names = forecast(spec, {made.tag: 2 for made in spec.activities}).names
    chosen = _some(draw, names)
    some_vm = st.sampled_from([vm.id for vm in vms.vms])
    return plan(vms, {name: draw(some_vm) for name in chosen})


@st.composite
def stages(draw: st.DrawFn) -> Stage:
    spec = draw(workflows())
    return Stage(spec, draw(plans(spec)))


# --- the slaves ---------------------------------------------------------------------------------


def _carried_names(made: Activity) -> set[str]:
    """Output fields whose value is the input's."""
    if made.operator in QUERIES:
        return set()
    handed_on = made.operand if made.operator is Operator.REDUCE else made.input.field_names
    return set(handed_on) & set(made.output.field_names)


@dataclass(frozen=True)
class Programs:
    """Same activity, same input: same output, whenever and wherever it is run."""

    spec: Workflow
    seed: int
    fan_out: Mapping[str, int] | None = None  # given: as forecast, and no filter drops a tuple

    def output(self, order: Start) -> tuple[Row, ...]:
        made = self.spec.activity(order.activity)
        random = Random(repr((self.seed, order.activity, order.rows)))
        return tuple(
            self._row(made, order.rows[:1], random) for _ in range(self._count(made, random))
        )

    def _count(self, made: Activity, random: Random) -> int:
        if made.operator is Operator.SPLIT_MAP or made.operator in QUERIES:
            return self.fan_out[made.tag] if self.fan_out else random.randint(0, 3)
        if made.operator is Operator.FILTER:
            return 1 if self.fan_out else random.randint(0, 1)
        return 1

    def _row(self, made: Activity, first: tuple[Row, ...], random: Random) -> Row:
        kept = _carried_names(made)
        given_ = made.input.as_mapping(first[0]) if kept else {}
        return tuple(
            given_[name] if name in kept else random.choice("pqr")
            for name in made.output.field_names
        )


@dataclass(frozen=True)
class Chaos:
    """How unkind the world is."""

    failure: float = 0.0  # probability that an attempt fails
    losses: int = 0  # VMs that are lost
    returns: bool = False  # lost VMs come back
    late: float = 0.0  # probability that a superseded attempt still reports
    stops: bool = False  # the user gives up some time
    wishes: tuple[str, ...] = ()  # what else the user wants, in this order: pause, resume, cancel


RANDOMS = st.integers(0, 2**32 - 1).map(Random)  # many times faster than st.randoms()
PEACE = Chaos()
CHAOS = st.builds(
    Chaos,
    failure=st.sampled_from([0.0, 0.1, 0.4]),
    losses=st.integers(0, 4),
    returns=st.booleans(),
    late=st.sampled_from([0.0, 0.5]),
    stops=st.booleans(),
    wishes=st.lists(st.sampled_from(["pause", "resume", "cancel"]), max_size=4).map(tuple),
)


@dataclass
class Slaves:
    """Plays all slaves until the run has ended, and watches what they are told."""

    stage: Stage
    programs: Programs
    random: Random
    chaos: Chaos
    absent: list[str] = field(default_factory=list)  # VMs that have yet to join
    running: dict[int, Start] = field(default_factory=dict)  # by activation
    superseded: list[Start] = field(default_factory=list)
    finished: set[int] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)  # VMs that are lost and not back
    lost: int = 0
    wishes: int = 0
    stopping: bool = False
    cancelled: set[int] = field(default_factory=set)  # activations

    def play(self) -> Stage:
        self.absent = [vm.id for vm in self.stage.plan.fleet.vms]
        self._obey(self.stage.begin())
        stop_at = self.random.randint(0, 20) if self.chaos.stops else None
        while not self.stage.execution.ended:
            if stop_at is not None and len(self.stage.events) > stop_at:
                stop_at = None
                self.stopping = True
                self._obey(self.stage.stop())
            else:
                self._something_happens()
        for vm in self.absent:
            assert self.stage.join(vm) == [Stop(vm)], "a VM that comes too late is sent home"
        return self.stage

    def _something_happens(self) -> None:
        away = {*self.absent, *self.gone}
        present = [vm.id for vm in self.stage.plan.fleet.vms if vm.id not in away]
        if self.absent and (not self.running or self.random.random() < 0.3):
            vm = self.absent.pop(self.random.randrange(len(self.absent)))
            self.gone.discard(vm)
            self._obey(self.stage.join(vm))
        elif present and self.lost < self.chaos.losses and self.random.random() < 0.1:
            self._lose(self.random.choice(present))
        elif self.superseded and self.random.random() < self.chaos.late:
            self._obey(self._report(self.superseded.pop(), late=True))
        elif self.wishes < len(self.chaos.wishes) and self.random.random() < 0.2:
            self._wish(self.chaos.wishes[self.wishes])
        elif not self.running and self.stage.execution.state is RunState.PAUSED:
            self._obey(self.stage.steer("resume"))
        else:
            assert self.running, "everybody is there, nothing runs, and the run does not end"
            self._obey(self._report(self.random.choice(list(self.running.values()))))

    def _wish(self, action: str) -> None:
        self.wishes += 1
        if action != "cancel":
            self._obey(self.stage.steer(action))
            return
        tags = [made.tag for made in self.stage.workflow.activities]
        some = Condition(self.random.choice(["SITE", "NAME"]), "<=", self.random.choice("jpq"))
        if self.random.random() < 0.5:
            self._obey(self.stage.steer("cancel", self.random.choice(tags)))
        else:
            self._obey(self.stage.steer("cancel", self.random.choice(["", *tags]), some))

    def _lose(self, vm: str) -> None:
        self.lost += 1
        gone = [order for order in self.running.values() if order.vm == vm]
        for order in gone:
            del self.running[order.activation]
        self.superseded += gone
        self.gone.add(vm)
        self._obey(self.stage.lose(vm))
        everybody = {vm.id for vm in self.stage.plan.fleet.vms}
        interrupted = self.stage.execution.state is RunState.INTERRUPTED
        assert interrupted == (self.gone == everybody), "interrupted with somebody left, or not"
        if self.chaos.returns:
            self.absent.append(vm)

    def _report(self, order: Start, late: bool = False) -> list[Instruction]:
        """An attempt ends, one way or another; so do, at times, others on its VM."""
        ended = [self._ended(order)]
        if not late:
            del self.running[order.activation]
            for other in [other for other in self.running.values() if other.vm == order.vm]:
                if self.random.random() < 0.3:
                    ended.append(self._ended(self.running.pop(other.activation)))
            self.finished |= {one.activation for one in ended if one.cause is Cause.FINISHED}
        return self.stage.report(order.vm, *ended)

    def _ended(self, order: Start) -> AttemptEnded:
        if self.random.random() < self.chaos.failure:
            return attempt_ended(order, self.random.choice(FAULTS))
        return attempt_ended(order, rows=self.programs.output(order))

    def _obey(self, instructions: list[Instruction]) -> None:
        slots = {MASTER: 1} | {vm.id: vm.type.slots for vm in self.stage.plan.fleet.vms}
        for instruction in instructions:
            match instruction:
                case Start():
                    assert not self.stopping, "started after the stop"
                    assert self.stage.execution.state is not RunState.PAUSED, "started in a pause"
                    assert instruction.activation not in self.cancelled, "started when cancelled"
                    assert instruction.activation not in self.running, "started twice"
                    assert instruction.activation not in self.finished, "started when finished"
                    assert instruction.vm not in {*self.absent, *self.gone}, "nobody is there"
                    self.running[instruction.activation] = instruction
                case Cancel():
                    assert self.running[instruction.activation].number == instruction.number
                    self.cancelled.add(instruction.activation)
                case Stop():
                    assert not self.running, "sent home with work under way"
        load: Counter[str] = Counter()
        for order in self.running.values():
            cpus = int(self.stage.workflow.activity(order.activity).cpus)
            load[order.vm] += min(cpus, slots[order.vm])
        assert all(load[vm] <= slots[vm] for vm in load), "more than the VM's slots"


def played(
    stage: Stage,
    random: Random,
    chaos: Chaos = PEACE,
    seed: int = 0,
    fan_out: Mapping[str, int] | None = None,
) -> Stage:
    return Slaves(stage, Programs(stage.workflow, seed, fan_out), random, chaos).play()


def inputs_of(stage: Stage, names: list[str]) -> Counter[tuple[str, tuple[Row, ...]]]:
    """Activity and consumed tuples of each of these activations."""
    created = stage.created()
    ledger = stage.execution.ledger
    return Counter(
        (
            created[name].activity,
            tuple(data.row for data in ledger[created[name].id].activation.inputs),
        )
        for name in names
    )


# --- the laws -----------------------------------------------------------------------------------


@settings(max_examples=90, deadline=None)
@given(stage=stages(), random=RANDOMS, chaos=CHAOS)
def test_every_run_ends_with_closed_books_and_can_be_told_again(
    stage: Stage, random: Random, chaos: Chaos
) -> None:
    played(stage, random, chaos)
    books_are_closed(stage, chaos)
    facts_are_consistent(stage)
    logged = [to_line(event) for event in stage.events]
    assert replay(stage.workflow, stage.plan, from_lines(logged)) == stage.answers


def books_are_closed(stage: Stage, chaos: Chaos) -> None:
    ends = [fact.state for fact in stage.facts() if isinstance(fact, RunEnded)]
    assert ends == [stage.execution.state]
    states = set(stage.states().values())
    if ends[0] in (RunState.FINISHED, RunState.FAILED):
        assert states <= TERMINAL
        assert (ends[0] is RunState.FAILED) == bool(states & BAD)
    else:
        assert ActivationState.RUNNING not in states or ends[0] is RunState.INTERRUPTED
        assert chaos.stops if ends[0] is RunState.STOPPED else chaos.losses


def facts_are_consistent(stage: Stage) -> None:
    tuples: set[int] = set()
    states: dict[int, ActivationState] = {}
    names: set[str] = set()
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
                assert states[fact.activation] is ActivationState.READY
                states[fact.activation] = ActivationState.RUNNING
            case ActivationMoved():
                assert states[fact.id] not in TERMINAL, "moved after its end"
                assert (fact.state is ActivationState.BLOCKED) == (fact.blocked_by is not None)
                states[fact.id] = fact.state
    assert states == {fact.id: stage.states()[fact.name] for fact in stage.created().values()}


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
    again = Stage(stage.workflow, stage.plan)
    played(stage, one, seed=seed)
    played(again, other, seed=seed)
    assert stage.execution.state is RunState.FINISHED
    assert set(stage.created()) == set(again.created())
    keys = {name: fact.key for name, fact in stage.created().items()}
    assert keys == {name: fact.key for name, fact in again.created().items()}


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
    undisturbed = Stage(stage.workflow, stage.plan)
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
