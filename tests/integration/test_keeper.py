"""Keepers as real processes: programs and results outlive the slave, and nothing outlives them."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from scicore.engine import process
from scicore.engine.calling import HOUSE, address, end_keepers
from scicore.engine.spare import Spare, reach
from scicore.engine.wire import Joined, Orders, Request, Welcome, decode_to_master, encode
from scicore.execution.messages import AttemptEnded, Claim, Start
from scicore.model.activation import Cause
from scicore.model.workflow import Activity, Field, FieldType, Operator, Relation

PATIENCE_S = 60.0
INPUT = Relation("given", (Field("ID", FieldType.STRING),))
# Waits for the file `go`; says before that it has begun.
HOLD = 'sh -c "echo $$ > begun; while [ ! -e ../../go ]; do sleep 0.02; done"'
DAEMON = 'sh -c "setsid sleep 1000 & echo $! > ../../pid"'


def activity(tag: str, command: str) -> Activity:
    return Activity(tag, Operator.MAP, command, INPUT, Relation("made", ()))


class Vm:
    """One VM, its slave and its keepers."""

    def __init__(self, directory: Path, keep_s: float = PATIENCE_S) -> None:
        self.directory = directory
        self.welcome = Welcome(
            "vm-1",
            str(directory),
            str(directory),
            str(directory),
            (activity("hold", HOLD), activity("quick", "true"), activity("daemon", DAEMON)),
            slots=2,
            keep_s=keep_s,
        )
        self.spare = Spare()
        self._results: list[AttemptEnded] = []
        self.join()

    def join(self) -> Joined:
        self.link, first = reach(encode(self.welcome), self.spare)
        joined = decode_to_master(first)
        assert isinstance(joined, Joined)
        return joined

    def lose_slave(self) -> None:
        self.link.close()

    def start(self, tag: str, id: int = 1, number: int = 1) -> None:
        workspace = f"{tag}/{id}"
        order = Start("vm-1", id, number, tag, workspace, (("x",),))
        self.link.send(encode(Orders((order,))))

    def ended(self) -> AttemptEnded:
        deadline = time.monotonic() + PATIENCE_S
        while not self._results:
            assert time.monotonic() < deadline, "nothing ended"
            select.select([self.link], [], [], 1)
            for data in self.link.receive():
                message = decode_to_master(data)
                assert isinstance(message, Request)
                self._results.extend(message.ended)
        return self._results.pop(0)

    def go(self) -> None:
        (self.directory / "go").touch()

    def begun(self, id: int = 1) -> int:
        """The process of the program that holds."""
        path = self.directory / "hold" / str(id) / "begun"
        eventually(lambda: path.exists() and path.read_text().endswith("\n"))
        return int(path.read_text())

    def close(self) -> None:
        self.go()  # also those whose keeper was killed
        self.lose_slave()
        end_keepers(str(self.directory))
        self.spare.close()


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    seen = process.look(pid)
    return seen is not None and seen.state != "Z"


@pytest.fixture
def vm(tmp_path: Path) -> Iterator[Vm]:
    vm = Vm(tmp_path)
    yield vm
    vm.close()


def test_a_program_outlives_its_slave_and_its_result_is_told_to_the_next(vm: Vm) -> None:
    vm.start("hold")
    pid = vm.begun()
    vm.lose_slave()
    assert vm.join().claims == (Claim("hold.1", 1, 1),)
    assert alive(pid)
    vm.go()
    assert vm.ended().cause is Cause.FINISHED
    assert len(list((vm.directory / "hold").iterdir())) == 1  # it was run once


def test_what_ends_while_no_slave_is_there_is_kept(vm: Vm) -> None:
    vm.start("hold")
    pid = vm.begun()
    vm.lose_slave()
    vm.go()
    eventually(lambda: not alive(pid))
    time.sleep(0.1)
    (claim,) = vm.join().claims
    assert claim.ended is not None
    assert claim.ended.cause is Cause.FINISHED


def test_a_result_is_told_again_until_it_is_durable(vm: Vm) -> None:
    vm.start("quick")
    first = vm.ended()
    vm.lose_slave()
    joined = vm.join()
    assert joined.claims == (Claim("quick.1", 1, 1, first),)
    vm.link.send(encode(Orders((), durable=joined.last)))
    vm.start("quick", id=2)
    vm.ended()
    vm.lose_slave()
    assert [claim.name for claim in vm.join().claims] == ["quick.2"]


def test_a_killed_keeper_loses_no_result_and_its_programs_are_ended(vm: Vm) -> None:
    vm.start("quick")
    first = vm.ended()
    vm.start("hold", id=2)
    pid = vm.begun(2)
    keeper = parent(pid)
    os.kill(keeper, signal.SIGKILL)
    eventually(lambda: not alive(keeper))
    vm.lose_slave()
    assert vm.join().claims == (Claim("quick.1", 1, 1, first),)
    eventually(lambda: not alive(pid))


def test_a_journal_forgets_what_is_durable_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scicore.engine.keeper.MOST_BYTES", 2000)
    vm = Vm(tmp_path)
    try:
        for id in range(1, 31):
            vm.start("quick", id)
            vm.ended()
            vm.link.send(encode(Orders((), durable=id - 1)))
        journal = tmp_path / HOUSE / "vm-1.journal"
        eventually(lambda: journal.stat().st_size < 5000)  # thirty results take more
        vm.start("hold", 31)
        keeper = parent(vm.begun(31))
        os.kill(keeper, signal.SIGKILL)
        eventually(lambda: not alive(keeper))
        vm.lose_slave()
        joined = vm.join()
        assert [claim.name for claim in joined.claims] == ["quick.30"]
        assert joined.last == 30
    finally:
        vm.close()


def test_a_stopped_keeper_is_replaced(vm: Vm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scicore.engine.calling.ANSWER_S", 1.0)
    vm.start("hold")
    pid = vm.begun()
    keeper = parent(pid)
    os.kill(keeper, signal.SIGSTOP)
    vm.lose_slave()
    assert vm.join().claims == ()
    assert not alive(keeper)
    eventually(lambda: not alive(pid))


def test_a_slave_of_an_earlier_job_is_sent_away_and_changes_nothing(vm: Vm) -> None:
    past = encode(vm.welcome)
    vm.start("hold")
    vm.begun()
    vm.welcome = replace(vm.welcome, launch=2)
    vm.lose_slave()
    vm.join()
    ghost, first = reach(past, vm.spare)
    assert first == b""
    ghost.close()
    vm.go()
    assert vm.ended().cause is Cause.FINISHED  # its line still stands


def test_programs_end_when_no_slave_comes_back(tmp_path: Path) -> None:
    vm = Vm(tmp_path, keep_s=1.0)
    vm.start("hold")
    pid = vm.begun()
    keeper = parent(pid)
    vm.lose_slave()
    eventually(lambda: not alive(pid) and not alive(keeper))
    vm.close()


def test_a_daemon_that_a_program_leaves_is_ended(vm: Vm) -> None:
    vm.start("daemon")
    assert vm.ended().cause is Cause.FINISHED
    daemon = int((vm.directory / "pid").read_text())
    eventually(lambda: not alive(daemon))


def test_slots_are_never_over_committed(vm: Vm) -> None:
    for id in range(1, 4):
        vm.start("hold", id)
    vm.begun(1)
    vm.begun(2)
    assert not (vm.directory / "hold" / "3" / "begun").exists()
    vm.lose_slave()
    assert [claim.name for claim in vm.join().claims] == ["hold.1", "hold.2", "hold.3"]
    vm.go()
    assert sorted(vm.ended().slot for _ in range(3))[0] == 1


def test_a_keeper_with_many_brief_programs_still_hears_that_it_shall_leave(vm: Vm) -> None:
    brief = [Start("vm-1", id, 1, "quick", f"quick/{id}", (("x",),)) for id in range(1, 1001)]
    vm.link.send(encode(Orders(tuple(brief))))
    ended = vm.ended().activation
    end_keepers(str(vm.directory))
    assert ended == 1
    told = sum(len(message.ended) for message in requests(vm))
    assert told < 500, "it went on with what it had"


def test_a_keeper_waits_before_it_is_needed_and_leaves_if_it_is_not() -> None:
    spare = Spare()
    eventually(lambda: len(children_of(spare.pid)) == 1)
    (waiting,) = children_of(spare.pid)
    spare.close()
    eventually(lambda: not alive(waiting))


def test_a_killed_keeper_leaves_no_address_behind(vm: Vm) -> None:
    place = address(str(vm.directory), "vm-1")
    vm.start("hold")
    os.kill(parent(vm.begun()), signal.SIGKILL)
    assert place.exists()
    vm.lose_slave()
    end_keepers(str(vm.directory))
    assert not place.exists()


def children_of(pid: int) -> set[int]:
    return {seen.pid for seen in process.everyone() if seen.parent == pid}


def requests(vm: Vm) -> Iterator[Request]:
    """All that the keeper says until it leaves."""
    while not vm.link.closed:
        select.select([vm.link], [], [], 1)
        for data in vm.link.receive():
            if data:
                message = decode_to_master(data)
                assert isinstance(message, Request)
                yield message


def parent(pid: int) -> int:
    seen = process.look(pid)
    assert seen is not None
    return seen.parent
