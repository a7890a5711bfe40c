"""Small workflows, fleets and plans, and a stage on which a test plays the slaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from scicore.execution.core import Execution, Output
from scicore.execution.messages import (
    ActivationCreated,
    AttemptEnded,
    Cancel,
    Condition,
    Event,
    Fact,
    Instruction,
    RunStarted,
    Start,
    Steered,
    Stop,
    StopRequested,
    Tick,
    VmJoined,
    VmLost,
    WorkRequested,
)
from scicore.model.activation import ActivationState, Cause, Dispatch
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.plan import Assignment, Plan
from scicore.model.workflow import (
    Activity,
    Dataset,
    Field,
    FieldType,
    Operator,
    Relation,
    Row,
    Workflow,
)

LATER_S = 1000.0


def relation(name: str, *fields: str) -> Relation:
    return Relation(name, tuple(Field(field, FieldType.STRING) for field in fields))


def activity(
    tag: str,
    operator: Operator,
    source: Activity | Relation,
    *fields: str,
    operand: tuple[str, ...] = (),
) -> Activity:
    """An activity that reads a dataset's relation or the output of another activity."""
    return Activity(
        tag,
        operator,
        f"bin/{tag}",
        input=source.output if isinstance(source, Activity) else source,
        output=relation(f"{tag}_out", *fields),
        producer=source.tag if isinstance(source, Activity) else None,
        operand=operand,
    )


def workflow(
    source: Relation, rows: tuple[Row, ...], *activities: Activity, max_attempts: int = 1
) -> Workflow:
    return Workflow(
        "w",
        activities,
        (Dataset(source, rows),),
        directory="/w",
        experiment_directory="/w/exp",
        max_attempts=max_attempts,
    )


def fleet(*slots: int) -> Fleet:
    """vm-1, vm-2, … with as many slots as given."""
    vms = (
        Vm(f"vm-{number}", VmType(f"type{count}", count, 1024, 1.0, 0.1))
        for number, count in enumerate(slots, start=1)
    )
    return Fleet(tuple(vms), ",".join(f"1xtype{count}" for count in slots))


def plan(vms: Fleet, assignments: Mapping[str, str] = {}) -> Plan:
    """`assignments`: activation name → VM, in the order of execution.

    Everything is planned for so late that nothing is behind the plan in a test of a few events.
    """
    return Plan(
        algorithm="by hand",
        seed=0,
        fleet=vms,
        assignments=tuple(
            Assignment(name, name.partition(".")[0], vm, LATER_S, LATER_S + 1.0)
            for name, vm in assignments.items()
        ),
        makespan_s=1.0,
        cost_usd=0.0,
        lower_bound_s=1.0,
    )


def attempt_ended(
    order: Start,
    cause: Cause = Cause.FINISHED,
    rows: tuple[Row, ...] = (),
) -> AttemptEnded:
    return AttemptEnded(
        activation=order.activation,
        number=order.number,
        cause=cause,
        started_at=0.0,
        ended_at=0.0,
        rows=rows,
    )


class Stage:
    """Feeds an execution, checks all of its invariants after every event, remembers everything.

    Activations are called by name; time is the number of events so far.
    """

    def __init__(
        self, workflow: Workflow, plan: Plan, dispatch: Dispatch = Dispatch.ADAPTIVE
    ) -> None:
        self.workflow = workflow
        self.plan = plan
        self.dispatch = dispatch
        self.execution = Execution(workflow, plan, dispatch)
        self.events: list[Event] = []
        self.answers: list[list[Output]] = []
        self._orders: dict[str, Start] = {}  # the latest of each activation
        self._names: dict[int, str] = {}

    def limit(self, time_s: float) -> None:
        """The run may take so long; to be said before it begins."""
        self.workflow = replace(self.workflow, max_time_s=time_s)
        self.execution = Execution(self.workflow, self.plan, self.dispatch)

    @property
    def now(self) -> float:
        return float(len(self.events))

    def feed(self, event: Event) -> list[Instruction]:
        """The instructions that the event leads to."""
        outputs = self.execution.handle(event)
        self.execution.check()
        self.events.append(event)
        self.answers.append(outputs)
        for output in outputs:
            if isinstance(output, ActivationCreated):
                self._names[output.id] = output.name
            elif isinstance(output, Start):
                self._orders[self._names[output.activation]] = output
        return [output for output in outputs if isinstance(output, Start | Cancel | Stop)]

    def begin(self, *vms: str) -> list[Instruction]:
        """The run starts and these VMs join."""
        instructions = self.feed(RunStarted(self.now))
        for vm in vms:
            instructions += self.join(vm)
        return instructions

    def join(self, vm: str) -> list[Instruction]:
        return self.feed(VmJoined(self.now, vm, host=f"host-of-{vm}"))

    def lose(self, vm: str) -> list[Instruction]:
        return self.feed(VmLost(self.now, vm))

    def stop(self) -> list[Instruction]:
        return self.feed(StopRequested(self.now))

    def steer(self, action: str, activity: str = "", *conditions: Condition) -> list[Instruction]:
        return self.feed(Steered(self.now, len(self.events), action, activity, conditions))

    def tick(self, at: float | None = None) -> list[Instruction]:
        return self.feed(Tick(self.now if at is None else at))

    def report(self, vm: str, *attempts: AttemptEnded) -> list[Instruction]:
        return self.feed(WorkRequested(self.now, vm, attempts))

    def finish(self, name: str, *rows: Row) -> list[Instruction]:
        """The latest attempt of the activation ended well and gave these tuples."""
        order = self.order(name)
        return self.report(order.vm, attempt_ended(order, rows=rows))

    def fail(self, name: str, cause: Cause = Cause.EXIT_CODE) -> list[Instruction]:
        order = self.order(name)
        return self.report(order.vm, attempt_ended(order, cause))

    def order(self, name: str) -> Start:
        return self._orders[name]

    def started(self, instructions: list[Instruction]) -> list[str]:
        """Names of the activations that the instructions start."""
        return [self._names[order.activation] for order in instructions if isinstance(order, Start)]

    def states(self) -> dict[str, ActivationState]:
        return {name: self.execution.ledger[id].state for id, name in self._names.items()}

    def in_state(self, state: ActivationState) -> list[str]:
        return [name for name, its in self.states().items() if its is state]

    def created(self) -> dict[str, ActivationCreated]:
        return {fact.name: fact for fact in self.facts() if isinstance(fact, ActivationCreated)}

    def facts(self) -> list[Fact]:
        return [
            output
            for outputs in self.answers
            for output in outputs
            if not isinstance(output, Start | Cancel | Stop)
        ]

    def facts_of_last_event(self) -> list[Fact]:
        return [o for o in self.answers[-1] if not isinstance(o, Start | Cancel | Stop)]
