"""Three runs of a small workflow, told fact by fact through the real recorder, at fixed times.

measure (MAP) takes the brightness of an image, check (FILTER) keeps the bright ones, merge
(REDUCE) makes a catalog. Run 1 measures ten images and finishes; the last one takes eleven
seconds instead of one. Run 2 measures two; the second fails for good, the first and its check are
tried twice, the second try because a VM is lost. Run 3 is still running.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine, insert, update

from scicore.execution.messages import (
    ActivationCreated,
    ActivationMoved,
    AttemptEnded,
    AttemptStarted,
    Fact,
    FileRecorded,
    RunEnded,
    SteeringHandled,
    TupleGenerated,
    Usage,
    VmChanged,
)
from scicore.model.activation import ActivationState, Cause, RunState, activation_key
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.plan import Assignment, Plan
from scicore.model.workflow import (
    Activity,
    Dataset,
    Field,
    FieldType,
    FileOperation,
    Operator,
    Relation,
    Row,
    Staging,
    Workflow,
)
from scicore.provenance import tables
from scicore.provenance.hold import Hold
from scicore.provenance.plans import save_plan
from scicore.provenance.recorder import DatabaseRecorder
from scicore.provenance.store import load_run, prepare_run
from scicore.provenance.workflows import save_workflow

START = {run: datetime(2026, 3, 1, 11 + run, tzinfo=UTC) for run in (1, 2, 3)}
MB = 2**20

READY, FINISHED, FAILED, BLOCKED = (
    ActivationState.READY,
    ActivationState.FINISHED,
    ActivationState.FAILED,
    ActivationState.BLOCKED,
)

IMAGES = Relation("images", (Field("ID", FieldType.FLOAT), Field("FILE", FieldType.FILE)))
MEASURED = Relation(
    "measured",
    (
        Field("ID", FieldType.FLOAT),
        Field("BRIGHTNESS", FieldType.FLOAT, decimal_places=1),
        Field("FILE", FieldType.FILE),
    ),
)
CHECKED = Relation("checked", MEASURED.fields[:2])
CATALOG = Relation("catalog", (Field("BEST", FieldType.FLOAT),))

FLEET = Fleet(
    (
        Vm("large-1", VmType("large", 2, 4096, 1.25, 3.6)),
        Vm("small-1", VmType("small", 1, 1024, 1.0, 0.36)),
    ),
    "1xlarge,1xsmall",
)


IMAGES_OF = {1: 10, 2: 2, 3: 3}  # by run


def at(run: int, seconds: float) -> datetime:
    """A moment of a run."""
    return START[run] + timedelta(seconds=seconds)


def stars(rows: Sequence[Row]) -> Workflow:
    return Workflow(
        tag="stars",
        activities=(
            Activity(
                "measure",
                Operator.MAP,
                "measure %=FILE%",
                IMAGES,
                MEASURED,
                description="Take the brightness",
                staging=(Staging("FILE", FileOperation.COPY, instrumented=True),),
                memory_mb="512",
            ),
            Activity("check", Operator.FILTER, "check", MEASURED, CHECKED, "measure"),
            Activity(
                "merge", Operator.REDUCE, "merge", CHECKED, CATALOG, "check", extractor="extract"
            ),
        ),
        datasets=(Dataset(IMAGES, tuple(rows)),),
        directory="/stars",
        experiment_directory="/stars/exp",
        max_attempts=2,
        execution_tag="stars-night-1",
        description="Stars in images",
    )


def measure_key(values: str) -> str:
    """As the recorder makes it of what an activation consumes."""
    (measure, *_) = stars([]).activities
    return activation_key(measure.tag, measure.command, [(values,)])


def build(engine: Engine) -> None:
    for run, facts in (1, _first()), (2, _second()), (3, _third()):
        images = IMAGES_OF[run]
        _prepare(engine, run, images)
        with engine.connect() as connection:
            stored = load_run(connection, run)
        recorder = DatabaseRecorder(engine, stored, Hold(engine, stored.id))
        for fact in facts:
            recorder.record([fact])
        recorder.close()


def _prepare(engine: Engine, run: int, images: int) -> None:
    """Stored and claimed by a master, at the run's own time; asked twice by a user."""
    workflow = stars([(str(n), f"{n}.fits") for n in range(1, images + 1)])
    plan = Plan("heft", 7, FLEET, _assignments(images), 25.0, 0.066, 20.0)
    files = [
        FileRecorded(n, "FILE", f"/data/{n}.fits", 1000 + n, f"{n:064x}")
        for n in range(1, images + 1)
    ]
    with engine.begin() as connection:
        workflow_id = save_workflow(connection, workflow, "<SciCumulus/>")
        plan_id = save_plan(connection, workflow_id, plan)
        assert prepare_run(connection, workflow_id, plan_id, workflow, plan, files)[0] == run
        connection.execute(
            update(tables.run)
            .where(tables.run.c.run_id == run)
            .values(state=RunState.RUNNING, started_at=START[run], user_name="ada")
        )
        connection.execute(insert(tables.steering), _wishes(run))


def _wishes(run: int) -> list[dict[str, object]]:
    dim = {"field": "BRIGHTNESS", "operator": "<", "value": "5"}
    return [
        {
            "run_id": run,
            "number": 1,
            "action": "pause",
            "activity": None,
            "conditions": [],
            "requested_by": "ada@lab",
            "requested_at": at(run, 3),
        },
        {
            "run_id": run,
            "number": 2,
            "action": "cancel",
            "activity": "merge",
            "conditions": [dim],
            "requested_by": "bob@lab",
            "requested_at": at(run, 4),
        },
    ]


def _assignments(images: int) -> tuple[Assignment, ...]:
    numbers = range(1, images + 1)
    return (
        *(Assignment(f"measure.{n}", "measure", "large-1", n - 1.0, float(n)) for n in numbers),
        *(Assignment(f"check.{n}", "check", "small-1", n + 1.0, n + 2.0) for n in numbers),
        Assignment("merge.1", "merge", "large-1", 20.0, 25.0),
    )


class _Story:
    """Writes down what happens in one run; times are seconds since its start."""

    def __init__(self, run: int) -> None:
        self.facts: list[Fact] = []
        self._start = START[run].timestamp()
        self._run = run
        self._planned = {
            assignment.activation: (position, assignment.vm)
            for position, assignment in enumerate(_assignments(IMAGES_OF[run]))
        }
        for vm, host in (("large-1", "beta"), ("small-1", "alpha")):
            self.facts.append(VmChanged(self._start, vm, "joined", host))

    def creates(
        self,
        id: int,
        name: str,
        used: tuple[int, ...],
        when: float,
        state: ActivationState = READY,
        blocked_by: int | None = None,
        values: str = "",
    ) -> None:
        activity = name.partition(".")[0]
        vm = None if state is BLOCKED else "small-1"
        position, planned_vm = self._planned[name]
        self.facts.append(
            ActivationCreated(
                self._start + when,
                id,
                activity,
                name,
                ((values or f"values of {name}",),),
                state,
                used,
                vm,
                True,
                blocked_by,
                position,
                planned_vm,
                "" if vm in (None, planned_vm) else "idle vm",
            )
        )

    def starts(self, id: int, vm: str, when: float, number: int = 1) -> None:
        self.facts.append(AttemptStarted(self._start + when, id, number, vm))

    def ends(
        self,
        id: int,
        vm: str,
        began: float,
        ended: float,
        state: ActivationState = FINISHED,
        number: int = 1,
        cause: Cause = Cause.FINISHED,
        exit_code: int | None = 0,
        because: str | None = None,
    ) -> None:
        """Half of the time was CPU time; activation n needed n MB."""
        stderr = "no stars\n" if exit_code else ""
        self.facts += [
            AttemptEnded(
                id,
                number,
                cause,
                self._start + began,
                self._start + ended,
                exit_code,
                f"program {id}",
                f"/stars/exp/runs/{self._run}/{id}-{number}",
                stderr,
                Usage((ended - began) / 2, id * MB, 1000, 10),
            ),
            ActivationMoved(self._start + ended, id, state, vm, moved_because=because),
        ]

    def gives(self, id: int, relation: str, path: int, row: Row, maker: int) -> None:
        self.facts.append(TupleGenerated(id, relation, (path,), row, maker))

    def measures(self, id: int, image: int, maker: int) -> None:
        """A tuple of measured; image n has the brightness 10 n."""
        file = f"/stars/exp/runs/{self._run}/{maker}-1/m.fits"
        self.gives(id, "measured", image, (str(image), str(10 * image), file), maker)
        self.facts.append(FileRecorded(id, "FILE", file, 100 * image, f"{id:064x}"))

    def stops(self, state: RunState, when: float) -> list[Fact]:
        self.facts.append(RunEnded(self._start + when, state))
        return self.facts


def _first() -> list[Fact]:
    """measure n is activation n and makes tuple 10 + n; check n is activation 10 + n."""
    story = _Story(1)
    for n in range(1, 11):
        story.creates(n, f"measure.{n}", (n,), 0)
    for n in range(1, 11):
        vm = "small-1" if n % 2 else "large-1"
        done = n if n < 10 else 20
        story.starts(n, vm, n - 1)
        story.ends(n, vm, n - 1, done)
        story.measures(10 + n, n, n)
        story.creates(10 + n, f"check.{n}", (10 + n,), done)
        story.starts(10 + n, "small-1", done + 1)
        story.ends(10 + n, "small-1", done + 1, done + 2)
    story.gives(21, "checked", 9, ("9", "90"), 19)
    story.gives(22, "checked", 10, ("10", "100"), 20)
    story.creates(21, "merge.1", (21, 22), 22)
    story.starts(21, "large-1", 24)
    story.ends(21, "large-1", 24, 29)
    story.gives(23, "catalog", 1, ("100",), 21)
    return story.stops(RunState.FINISHED, 30)


def _second() -> list[Fact]:
    story = _Story(2)
    story.creates(1, "measure.1", (1,), 0)
    story.creates(2, "measure.2", (2,), 0, values="other values")
    story.starts(1, "small-1", 0)
    story.starts(2, "large-1", 0)
    story.ends(1, "small-1", 0, 2, READY, 1, Cause.EXIT_CODE, 1)
    story.starts(1, "large-1", 3, 2)
    story.ends(2, "small-1", 0, 4, READY, 1, Cause.EXIT_CODE, 3, because="failed there")
    story.starts(2, "small-1", 4, 2)
    story.ends(1, "large-1", 3, 5, FINISHED, 2)
    story.measures(3, 1, 1)
    story.creates(3, "check.1", (3,), 5)
    story.ends(2, "small-1", 4, 6, FAILED, 2, Cause.EXIT_CODE, 3)
    story.creates(4, "check.2", (), 6, BLOCKED, 2)
    story.starts(3, "large-1", 6)
    story.facts.append(SteeringHandled(START[2].timestamp() + 3.5, 1, "paused"))
    story.ends(3, "small-1", 6, 8, READY, 1, Cause.LOST_VM, None, because="")
    story.facts.append(VmChanged(START[2].timestamp() + 8, "large-1", "lost", ""))
    story.starts(3, "small-1", 9, 2)
    story.ends(3, "small-1", 9, 10, FINISHED, 2)
    story.gives(4, "checked", 1, ("1", "10"), 3)
    story.creates(5, "merge.1", (4,), 10, BLOCKED, 2)
    return story.stops(RunState.FAILED, 12)


def _third() -> list[Fact]:
    """measure.1 has finished, measure.2 runs, measure.3 waits."""
    story = _Story(3)
    for n in (1, 2, 3):
        story.creates(n, f"measure.{n}", (n,), 0)
    story.starts(1, "small-1", 0)
    story.ends(1, "small-1", 0, 1)
    story.measures(4, 1, 1)
    story.creates(4, "check.1", (4,), 1)
    story.starts(2, "large-1", 1)
    return story.facts
