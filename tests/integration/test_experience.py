"""Real runs teach `mdp`: what becomes an experience, what it says, and what is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from sqlalchemy import Engine, insert, select, update

from scicore.cli.experienced import learn_from_runs, world_now
from scicore.cli.loading import Specification
from scicore.cli.planning import Wish, before_deadline, policy_for, solve
from scicore.cli.preparation import Cloud, prepare_grounds, store_plan
from scicore.model.activation import RunState
from scicore.model.cloud import VmType
from scicore.model.experience import Experience, Moment, Result
from scicore.model.workflow import Workflow
from scicore.provenance import tables
from scicore.provenance.experience import experiences, load_now
from scicore.provenance.hold import Hold
from scicore.provenance.store import prepare_run
from tests.integration.known_runs import stars

SMALL = VmType("small", 1, 0, 1.0, 0.36)  # 0.006 USD a minute
SOLVERS = "generations=2; generations=3"
CLOUD = Cloud("2xsmall")
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def workflow(tag: str, max_time_s: float = 0.0) -> Workflow:
    rows = [(str(n), f"{n}.fits") for n in range(1, 4)]
    return replace(stars(rows), tag=tag, machine_types=(SMALL,), max_time_s=max_time_s)


def prepared(
    engine: Engine,
    about: Workflow,
    settings: Mapping[str, str] = MappingProxyType({}),
    cloud: Cloud = CLOUD,
) -> tuple[int, Any]:
    """A run that `mdp` has planned; and the policy that its plan keeps."""
    wish = Wish("mdp", settings={"solvers": SOLVERS, **settings})
    with engine.begin() as connection:
        grounds = prepare_grounds(connection, about, cloud)
        plan = solve(about, grounds, wish, policy_for(connection, about, wish))
        ids = store_plan(connection, Specification(about, "<SciCumulus/>"), plan)
        run_id, _ = prepare_run(connection, *ids, about, plan)
    return run_id, plan.policy


def ended(
    engine: Engine, run_id: int, state: RunState, took_s: float = 90.0, reason: str = ""
) -> None:
    """Both VMs were there from the beginning; one left after ten seconds."""
    run, vm = tables.run, tables.vm
    end = START + timedelta(seconds=took_s)
    with engine.begin() as connection:
        connection.execute(
            update(run)
            .where(run.c.run_id == run_id)
            .values(state=state, started_at=START, ended_at=end, reason=reason)
        )
        connection.execute(update(vm).where(vm.c.run_id == run_id).values(joined_at=START))
        connection.execute(
            update(vm)
            .where(vm.c.run_id == run_id, vm.c.vm == "small-1")
            .values(left_at=START + timedelta(seconds=10))
        )


def learned(engine: Engine) -> int:
    with engine.begin() as connection:
        return learn_from_runs(connection)


def known(engine: Engine, tag: str) -> list[Experience]:
    with engine.begin() as connection:
        return experiences(connection, tag)


def test_a_finished_run_is_an_experience_with_its_real_cost_once(engine: Engine) -> None:
    run_id, policy = prepared(engine, workflow("once"))
    assert learned(engine) == 0  # it has not ended
    ended(engine, run_id, RunState.FINISHED)
    assert [learned(engine), learned(engine)] == [1, 0]
    (experience,) = known(engine, "once")
    assert experience.solver == "generations=2" == policy["choice"]["solver"]
    assert experience.makespan_s == 90
    assert experience.cost_usd == pytest.approx((60 + 90) * 0.36 / 3600)  # at least a minute each
    assert experience.before == Moment(policy["now"][0], policy["now"][1], Result.SUCCESS)
    assert experience.after.hour == (START + timedelta(seconds=90)).astimezone().hour
    assert experience.after.result is Result.SUCCESS


@pytest.mark.parametrize(
    ("tag", "state", "reason", "max_time_s", "settings", "result"),
    [
        ("failed", RunState.FAILED, "", 0.0, {}, Result.FAILURE),
        ("limit", RunState.STOPPED, "max_time of 80 s reached", 80.0, {}, Result.FAILURE),
        ("late", RunState.FINISHED, "", 80.0, {}, Result.FAILURE),
        ("in time", RunState.FINISHED, "", 90.0, {}, Result.SUCCESS),
        ("asked", RunState.FINISHED, "", 0.0, {"deadline_s": "89"}, Result.FAILURE),
        ("user", RunState.STOPPED, "", 0.0, {}, None),
        ("interrupted", RunState.INTERRUPTED, "", 0.0, {}, None),
    ],
)
def test_a_run_succeeds_in_time_or_fails_and_what_was_stopped_says_nothing(
    engine: Engine,
    tag: str,
    state: RunState,
    reason: str,
    max_time_s: float,
    settings: dict[str, str],
    result: Result | None,
) -> None:
    run_id, _ = prepared(engine, workflow(tag, max_time_s), settings)
    ended(engine, run_id, state, reason=reason)
    learned(engine)
    assert [each.after.result for each in known(engine, tag)] == ([result] if result else [])


def test_the_next_plan_knows_the_run_before_and_takes_the_other_solver(engine: Engine) -> None:
    about = workflow("next")
    choices = []
    for state in (RunState.FAILED, RunState.FINISHED, RunState.FINISHED):
        run_id, policy = prepared(engine, about, {"epsilon": "0"})
        choices.append((policy["choice"]["solver"], policy["now"][2]))
        ended(engine, run_id, state)
        learned(engine)
    assert choices == [
        ("generations=2", "success"),
        ("generations=3", "failure"),  # the first one has failed; this one was never tried
        ("generations=3", "success"),  # a failure costs a penalty
    ]


def test_the_deadline_that_a_plan_was_asked_to_keep_is_the_one_that_counts() -> None:
    about = workflow("deadline")
    asked = before_deadline(Wish("mdp"), about, 7200.0)
    assert asked.settings == {"deadline_s": "7200"}
    assert before_deadline(Wish("mdp"), about, None).settings == {}
    assert before_deadline(Wish("heft"), about, 7200.0).settings == {}
    own = Wish("mdp", settings={"deadline_s": "60"})
    assert before_deadline(own, about, 7200.0).settings == {"deadline_s": "60"}


def test_workflows_do_not_learn_from_each_other(engine: Engine) -> None:
    with engine.begin() as connection:
        there: Any = world_now(connection, "nobody ran this")
    assert there["experience"] == []


def test_files_that_went_to_another_region_are_paid(engine: Engine, tmp_path: Path) -> None:
    """measure.1 on the first VM makes a file of 2 GB; check.1 on the second one reads it."""
    regions = [replace(SMALL, name=f"in-{place}", region=place) for place in ("us", "japan")]
    about = replace(workflow("regions"), machine_types=tuple(regions))
    catalog = tmp_path / "catalog.toml"
    catalog.write_text(
        '[[vm_type]]\nname = "other"\nslots = 1\n'
        '[[transfer]]\nfrom = "us"\nto = "japan"\nusd_per_gb = 0.2\n',
        encoding="utf-8",
    )
    cloud = Cloud("1xin-us,1xin-japan", catalog)
    run_id, _ = prepared(engine, about, cloud=cloud)
    with engine.begin() as connection:
        known_ids = select(tables.activity.c.tag, tables.activity.c.activity_id)
        ids = {row.tag: row.activity_id for row in connection.execute(known_ids)}
        measured = connection.scalar(
            select(tables.relation.c.relation_id).where(tables.relation.c.name == "measured")
        )
        for number, tag, vm in (1, "measure", "in-us-1"), (2, "check", "in-japan-1"):
            row = activation(run_id, number, ids[tag], "finished")
            connection.execute(insert(tables.activation), [{**row, "vm": vm}])
        made = {"run_id": run_id, "tuple_id": 9}
        connection.execute(
            insert(tables.tuple_),
            [{**made, "relation_id": measured, "path": "1", "values": {}, "generated_by": 1}],
        )
        connection.execute(insert(tables.used), [{**made, "activation_id": 2}])
        size = {"field": "FILE", "path": "/m", "size_bytes": 2 * 10**9, "sha256": ""}
        connection.execute(insert(tables.file), [{**made, **size}])
    ended(engine, run_id, RunState.FINISHED)
    learned(engine)
    (experience,) = known(engine, "regions")
    assert experience.cost_usd == pytest.approx(2 * 90 * 0.36 / 3600 + 2 * 0.2)


def activation(run_id: int, number: int, activity_id: int, state: str) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "activation_id": number,
        "activity_id": activity_id,
        "name": f"a.{number}",
        "key": "",
        "state": state,
        "planned": True,
        "created_at": START,
    }


def test_the_load_is_what_runs_or_waits_per_slot_of_runs_with_a_master(engine: Engine) -> None:
    run_id, _ = prepared(engine, workflow("load"))
    states = ("ready", "ready", "running", "locked", "finished")
    with engine.begin() as connection:
        measure = tables.activity.c.tag == "measure"
        activity_id = connection.scalars(
            select(tables.activity.c.activity_id).where(measure)
        ).first()
        assert activity_id is not None
        rows = [activation(run_id, n, activity_id, state) for n, state in enumerate(states, 1)]
        connection.execute(insert(tables.activation), rows)
        assert load_now(connection) == 0  # nobody is at work on it
    hold = Hold(engine, run_id)
    try:
        with engine.connect() as connection:
            assert load_now(connection) == 3 / 2
    finally:
        hold.close()
