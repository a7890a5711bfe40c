"""A VM that is cut off from the master: its slave is there, but keeps nothing alive."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from threading import Thread

import pytest

from scicore.engine import process, slave
from scicore.engine.local import LocalWorld, keeper_in_thread
from scicore.engine.wire import Hello, Joined, Orders, Request, Welcome
from scicore.execution.messages import Start
from scicore.model.workflow import Activity, Field, FieldType, Operator, Relation

PATIENCE_S = 60.0
INPUT = Relation("given", (Field("ID", FieldType.STRING),))
HOLD = 'sh -c "echo $$ > begun; while true; do sleep 0.05; done"'


def test_programs_end_when_the_master_is_not_heard_though_their_slave_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slave, "PULSE_S", 0.1)
    world = LocalWorld(1)
    master = world.master()
    hold = Activity("hold", Operator.MAP, HOLD, INPUT, Relation("made", ()))
    place = str(tmp_path)
    welcome = Welcome("vm-1", place, place, place, (hold,), slots=1, keep_s=3.0)

    def serve() -> None:
        with contextlib.suppress(slave.Forsaken):  # or its keeper says goodbye before that
            slave.serve(world.slave(1), keeper_in_thread)

    serving = Thread(target=serve, daemon=True)
    serving.start()
    deadline = time.monotonic() + PATIENCE_S
    begun = tmp_path / "hold/1/begun"
    pulses, spoken_until, pid = 0, 0.0, 0
    while serving.is_alive():
        assert time.monotonic() < deadline, "the slave and its program live on"
        arrived = master.receive()
        match arrived[1] if arrived else None:
            case Hello():
                master.send(1, welcome)
            case Joined():
                master.send(1, Orders((Start("vm-1", 1, 1, "hold", "hold/1", (("x",),)),)))
                spoken_until = time.monotonic() + 4.0
            case Request(ended=()):
                pulses += 1
                # For longer than `keep_s` the master answers, and then it is heard no more.
                if time.monotonic() < spoken_until:
                    master.send(1, Orders(()))
            case None:
                time.sleep(0.01)
        if not pid and begun.exists() and begun.read_text().endswith("\n"):
            pid = int(begun.read_text())
        if pid and time.monotonic() < spoken_until - 0.5:
            assert process.look(pid) is not None, "it ended although the master was heard"
    assert pid, "the program never began"
    assert pulses > 20
    while (seen := process.look(pid)) is not None and seen.state != "Z":
        assert time.monotonic() < deadline, "the program lives on"
        time.sleep(0.05)
