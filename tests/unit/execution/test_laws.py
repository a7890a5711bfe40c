"""What holds in every run: any workflow, any plan, any order in which things happen.

Hypothesis makes up workflows, fleets and plans; a driver plays the slaves, as unkindly as asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random

import msgspec
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
    LimitReached,
    RunEnded,
    Start,
    Stop,
    TupleGenerated,
    VmChanged,
)
from scicore.execution.replay import from_lines, replay, to_line
from scicore.model.activation import ActivationState, Cause, Dispatch, RunState
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
from tests.unit.execution.building import (
    LATER_S,
    Stage,
    activity,
    attempt_ended,
    fleet,
    plan,
    relation,
)

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
        redundancy=draw(st.booleans()),
        reliability=draw(st.sampled_from([0.0, 0.5, 0.95])),
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
    return replace(
        made,
        cpus=draw(st.sampled_from(["1", "1", "2", "4"])),
        memory_mb=draw(st.sampled_from(["0", "0", "400", "800"])),
    )


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
    made = plan(vms, {name: draw(some_vm) for name in chosen})
    start_s = draw(st.sampled_from([0.0, 5.0, LATER_S]))  # behind the plan at once, soon, never
    hurried = (replace(each, start_s=start_s, finish_s=start_s + 1) for each in made.assignments)
    return replace(made, assignments=tuple(hurried))


@st.composite
def stages(draw: st.DrawFn) -> Stage:
    spec = draw(workflows())
    return Stage(spec, draw(plans(spec)), draw(st.sampled_from(Dispatch)))


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
    limit_s: float = 0.0  # the run may take no longer
    bad_vm: str = ""  # nearly everything fails there


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
    limit_s=st.sampled_from([0.0, 0.0, 0.0, 7.0, 25.0]),
)


@dataclass
class Slaves:
    """Plays all slaves until the run has ended, and watches what they are told."""

    stage: Stage
    programs: Programs
    random: Random
    chaos: Chaos
    absent: list[str] = field(default_factory=list)  # VMs that have yet to join
    running: dict[tuple[int, int], Start] = field(default_factory=dict)  # activation, number
    superseded: list[Start] = field(default_factory=list)
    finished: set[int] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)  # VMs that are lost and not back
    lost: int = 0
    wishes: int = 0
    stopping: bool = False
    cancelled: set[int] = field(default_factory=set)  # activations
    drained: set[str] = field(default_factory=set)

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
            if self.random.random() < 0.2:
                self._obey(self.stage.tick())
            else:
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
            del self.running[order.activation, order.number]
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
            del self.running[order.activation, order.number]
            for other in [other for other in self.running.values() if other.vm == order.vm]:
                if self.random.random() < 0.3:
                    ended.append(self._ended(self.running.pop((other.activation, other.number))))
            self.finished |= {one.activation for one in ended if one.cause is Cause.FINISHED}
        return self.stage.report(order.vm, *ended)

    def _ended(self, order: Start) -> AttemptEnded:
        failure = 0.9 if order.vm == self.chaos.bad_vm else self.chaos.failure
        if self.random.random() < failure:
            return attempt_ended(order, self.random.choice(FAULTS))
        done = attempt_ended(order, rows=self.programs.output(order))
        took_s = self.random.choice([0.0, 0.5, 1.0, 4.0])
        return msgspec.structs.replace(done, ended_at=took_s)

    def _obey(self, instructions: list[Instruction]) -> None:
        self._watch_vms()
        for instruction in instructions:
            match instruction:
                case Start():
                    self._started(instruction)
                case Cancel():
                    order = self.running[instruction.activation, instruction.number]
                    assert order.vm == instruction.vm, "cancelled on another VM"
                    if instruction.activation not in self.finished:  # else its double was faster
                        self.cancelled.add(instruction.activation)
                case Stop():
                    left = {activation for activation, _ in self.running}
                    assert left <= self.finished, "sent home with work under way"
        self._nobody_is_overloaded()

    def _watch_vms(self) -> None:
        for fact in self.stage.facts_of_last_event():
            if isinstance(fact, VmChanged):
                (self.drained.add if fact.state == "drained" else self.drained.discard)(fact.vm)

    def _started(self, order: Start) -> None:
        assert not self.stopping, "started after the stop"
        assert self.stage.execution.state is not RunState.PAUSED, "started in a pause"
        assert order.activation not in self.cancelled, "started when cancelled"
        assert order.activation not in self.finished, "started when finished"
        assert order.vm not in {*self.absent, *self.gone}, "nobody is there"
        assert order.vm not in self.drained, "started on a drained VM"
        assert (order.activation, order.number) not in self.running, "started twice"
        others = [one.vm for one in self.running.values() if one.activation == order.activation]
        assert len(others) <= self.stage.workflow.redundancy, "doubled unasked"
        assert order.vm not in others, "doubled on the same VM"
        self.running[order.activation, order.number] = order

    def _nobody_is_overloaded(self) -> None:
        slots = {MASTER: 1} | {vm.id: vm.type.slots for vm in self.stage.plan.fleet.vms}
        load: Counter[str] = Counter()
        memory_mb: Counter[str] = Counter()
        for order in self.running.values():
            made = self.stage.workflow.activity(order.activity)
            load[order.vm] += min(int(made.cpus), slots[order.vm])
            memory_mb[order.vm] += int(made.memory_mb) * (order.vm != MASTER)
        assert all(load[vm] <= slots[vm] for vm in load), "more than the VM's slots"
        assert all(memory_mb[vm] <= 1024 for vm in memory_mb), "more than the VM's memory"


def played(
    stage: Stage,
    random: Random,
    chaos: Chaos = PEACE,
    seed: int = 0,
    fan_out: Mapping[str, int] | None = None,
) -> Stage:
    if chaos.limit_s:
        stage.limit(chaos.limit_s)
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


# --- many activations ---------------------------------------------------------------------------


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
