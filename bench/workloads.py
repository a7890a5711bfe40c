"""What the benchmarks run, and how a run is watched from outside."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CLI = Path(sys.executable).parent / "scicumulus"
ROOT = Path(__file__).resolve().parents[1]
MARK = "SCICUMULUS_BENCH"  # every process of a benchmark inherits it
PROGRAM = "/bin/true"
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Outcome:
    run_id: int
    activations: int
    recorded_s: float  # from the run's start until the last of it was in the database
    elapsed_s: float  # of the whole command

    @property
    def per_s(self) -> float:
        return self.activations / self.recorded_s

    @property
    def around_s(self) -> float:
        return self.elapsed_s - self.recorded_s


def specification(activation: str, fields: Sequence[str], attributes: str = "") -> str:
    declared = "".join(f'<field name="{name}" type="string" input="given"/>' for name in fields)
    return f"""<SciCumulus>
  <conceptualWorkflow tag="bench">
    <activity tag="noop" type="MAP" activation="{activation}" {attributes}>
      <relation reltype="Input" name="given"/>
      <relation reltype="Output" name="done"/>
      {declared}
    </activity>
  </conceptualWorkflow>
  <executionWorkflow tag="bench"><relation name="given" filename="given.dataset"/>
  </executionWorkflow>
</SciCumulus>
"""


def write(directory: Path, spec: str, fields: Sequence[str], rows: Iterable[Sequence[str]]) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "given.dataset").open("w") as stream:
        stream.write(";".join(fields) + "\n")
        stream.writelines(";".join(row) + "\n" for row in rows)
    (directory / "workflow.xml").write_text(spec)
    return directory / "workflow.xml"


def numbers(count: int) -> Iterable[tuple[str]]:
    return ((str(number),) for number in range(1, count + 1))


def programs(directory: Path, count: int, command: str = PROGRAM) -> Path:
    """Programs that know nothing of each other."""
    return write(directory, specification(command, ["N"]), ["N"], numbers(count))


def functions(directory: Path, count: int, body: str = "return None") -> Path:
    """Calls of a Python function that does nothing."""
    spec = write(directory, specification("python:noop.noop", ["N"]), ["N"], numbers(count))
    (directory / "noop.py").write_text(f"import time\n\n\ndef noop(t):\n    {body}\n")
    return spec


def chain(directory: Path, count: int, command: str) -> Path:
    """Programs each of which waits for the one before it."""
    return edges(directory, command, [(str(n), str(n - 1) if n else "") for n in range(count)])


def edges(directory: Path, command: str, rows: Iterable[Sequence[str]]) -> Path:
    """Programs, each with an id and those of its parents."""
    fields = ["ID", "PARENTS"]
    spec = specification(command, fields, 'id="ID" parents="PARENTS"')
    return write(directory, spec, fields, rows)


def montage(directory: Path, count: int) -> Path:
    """Programs with the dependencies of a mosaic."""
    place = ROOT / "workflows/montage_trace/generate.py"
    found = importlib.util.spec_from_file_location("montage_trace", place)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module
    found.loader.exec_module(module)
    jobs = module.mosaic(count, 1).jobs
    return edges(directory, PROGRAM, [(job.id, " ".join(job.parents)) for job in jobs])


def command(spec: Path, slots: int, *options: str) -> list[str]:
    return [str(CLI), "run", str(spec), "--fleet", f"{slots}xlocal", "--json", *options]


def run(spec: Path, slots: int, *options: str) -> Outcome:
    started = time.perf_counter()
    done = subprocess.run(
        command(spec, slots, *options),
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    elapsed_s = time.perf_counter() - started
    said = json.loads(done.stdout)
    assert said["finished"] == said["activations"] > 0, said
    return Outcome(said["run_id"], said["finished"], recorded_s(said["run_id"]), elapsed_s)


def recorded_s(run_id: int) -> float:
    """A run that is over is not yet recorded."""
    sql = "SELECT extract(epoch FROM recorded_at - started_at) AS s FROM run WHERE run_id = "
    return float(ask(f"{sql}{run_id}")[0]["s"])


def machine() -> str:
    cores, python = os.cpu_count(), platform.python_version()
    return f"{cores} cores, {platform.platform()}, Python {python}"


def ask(sql: str) -> list[dict[str, Any]]:
    """The provenance database, as a user would."""
    words = [str(CLI), "query", "--sql", sql, "--json"]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


# --- watching processes ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Seen:
    pid: int
    words: str  # its command line
    cpu_s: float
    peak_bytes: int
    is_master: bool

    @property
    def is_engine(self) -> bool:
        launcher = "mpirun" in self.words or "prterun" in self.words
        return "-m scicore" in self.words and not launcher


def processes(mark: str) -> list[Seen]:
    """Of the benchmark with this mark."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            environment = (place / "environ").read_bytes()
            if f"{MARK}={mark}\0".encode() not in environment + b"\0":
                continue
            words = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            numbers = (place / "stat").read_text().rpartition(")")[2].split()
            cpu_s = (int(numbers[11]) + int(numbers[12])) * _TICK_S
            peak = [line for line in (place / "status").read_text().splitlines() if "VmHWM" in line]
            is_master = b"OMPI_COMM_WORLD_RANK=0\0" in environment and "-m scicore" in words
            kilobytes = int(peak[0].split()[1]) if peak else 0
            found.append(Seen(int(place.name), words, cpu_s, kilobytes * 1024, is_master))
    return found


def engine_cpu_s(mark: str) -> float:
    """Of master, slaves and keepers: not of the programs, the launcher or the database."""
    return sum(seen.cpu_s for seen in processes(mark) if seen.is_engine)
