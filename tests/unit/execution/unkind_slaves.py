"""A driver that plays the slaves of a run, as unkindly as asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

import msgspec
from hypothesis import strategies as st

from scicore.execution.dispatch import MASTER
from scicore.execution.messages import (
    AttemptEnded,
    Cancel,
    Condition,
    Instruction,
    Start,
    Stop,
    VmChanged,
)
from scicore.model.activation import Cause, RunState
from scicore.model.workflow import QUERIES, Activity, Operator, Row, Workflow
from tests.unit.execution.building import Stage, attempt_ended
from tests.unit.execution.random_runs import carried_names

FAULTS = (Cause.EXIT_CODE, Cause.SIGNAL, Cause.NOT_STARTED, Cause.TIMEOUT, Cause.BAD_OUTPUT)


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
        kept = carried_names(made)
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
