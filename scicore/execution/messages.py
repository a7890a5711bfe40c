"""Everything that is said to and by the core, and between master and slaves.

Plain frozen structs that msgspec turns into msgpack and back with their types checked: nothing
that arrives from another process is ever unpickled.
"""

from __future__ import annotations

from msgspec import Struct

from scicore.model.activation import ActivationState, Cause, Path, RunState
from scicore.model.workflow import Row


class Usage(Struct, frozen=True):
    cpu_s: float = 0.0
    peak_rss_bytes: int = 0
    read_bytes: int = 0
    written_bytes: int = 0


class FileFound(Struct, frozen=True):
    """A file that an output tuple names, as the slave found it."""

    row: int  # index into the attempt's rows
    field: str
    path: str  # absolute
    size_bytes: int
    sha256: str  # hexadecimal


class AttemptEnded(Struct, frozen=True, tag=True):
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


# --- events: what happens to a run -------------------------------------------------------------


class RunStarted(Struct, frozen=True, tag=True):
    at: float


class VmJoined(Struct, frozen=True, tag=True):
    """A slave is there and asks for work."""

    at: float
    vm: str
    host: str


class WorkRequested(Struct, frozen=True, tag=True):
    """A slave hands over what ended and asks for more, in one message."""

    at: float
    vm: str
    ended: tuple[AttemptEnded, ...]


class VmLost(Struct, frozen=True, tag=True):
    at: float
    vm: str


class StopRequested(Struct, frozen=True, tag=True):
    """The user wants the run to end now."""

    at: float


class Condition(Struct, frozen=True):
    """A test of a tuple's field; numbers compare as numbers, anything else as text."""

    field: str
    operator: str  # = != < <= > >=
    value: str


class Steered(Struct, frozen=True, tag=True):
    """The user intervenes in a run, from outside."""

    at: float
    number: int  # of the request, within the run
    action: str  # cancel, pause, resume
    activity: str = ""  # cancel only this one's activations
    conditions: tuple[Condition, ...] = ()  # cancel only what consumes a tuple that meets all


Event = RunStarted | VmJoined | WorkRequested | VmLost | StopRequested | Steered


# --- instructions: what a slave is told ----------------------------------------------------------


class Start(Struct, frozen=True, tag=True):
    vm: str
    activation: int
    number: int
    activity: str
    workspace: str  # relative to the run's directory
    rows: tuple[Row, ...]  # input tuples


class Cancel(Struct, frozen=True, tag=True):
    vm: str
    activation: int
    number: int


class Stop(Struct, frozen=True, tag=True):
    """No more work will come: leave."""

    vm: str


Instruction = Start | Cancel | Stop


# --- facts: what the provenance must know ---------------------------------------------------------


class TupleGenerated(Struct, frozen=True, tag=True):
    id: int
    relation: str
    path: Path
    row: Row
    activation: int | None  # None = it came from a dataset


class FileRecorded(Struct, frozen=True, tag=True):
    """A file that a tuple's field names."""

    tuple: int  # id
    field: str
    path: str
    size_bytes: int
    sha256: str


class ActivationCreated(Struct, frozen=True, tag=True):
    at: float
    id: int
    activity: str
    name: str
    key: str
    state: ActivationState
    used: tuple[int, ...]  # ids of the tuples it consumes
    vm: str | None  # where the plan, or the dispatcher in its place, wants it
    planned: bool  # the plan foresaw it
    blocked_by: int | None  # the failed activation that it waits for in vain


class ActivationMoved(Struct, frozen=True, tag=True):
    """An activation is in another state now, or waits for another VM."""

    at: float
    id: int
    state: ActivationState
    vm: str | None
    blocked_by: int | None = None


class AttemptStarted(Struct, frozen=True, tag=True):
    at: float
    activation: int
    number: int
    vm: str


class VmChanged(Struct, frozen=True, tag=True):
    at: float
    vm: str
    state: str
    host: str


class SteeringHandled(Struct, frozen=True, tag=True):
    """What became of a user's intervention."""

    at: float
    number: int
    outcome: str


class RunMoved(Struct, frozen=True, tag=True):
    """The run is paused, or goes on."""

    at: float
    state: RunState


class RunEnded(Struct, frozen=True, tag=True):
    at: float
    state: RunState


Fact = (
    TupleGenerated
    | FileRecorded
    | ActivationCreated
    | ActivationMoved
    | AttemptStarted
    | AttemptEnded
    | VmChanged
    | SteeringHandled
    | RunMoved
    | RunEnded
)
