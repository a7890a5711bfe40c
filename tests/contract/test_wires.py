"""What every line between master and slaves promises: the queues of one process, and MPI.

A scenario is two halves of a conversation. The halves run as threads over the queues, and as
ranks under mpirun, which starts this very file.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scicore.engine.launch import environment, mpirun_command
from scicore.engine.local import LocalWorld
from scicore.engine.wire import (
    Hello,
    Joined,
    MasterEnd,
    Orders,
    Request,
    SlaveEnd,
    ToMaster,
    ToSlave,
    Welcome,
    decode_to_master,
    decode_to_slave,
    encode,
)
from scicore.execution.messages import AttemptEnded, Cancel, Claim, Start, Stop
from scicore.model.activation import Cause
from scicore.model.workflow import Activity, Field, FieldType, Operator, Relation, Row

SLAVES = 2
MANY = 50
LARGE: Row = ("x" * 1_000_000, "Ærøskøbing ☃ 𝄞 \u2028 \x00", "")
PATIENCE_S = 120.0  # a conversation that takes longer hangs


# --- words --------------------------------------------------------------------------------------


def result(number: int, *rows: Row) -> Request:
    return Request((AttemptEnded(number, 1, Cause.FINISHED, 0.25, 0.5, rows=rows),))


def order(number: int, *rows: Row) -> Orders:
    return Orders((Start("vm", number, 1, "work", f"work/{number}", rows),))


GO = Orders(())
DONE = Orders((Stop("vm"),))
HELLO = Hello("host", 7)


def from_slave(line: MasterEnd) -> tuple[int, ToMaster]:
    give_up_at = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up_at:
        arrived = line.receive()
        if arrived is not None:
            return arrived
        line.wait()
    raise AssertionError("no slave says anything")


def from_master(line: SlaveEnd) -> ToSlave:
    give_up_at = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up_at:
        data = line.receive()
        if data is not None:
            message: ToSlave = decode_to_slave(data)
            return message
        line.wait()
    raise AssertionError("the master says nothing")


def to_all(line: MasterEnd, message: ToSlave) -> None:
    for rank in range(1, line.slaves + 1):
        line.send(rank, message)


# --- scenarios ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scenario:
    master: Callable[[MasterEnd], None]
    slave: Callable[[SlaveEnd], None]


def conversation(to_slaves: list[ToSlave], to_master: list[ToMaster]) -> Scenario:
    """Both sides say everything before they listen: a send that waits would wait for ever."""

    def master(line: MasterEnd) -> None:
        assert line.slaves == SLAVES
        for message in to_slaves:
            to_all(line, message)
        heard: defaultdict[int, list[ToMaster]] = defaultdict(list)
        for _ in range(len(to_master) * SLAVES):
            rank, said = from_slave(line)
            heard[rank].append(said)
        assert heard == dict.fromkeys(range(1, SLAVES + 1), to_master)

    def slave(line: SlaveEnd) -> None:
        for message in to_master:
            line.send(encode(message))
        assert [from_master(line) for _ in to_slaves] == to_slaves

    return Scenario(master, slave)


def master_in_silence(line: MasterEnd) -> None:
    """Slaves speak when spoken to."""
    for _ in range(10):
        assert line.receive() is None
    to_all(line, GO)
    assert {from_slave(line), from_slave(line)} == {(1, HELLO), (2, HELLO)}
    assert line.receive() is None
    to_all(line, DONE)


def slave_in_silence(line: SlaveEnd) -> None:
    assert from_master(line) == GO
    for _ in range(10):
        assert line.receive() is None
    line.send(encode(HELLO))
    assert from_master(line) == DONE


def master_in_turns(line: MasterEnd) -> None:
    for number in range(MANY):
        to_all(line, order(number))
        assert {from_slave(line), from_slave(line)} == {(1, result(number)), (2, result(number))}
    to_all(line, DONE)


def slave_in_turns(line: SlaveEnd) -> None:
    """Between two messages something else may come, which must not be slept through."""
    here, there = os.pipe()
    for number in range(MANY):
        assert from_master(line) == order(number)
        os.write(there, b"!")
        assert line.wait(here)
        os.read(here, 1)
        line.send(encode(result(number)))
    assert from_master(line) == DONE
    assert line.wait(here) is False
    os.close(here)
    os.close(there)


class Stranger(msgspec.Struct, tag=True):
    """A message that no version of the protocol knows."""

    command: str = "rm -rf /"


NOT_FOR_THE_MASTER: list[Any] = [
    Stranger(),
    GO,
    msgspec.structs.replace(HELLO, pid="7"),
    Request((Stranger(),)),  # type: ignore[arg-type]
    {"type": "Hello"},
    "Hello",
]
NOT_FOR_A_SLAVE: list[Any] = [
    Stranger(),
    HELLO,
    Orders((Stranger(),)),  # type: ignore[arg-type]
    {"type": "Orders", "orders": [{"type": "Start"}]},
    None,
]


def master_among_strangers(line: MasterEnd) -> None:
    for wrong in (*NOT_FOR_A_SLAVE, DONE):
        to_all(line, wrong)
    for _ in range(len(NOT_FOR_THE_MASTER) * SLAVES):
        with pytest.raises(msgspec.ValidationError):
            from_slave(line)
    to_all(line, GO)
    assert {from_slave(line), from_slave(line)} == {(1, HELLO), (2, HELLO)}


def slave_among_strangers(line: SlaveEnd) -> None:
    for wrong in NOT_FOR_THE_MASTER:
        line.send(encode(wrong))
    for _ in NOT_FOR_A_SLAVE:
        with pytest.raises(msgspec.ValidationError):
            from_master(line)
    assert from_master(line) == DONE
    assert from_master(line) == GO
    line.send(encode(HELLO))


RELATION = Relation("r", (Field("ID", FieldType.FLOAT, decimal_places=2),))
ACTIVITY = Activity("a", Operator.REDUCE, "run %=ID%", RELATION, RELATION, operand=("ID",))

SCENARIOS = {
    "messages arrive whole and in order": conversation(
        [order(number) for number in range(MANY)], [result(number) for number in range(MANY)]
    ),
    "large rows and any text survive": conversation(
        [order(1, LARGE)] * 5, [result(1, LARGE, LARGE)] * 5
    ),
    "every kind of message arrives as it was": conversation(
        [
            Welcome("vm", "/run", "/w", "/exp", (ACTIVITY,)),
            Orders((Start("vm", 1, 2, "a", "a/1", (("ü",),)), Cancel("vm", 1, 2), Stop("vm"))),
            Orders(()),
        ],
        [
            Hello("höst", 1),
            Request((AttemptEnded(1, 2, Cause.LOST_VM, 0.1, 0.2, stderr_tail="\ufffd"),)),
            Request(()),
            Joined(0.1, 0.2, (Claim("a.1", 1, 2),), 3),
        ],
    ),
    "everybody waits for the other": Scenario(master_in_turns, slave_in_turns),
    "no message is None": Scenario(master_in_silence, slave_in_silence),
    "an unknown shape is refused": Scenario(master_among_strangers, slave_among_strangers),
}


# --- implementations ----------------------------------------------------------------------------


def over_queues(name: str) -> None:
    scenario = SCENARIOS[name]
    world = LocalWorld(SLAVES)
    with ThreadPoolExecutor(SLAVES + 1) as threads:
        ends = [threads.submit(scenario.master, world.master())]
        ends += [threads.submit(scenario.slave, world.slave(rank)) for rank in (1, 2)]
        for end in ends:
            end.result()
    assert world.unread() == 0


def over_mpi(name: str) -> None:
    done = subprocess.run(
        mpirun_command(SLAVES, __file__, name),
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def rank_of_mpi(name: str) -> None:
    """One rank's part, under mpirun."""
    from scicore.engine import mpi

    scenario = SCENARIOS[name]
    if mpi.rank() == 0:
        master = mpi.MpiMaster()
        scenario.master(master)
        master.close()
    else:
        slave = mpi.MpiSlave()
        scenario.slave(slave)
        slave.close()


@pytest.mark.parametrize("line", [over_queues, over_mpi])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_line_keeps_the_promise(line: Callable[[str], None], scenario: str) -> None:
    line(scenario)


class Bomb:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("decode", [decode_to_master, decode_to_slave])
def test_nothing_that_arrives_is_unpickled(decode: Callable[[bytes], Any], tmp_path: Path) -> None:
    path = tmp_path / "touched"
    with pytest.raises(msgspec.DecodeError):
        decode(pickle.dumps(Bomb(path)))
    assert not path.exists()


if __name__ == "__main__":
    rank_of_mpi(sys.argv[1])
