"""Everything that is said to and by the core, and between master and slaves.

Plain frozen structs that msgspec turns into msgpack and back with their types checked: nothing
that arrives from another process is ever unpickled. They never refer to each other in circles, so
that the garbage collector need not look at them (gc=False).
"""

from __future__ import annotations

from msgspec import Struct

from scicore.model.activation import ActivationState, Cause, Path, RunState
from scicore.model.transfer import Transfer
from scicore.model.workflow import Row


class Usage(Struct, frozen=True, gc=False):
    cpu_s: float = 0.0
    peak_rss_bytes: int = 0  # of the whole process tree at once, as far as it was seen
    read_bytes: int = 0
    written_bytes: int = 0
    stage_s: float = 0.0  # before the program started: its workspace was filled


class FileFound(Struct, frozen=True, gc=False):
    """A file that an output tuple names, as the slave found it."""

    row: int  # index into the attempt's rows
    field: str
    path: str  # absolute
    size_bytes: int
    sha256: str  # hexadecimal


class Grant(Struct, frozen=True, gc=False):
    """What a sized attempt asked for, and why it got something else."""

    memory_mb: int  # its limit; 0 = none
    asked_cpus: int
    asked_memory_mb: int  # 0 = not said
    because: str
    input_bytes: int | None = None


class AttemptEnded(Struct, frozen=True, tag=True, gc=False):
    """How one try of an activation went, as its slave saw it."""

    activation: int
    number: int  # 1 = first try; with `activation` it fences off results of superseded tries
    cause: Cause
    started_at: float  # seconds since the epoch, on the slave's clock
    ended_at: float
    exit_code: int | None = None  # None when no program ran to its end
    command: str = ""  # as run, quoted for reading
    workspace: str = ""
    stderr_tail: str = ""
    usage: Usage = Usage()
    rows: tuple[Row, ...] = ()  # output tuples, in the order of the output relation's fields
    files: tuple[FileFound, ...] = ()
    slot: int = 0  # the first of the slots that it had, from 1
    transfers: tuple[Transfer, ...] = ()  # of its files, where the run has a storage


# --- events: what happens to a run -------------------------------------------------------------


class RunStarted(Struct, frozen=True, tag=True, gc=False):
    at: float


class Claim(Struct, frozen=True):
    """What a VM knows of an attempt that was granted before its slave came (back).

    By name, too: after a crash, that the activation has this id may be known to the VM alone.
    """

    name: str  # of the activation
    activation: int
    number: int
    ended: AttemptEnded | None = None  # None = it still runs


class Condition(Struct, frozen=True):
    """A test of a tuple's field; numbers compare as numbers, anything else as text."""

    field: str
    operator: str  # = != < <= > >=
    value: str


class Known(Struct, frozen=True):
    """An activation as the database knows it."""

    id: int
    name: str
    state: ActivationState
    vm: str | None = None
    attempts: int = 0  # number of the latest
    live: tuple[int, ...] = ()  # numbers of those whose end is not recorded
    failures: int = 0  # attempts that count against max_failure
    rows: tuple[Row, ...] = ()  # what it produced


class RunResumed(Struct, frozen=True, tag=True):
    """The run goes on where the database left it. Its VMs will tell what has happened since."""

    at: float
    activations: tuple[Known, ...]
    tuples: tuple[tuple[str, Path, int], ...]  # (relation, path, id)
    cancelled: tuple[tuple[str, tuple[Condition, ...]], ...] = ()  # (activity, conditions)
    paused: bool = False  # by the user, and still so


class VmJoined(Struct, frozen=True, tag=True, gc=False):
    """A slave is there and asks for work."""

    at: float
    vm: str
    host: str
    claims: tuple[Claim, ...] = ()  # whatever else was granted to this VM never came to be


class WorkRequested(Struct, frozen=True, tag=True, gc=False):
    """A slave hands over what ended and asks for more, in one message."""

    at: float
    vm: str
    ended: tuple[AttemptEnded, ...]


class VmLost(Struct, frozen=True, tag=True, gc=False):
    at: float
    vm: str


class VmNoticed(Struct, frozen=True, tag=True, gc=False):
    """The provider is about to take the VM back."""

    at: float
    vm: str
    told: str  # what will happen, and when


class StopRequested(Struct, frozen=True, tag=True, gc=False):
    """The user wants the run to end now."""

    at: float


class Steered(Struct, frozen=True, tag=True, gc=False):
    """The user intervenes in a run, from outside."""

    at: float
    number: int  # of the request, within the run
    action: str  # cancel, pause, resume
    activity: str = ""  # cancel only this one's activations
    conditions: tuple[Condition, ...] = ()  # cancel only what consumes a tuple that meets all


class Tick(Struct, frozen=True, tag=True, gc=False):
    """Time has passed. About once a second, so that limits and stragglers are noticed even when
    nothing else happens."""

    at: float


Event = (
    RunStarted
    | RunResumed
    | VmJoined
    | WorkRequested
    | VmLost
    | VmNoticed
    | StopRequested
    | Steered
    | Tick
)


# --- instructions: what a slave is told ----------------------------------------------------------


class Start(Struct, frozen=True, tag=True, gc=False):
    vm: str
    activation: int
    number: int
    activity: str
    workspace: str  # relative to the run's directory
    rows: tuple[Row, ...]  # input tuples
    cpus: int = 1  # slots that it takes
    sized: bool = False  # it is held to what it gets, and told
    memory_mb: int = 0  # that it gets; 0 = no limit

    @property
    def name(self) -> str:
        """The activation's, as its workspace has it."""
        activity, _, place = self.workspace.removesuffix(f"-attempt-{self.number}").rpartition("/")
        return f"{activity}.{place}"


class Cancel(Struct, frozen=True, tag=True, gc=False):
    vm: str
    activation: int
    number: int


class Stop(Struct, frozen=True, tag=True, gc=False):
    """No more work will come: leave."""

    vm: str


Instruction = Start | Cancel | Stop


# --- facts: what the provenance must know ---------------------------------------------------------


class TupleGenerated(Struct, frozen=True, tag=True, gc=False):
    id: int
    relation: str
    path: Path
    row: Row
    activation: int | None  # None = it came from a dataset


class FileRecorded(Struct, frozen=True, tag=True, gc=False):
    """A file that a tuple's field names."""

    tuple: int  # id
    field: str
    path: str
    size_bytes: int
    sha256: str


class ActivationCreated(Struct, frozen=True, tag=True, gc=False):
    at: float
    id: int
    activity: str
    name: str
    rows: tuple[Row, ...]  # that it consumes; whoever records it makes its key of them
    state: ActivationState
    used: tuple[int, ...]  # ids of the tuples it consumes
    vm: str | None  # where the plan, or the dispatcher in its place, wants it
    planned: bool  # the plan foresaw it
    blocked_by: int | None  # the failed activation that it waits for in vain
    position: int | None = None  # in the plan
    planned_vm: str | None = None
    moved_because: str = ""  # why it waits for another VM than the planned one


class TuplesUsed(Struct, frozen=True, tag=True, gc=False):
    """With explicit edges: what the activations that it waited for have made."""

    activation: int
    tuples: tuple[int, ...]


class ActivationMoved(Struct, frozen=True, tag=True, gc=False):
    """An activation is in another state now, or waits for another VM."""

    at: float
    id: int
    state: ActivationState
    vm: str | None
    blocked_by: int | None = None
    moved_because: str | None = None  # why that is not the planned VM; None = as it was


class AttemptStarted(Struct, frozen=True, tag=True, gc=False):
    at: float
    activation: int
    number: int
    vm: str
    redundant: bool = False  # beside another attempt, which takes unusually long
    cpus: int = 1  # slots that it takes
    grant: Grant | None = None  # None = it was not sized


class VmChanged(Struct, frozen=True, tag=True, gc=False):
    at: float
    vm: str
    state: str  # joined, lost, drained, left
    host: str
    reason: str = ""


class SteeringHandled(Struct, frozen=True, tag=True, gc=False):
    """What became of a user's intervention."""

    at: float
    number: int
    outcome: str


class RunMoved(Struct, frozen=True, tag=True, gc=False):
    """The run is paused, or goes on."""

    at: float
    state: RunState


class LimitReached(Struct, frozen=True, tag=True, gc=False):
    """Nothing new is started because the run has taken, or cost, what it may."""

    at: float
    reason: str


class RunEnded(Struct, frozen=True, tag=True, gc=False):
    at: float
    state: RunState


Fact = (
    TupleGenerated
    | FileRecorded
    | ActivationCreated
    | TuplesUsed
    | ActivationMoved
    | AttemptStarted
    | AttemptEnded
    | VmChanged
    | SteeringHandled
    | RunMoved
    | LimitReached
    | RunEnded
)
