"""Every named query on a database with a million activations, and tuples per second into one.

    python bench/queries.py [--activations 1000000] [--repeats 3] [--json]

The database is made by SQL, in seconds: two runs with half of the activations each, of which the
last is asked about, and compared with the other one. Then facts go through the real recorder, as
the master sends them: tuples of one SPLIT_MAP, and whole lives of MAP activations.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, text

from scicore.execution.messages import (
    ActivationCreated,
    ActivationMoved,
    AttemptEnded,
    AttemptStarted,
    Fact,
    TupleGenerated,
    Usage,
)
from scicore.model.activation import ActivationState, Cause
from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.plan import Plan
from scicore.model.workflow import (
    Activity,
    Dataset,
    Field,
    FieldType,
    Operator,
    Relation,
    Workflow,
)
from scicore.provenance.connection import connect
from scicore.provenance.embedded import EmbeddedServer
from scicore.provenance.hold import Hold
from scicore.provenance.plans import save_plan
from scicore.provenance.queries import named_queries, run_query
from scicore.provenance.recorder import DatabaseRecorder
from scicore.provenance.store import load_run, prepare_run
from scicore.provenance.workflows import save_workflow

SHARES = (0.5, 0.5)  # of the activations, run by run; the last is asked about
LIMIT_S = 1.0  # for every query
LIMIT_TUPLES_PER_S = 10_000


def relation(name: str, *fields: str) -> Relation:
    types = {"FILE": FieldType.FILE, "REGION": FieldType.STRING}
    return Relation(
        name, tuple(Field(field, types.get(field, FieldType.FLOAT)) for field in fields)
    )


def workflow() -> Workflow:
    """Four of ten activations project an image, four compare, one corrects, one shrinks."""
    images = relation("images", "ID", "FILE")
    projected = relation("projected", "ID", "REGION", "QUALITY", "FILE")
    compared = relation("compared", "ID", "REGION", "DIFFERENCE")
    corrected = relation("corrected", "REGION", "QUALITY")
    shrunk = relation("shrunk", "REGION", "QUALITY")
    mosaic = relation("mosaic", "QUALITY")
    return Workflow(
        "mosaics",
        (
            Activity("project", Operator.MAP, "project %=FILE%", images, projected),
            Activity("compare", Operator.MAP, "compare %=FILE%", projected, compared, "project"),
            Activity(
                "correct", Operator.REDUCE, "correct", compared, corrected, "compare", ("REGION",)
            ),
            Activity("shrink", Operator.MAP, "shrink %=REGION%", corrected, shrunk, "correct"),
            Activity("join", Operator.REDUCE, "join", shrunk, mosaic, "shrink"),
        ),
        (Dataset(images, ()),),
        directory="/workflows/mosaics",
        experiment_directory="/experiments/mosaics",
    )


def fleet() -> Fleet:
    small, large = VmType("small", 1, 1024, 1.0, 0.01), VmType("large", 8, 32768, 1.25, 0.4)
    vms = [Vm(f"small-{n}", small) for n in range(1, 25)] + [
        Vm(f"large-{n}", large) for n in range(1, 9)
    ]
    return Fleet(tuple(vms), "24xsmall,8xlarge")


def prepare(engine: Engine) -> int:
    plan = Plan("heft", 1, fleet(), (), 3600.0, 1.0, 3000.0)
    with engine.begin() as connection:
        workflow_id = save_workflow(connection, workflow(), "")
        plan_id = save_plan(connection, workflow_id, plan)
        return prepare_run(connection, workflow_id, plan_id, workflow(), plan)[0]


# --- the million --------------------------------------------------------------------------------


def fill(engine: Engine, activations: int) -> int:
    """The number of the run with half of the activations."""
    template = Path(__file__).with_name("million.sql").read_text(encoding="utf-8")
    for share in SHARES:
        run_id = prepare(engine)
        tenth = int(activations * share / 10)
        statements = template.replace("{run}", str(run_id)).replace("{c}", str(tenth))
        with engine.begin() as connection:
            # The rows refer to each other by construction; checking that would take minutes.
            connection.execute(text("SET LOCAL session_replication_role = replica"))
            connection.execute(text("SET LOCAL work_mem = '256MB'"))
            connection.exec_driver_sql(statements, execution_options={"no_parameters": True})
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))
    return run_id


# --- time --------------------------------------------------------------------------------------


def time_queries(engine: Engine, run_id: int, repeats: int) -> list[dict[str, object]]:
    tenth = int(_count(engine, run_id) / 10)
    parameters: dict[str, object] = {
        "run": run_id,
        "other": run_id - 1,
        "tuple": 14 * tenth + 1,  # the mosaic: everything lies behind it
        "path": "/experiments/mosaics/input/17.fits",
        "relation": "projected",
        "field": "quality",
        "best": "highest",
        "top": 10,
    }
    results: list[dict[str, object]] = []
    for query in named_queries():
        given = {name: parameters[name] for name in query.parameters}
        if query.name == "lineage_forward":
            given["tuple"] = 17
        seconds = []
        for _ in range(repeats):
            started = time.perf_counter()
            rows = len(run_query(engine, query.sql, given).rows)
            seconds.append(time.perf_counter() - started)
        results.append({"query": query.name, "seconds": statistics.median(seconds), "rows": rows})
    return results


def _count(engine: Engine, run_id: int) -> int:
    with engine.connect() as connection:
        count = text("SELECT count(*) FROM activation WHERE run_id = :run")
        return int(connection.execute(count, {"run": run_id}).scalar_one())


# --- the recorder ------------------------------------------------------------------------------


def tuples_per_s(engine: Engine, messages: list[list[Fact]]) -> float:
    """From the first fact that is handed over until everything is committed."""
    run_id = prepare(engine)
    with engine.connect() as connection:
        recorder = DatabaseRecorder(engine, load_run(connection, run_id), Hold(engine, run_id))
    started = time.perf_counter()
    for facts in messages:
        recorder.record(facts)
    recorder.close()
    seconds = time.perf_counter() - started
    tuples = sum(isinstance(fact, TupleGenerated) for facts in messages for fact in facts)
    return tuples / seconds


def split(tuples: int) -> list[list[Fact]]:
    """One activation gives them all, a thousand at a time."""
    messages: list[list[Fact]] = [[_created(1)]]
    for first in range(1, tuples + 1, 1000):
        messages.append([_tuple(number, 1) for number in range(first, first + 1000)])
    return messages


def lives(activations: int, at_once: int = 64) -> list[list[Fact]]:
    """Every activation is created, started, ended and gives a tuple, `at_once` at a time."""
    messages: list[list[Fact]] = []
    for first in range(1, activations + 1, at_once):
        numbers = range(first, first + at_once)
        messages.append([_created(number) for number in numbers])
        messages.append([AttemptStarted(2.0, number, 1, "small-1") for number in numbers])
        messages.append([fact for number in numbers for fact in _end(number)])
    return messages


def _created(number: int) -> ActivationCreated:
    name, rows = f"project.{number}", ((str(number),),)
    ready = ActivationState.READY
    return ActivationCreated(1.0, number, "project", name, rows, ready, (), "small-1", True, None)


def _end(number: int) -> list[Fact]:
    usage = Usage(0.5, 10_000_000, 1000, 1000)
    workspace = f"project/{number}"
    return [
        AttemptEnded(
            number, 1, Cause.FINISHED, 2.0, 3.0, 0, f"project {number}", workspace, "", usage
        ),
        ActivationMoved(3.0, number, ActivationState.FINISHED, "small-1"),
        _tuple(number, number),
    ]


def _tuple(number: int, maker: int) -> TupleGenerated:
    row = (str(number), f"r{number // 4}", "3.14159", f"/experiments/{number}.fits")
    return TupleGenerated(number, "projected", (number,), row, maker)


# --- all of it ---------------------------------------------------------------------------------


@contextmanager
def database() -> Iterator[Engine]:
    """A server of our own, that is gone afterwards; as root it runs as nobody."""
    directory = Path(tempfile.mkdtemp(prefix="scicumulus-bench-", dir="/tmp"))
    directory.chmod(0o755)
    server = EmbeddedServer(directory / "postgres")
    try:
        engine = connect(server.start()).engine
        yield engine
        engine.dispose()
    finally:
        server.stop()
        shutil.rmtree(directory)


def measure(activations: int, repeats: int) -> dict[str, object]:
    with database() as engine:
        into_empty = {
            "split_tuples_per_s": tuples_per_s(engine, split(100_000)),
            "map_tuples_per_s": tuples_per_s(engine, lives(16_000)),
        }
        started = time.perf_counter()
        run_id = fill(engine, activations)
        fill_s = time.perf_counter() - started
        queries = time_queries(engine, run_id, repeats)
        load = os.getloadavg()[0]
        into_full = {
            "split_tuples_per_s": tuples_per_s(engine, split(100_000)),
            "map_tuples_per_s": tuples_per_s(engine, lives(16_000)),
        }
    slowest = max(float(str(query["seconds"])) for query in queries)
    return {
        "activations": activations,
        "repeats": repeats,
        "fill_s": fill_s,
        "load": load,  # of the machine while the queries ran; above its cores, times grow with it
        "queries": queries,
        "slowest_s": slowest,
        "recorder_empty_database": into_empty,
        "recorder_full_database": into_full,
        "ok": slowest < LIMIT_S and into_full["split_tuples_per_s"] >= LIMIT_TUPLES_PER_S,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--activations", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    result = measure(options.activations, options.repeats)
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        show(result)
    sys.exit(0 if result["ok"] else 1)


def show(result: dict[str, Any]) -> None:
    print(f"{result['activations']:,} activations, made in {result['fill_s']:.0f} s")
    print(f"load of the machine in the last minute: {result['load']:.1f}")
    for query in result["queries"]:
        late = "  over a second" if query["seconds"] >= LIMIT_S else ""
        print(f"  {query['query']:<24} {query['seconds']:7.3f} s {query['rows']:>7} rows{late}")
    for name, title in ("empty", "an empty"), ("full", "this"):
        rates = result[f"recorder_{name}_database"]
        print(
            f"recorder into {title} database: {rates['split_tuples_per_s']:,.0f} tuples/s of one"
            f" SPLIT_MAP, {rates['map_tuples_per_s']:,.0f}/s with a MAP activation each"
        )


if __name__ == "__main__":
    main()
