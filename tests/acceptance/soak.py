"""Faults of all kinds at seeded moments, over as many runs as they need; what was lost is counted.

They come alone or several at once, so that what one of them calls for is itself disturbed. Each
run is taken up again whenever a fault ends it for good (Ctrl-C, a killed supervisor), and at its
end everything is compared with an undisturbed run.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from scicore.engine.process import look
from tests.acceptance.console import SCICUMULUS, Console
from tests.acceptance.faults import Disturbed

WIDTH = 40
PACE_S = 0.15
CALM_S = (0.05, 0.8)  # before faults come, once the run has gone on after the last ones
AT_ONCE = (1, 2, 3, 4)  # faults that come together
STUCK_S = 90.0  # a run that does nothing for so long is not coming back


@dataclass
class Soak:
    """What happened so far."""

    faults: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    resumed: int = 0  # times that a run was taken up by hand, as it has to be after some faults
    activations: int = 0
    lost: int = 0  # results; every run must have all of them
    doubled: int = 0  # programs that were run again though no fault had ended them
    problems: list[str] = field(default_factory=list)

    @property
    def survived(self) -> int:
        return self.faults.total()


@dataclass(frozen=True, slots=True)
class Kind:
    strike: Callable[[Disturbed, random.Random], bool]  # False: there was nothing to hit
    kills: int = 0  # programs that it may end, and that are to be run again
    codes: tuple[int, ...] = ()  # with which the command may end; the run is then taken up by hand


def _one(found: list[int], chance: random.Random) -> list[int]:
    return [chance.choice(found)] if found else []


def _slave(run: Disturbed, chance: random.Random) -> bool:
    return run.kill(*_one(run.ranks()[1:], chance))


def _master(run: Disturbed, _: random.Random) -> bool:
    return run.kill(*run.ranks()[:1])


def _mpirun(run: Disturbed, _: random.Random) -> bool:
    return run.kill(*run.launcher())


def _keeper(run: Disturbed, chance: random.Random) -> bool:
    """Of some program that runs."""
    seen = [each for each in map(look, _one(run.programs(), chance)) if each is not None]
    return run.kill(*[each.parent for each in seen if each.parent > 1])


def _program(run: Disturbed, chance: random.Random) -> bool:
    return run.kill(*_one(run.programs(), chance))


def _workspace(run: Disturbed, chance: random.Random) -> bool:
    for program in _one(run.programs(), chance):
        with suppress(OSError):
            workspace = Path(f"/proc/{program}/cwd").readlink()
            if workspace.is_relative_to(run.console.directory):
                shutil.rmtree(workspace, ignore_errors=True)
                return True
    return False


def _doze(run: Disturbed, chance: random.Random) -> bool:
    ranks = _one(run.ranks(), chance)
    hit = run.kill(*ranks, number=signal.SIGSTOP)
    time.sleep(chance.uniform(0.1, 1.5) * hit)
    run.kill(*ranks, number=signal.SIGCONT)
    return hit


def _supervisor(run: Disturbed, _: random.Random) -> bool:
    return run.process.poll() is None and run.kill(run.process.pid)


def _everything(run: Disturbed, _: random.Random) -> bool:
    return run.kill(*run.console.processes())


def _ctrl_c(run: Disturbed, _: random.Random) -> bool:
    return run.process.poll() is None and run.kill(run.process.pid, number=signal.SIGINT)


def _ctrl_c_twice(run: Disturbed, chance: random.Random) -> bool:
    hit = _ctrl_c(run, chance)
    time.sleep(chance.uniform(0.0, 0.5) * hit)
    _ctrl_c(run, chance)
    return hit


def _sessions(run: Disturbed, _: random.Random) -> bool:
    with psycopg.connect(run.console.url, autocommit=True) as connection:
        ended = connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchall()
    return bool(ended)


def _lock(run: Disturbed, chance: random.Random) -> bool:
    table = chance.choice(["activation", "attempt", "tuple", "vm"])
    with run.locked(f"LOCK TABLE {table}"):
        time.sleep(chance.uniform(0.2, 1.0))
        if chance.random() < 0.5:
            _master(run, chance)
    return True


def _read_only(run: Disturbed, chance: random.Random) -> bool:
    run.setting("default_transaction_read_only", "on")
    time.sleep(chance.uniform(0.2, 1.5))
    run.setting("default_transaction_read_only", "off")
    return True


def _restart(run: Disturbed, chance: random.Random) -> bool:
    assert run.console("db", "stop").code == 0
    time.sleep(chance.uniform(0.0, 2.0))
    assert run.console("db", "start").code == 0
    return True


def _postmaster(run: Disturbed, _: random.Random) -> bool:
    file = run.console.home / "postgres/data/postmaster.pid"
    os.kill(int(file.read_text().split()[0]), signal.SIGKILL)
    assert run.console("db", "start").code == 0  # whoever comes first, this or the supervisor
    return True


_KILLED = (-signal.SIGKILL,)
_STOPPED = (4, -signal.SIGINT)  # the latter while Python is still starting

KINDS: Mapping[str, Kind] = {
    "slave": Kind(_slave),
    "master": Kind(_master),
    "mpirun": Kind(_mpirun),
    "keeper": Kind(_keeper, kills=1),
    "program": Kind(_program, kills=1),
    "workspace": Kind(_workspace, kills=1),
    "doze": Kind(_doze),
    "sessions": Kind(_sessions),
    "lock": Kind(_lock),
    "read-only": Kind(_read_only),
    "restart": Kind(_restart),
    "postmaster": Kind(_postmaster),
    "supervisor": Kind(_supervisor, codes=_KILLED),
    "everything": Kind(_everything, kills=2, codes=_KILLED),
    "ctrl-c": Kind(_ctrl_c, kills=2, codes=_STOPPED),
    "ctrl-c twice": Kind(_ctrl_c_twice, kills=2, codes=_STOPPED),
}


def soak(console: Console, faults: int, seed: int, say: Callable[[str], None]) -> Soak:
    """At least so many faults, each kind about as often as every other."""
    chance = random.Random(seed)
    done = Soak()
    assert console.url  # so that the server is up
    waiting: list[str] = []
    while done.survived < faults and not done.problems:
        done.runs += 1
        place = console.directory / f"run-{done.runs}"
        place.mkdir()
        own = Console(console.home, place, {**console.extra, "PACE": str(PACE_S)})
        run = Disturbed(own, width=WIDTH, max_failure=20)
        try:
            _disturb(run, done, waiting, faults, chance)
            _judge(run, done)
        finally:
            own.leave_nothing()
        say(f"run {done.runs}: {done.survived} faults survived, {done.lost} results lost")
    return done


def _disturb(
    run: Disturbed, done: Soak, waiting: list[str], faults: int, chance: random.Random
) -> None:
    """Strike until the run is over."""
    run.start()
    allowed = 0
    codes: set[int] = set()  # with which the command may end, after what has struck it
    seen, moved_at = 0, time.monotonic()  # nothing happens to a run that has not begun
    strike_at = 0.0
    while True:
        code = run.process.poll()
        if code is not None:
            try:  # whose job goes on without it has its output open
                out, err = run.process.communicate(timeout=STUCK_S)
            except subprocess.TimeoutExpired:
                done.problems.append(f"run {done.runs} is stuck after {dict(done.faults)}")
                return
            if code in (0, 1) or "there is nothing left to run" in err:
                break
            if code not in codes:
                done.problems.append(
                    f"run {done.runs} ended with {code}: {out[-500:]} {err[-1500:]}"
                )
                return
            _take_up(run, done)
            codes.clear()
        now = time.monotonic()
        progress = run.starts("square").total() + run.starts("add").total()
        if progress > seen:
            seen, moved_at = progress, now
            strike_at = strike_at or now + chance.uniform(*CALM_S)
        if now - moved_at > STUCK_S:
            done.problems.append(f"run {done.runs} is stuck after {dict(done.faults)}")
            return
        if strike_at and now >= strike_at and done.survived < faults:
            for _ in range(min(chance.choice(AT_ONCE), faults - done.survived)):
                if not waiting:
                    waiting.extend(sorted(KINDS))
                    chance.shuffle(waiting)
                name = waiting.pop()
                if KINDS[name].strike(run, chance):
                    done.faults[name] += 1
                    allowed += KINDS[name].kills
                    codes.update(KINDS[name].codes)
                else:  # another has been there before
                    waiting.insert(0, name)
            strike_at = 0.0
            seen = run.starts("square").total() + run.starts("add").total()
            moved_at = time.monotonic()
        time.sleep(0.02)
    extra = run.starts("square").total() + run.starts("add").total() - 2 * run.width
    done.doubled += max(0, extra - allowed)


def _take_up(run: Disturbed, done: Soak) -> None:
    done.resumed += 1
    run.process = run.console.start(SCICUMULUS, "resume", str(run.run_id), "--json")


def _judge(run: Disturbed, done: Soak) -> None:
    done.activations += 2 * run.width + 1
    if done.problems:
        return
    question = "SELECT count(*) FROM activation WHERE run_id = %s AND state = 'finished'"
    finished = int(run.console.rows(question, run.run_id)[0][0])
    done.lost += 2 * run.width + 1 - finished
    try:
        run.nothing_was_lost(again=10_000)  # what was run again is counted by kind, above
    except AssertionError as error:
        done.problems.append(f"run {done.runs}: {error}")
