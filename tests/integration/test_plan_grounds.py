"""What a plan rests on is stored beside it, and what earlier runs teach is found again."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest
from sqlalchemy import Engine, text

from scicore.model.cloud import parse_fleet
from scicore.model.estimate import Bandwidth, Estimate, Grounds, Source
from scicore.model.plan import Plan
from scicore.model.problem import Problem, Transfer
from scicore.model.transfer import Moved
from scicore.planners.heft import Heft
from scicore.provenance.grounds import (
    latest_policy,
    load_bandwidths,
    load_estimates,
    load_problem,
    save_grounds,
    save_policy,
)
from scicore.provenance.groups import Group, load_group, save_group
from scicore.provenance.history import Flow, fan_outs, flows, observations, transfers
from scicore.provenance.plans import save_plan
from scicore.provenance.workflows import save_workflow
from tests.integration.known_runs import measure_key, stars

FLEET = parse_fleet("1xlocal,1xlocal:2", {})
PROBLEM = Problem(
    activations=("measure.1", "check.1"),
    activities=("measure", "check"),
    edges=((0, 1),),
    fleet=FLEET,
    runtime_s=np.array([[1.5, 0.1], [2.0, 2.0]]),
    edge_bytes=(2**40,),
    cpus=(1, 2),
    memory_mb=(0, 100),
    transfer=Transfer.SHARED,
    boot=False,
)
ESTIMATES = (
    Estimate("check", "local", Source.PRIOR, 2.0, 0, None, ()),
    Estimate("measure", "local", Source.SIZE, 0.8, 12, 0.25, ("local", "small")),
)

BANDWIDTHS = (
    Bandwidth("small", Source.TRANSFERS, 41.5, 12, 0.25),
    Bandwidth("local", Source.CATALOG, 125.0, 0, None),
)


def stored_plan(engine: Engine, plan: Plan) -> int:
    with engine.begin() as connection:
        workflow_id = save_workflow(connection, stars([]), "<SciCumulus/>")
        return save_plan(connection, workflow_id, plan)


def test_a_plans_problem_and_estimates_come_back_as_they_were(engine: Engine) -> None:
    plan_id = stored_plan(engine, Heft().plan(PROBLEM, seed=0))
    with engine.begin() as connection:
        save_grounds(connection, plan_id, Grounds(PROBLEM, ESTIMATES, BANDWIDTHS))
        problem = load_problem(connection, plan_id, FLEET)
        assert load_estimates(connection, plan_id) == ESTIMATES
        assert load_bandwidths(connection, plan_id) == BANDWIDTHS
    assert problem is not None
    for field in dataclasses.fields(Problem):
        there, here = getattr(problem, field.name), getattr(PROBLEM, field.name)
        assert np.array_equal(there, here) if field.name == "runtime_s" else there == here


def test_plans_that_belong_together_know_each_other(engine: Engine) -> None:
    plan = Heft().plan(PROBLEM, seed=0)
    alone, first, second, twin, fast, slow, slow_twin = (
        stored_plan(engine, plan) for _ in range(7)
    )
    with engine.begin() as connection:
        other_id = save_workflow(connection, dataclasses.replace(stars([]), tag="other"), "")
        other = save_plan(connection, other_id, plan)
        save_group(connection, Group.FRONT, [first, second])
        save_group(connection, Group.JOINT, [alone])
        save_group(connection, Group.JOINT, [fast, twin, other])
        save_group(connection, Group.JOINT, [slow, slow_twin])
        save_group(connection, Group.FRONT, [fast, twin, slow, slow_twin])

        def members(group: Group, plan_id: int) -> list[tuple[int, str]]:
            found = load_group(connection, group, plan_id)
            return [(each.plan_id, each.workflow) for each in found]

        for group in Group:
            assert members(group, alone) == []
        assert members(Group.FRONT, second) == [(first, "stars"), (second, "stars")]
        assert members(Group.JOINT, second) == []
        assert members(Group.JOINT, fast) == [(twin, "stars"), (fast, "stars"), (other, "other")]
        assert members(Group.JOINT, other) == members(Group.JOINT, fast)
        # Of a front for two workflows, even of one tag, each has its own.
        assert members(Group.FRONT, twin) == [(twin, "stars"), (slow, "stars")]
        assert members(Group.FRONT, slow_twin) == [(fast, "stars"), (slow_twin, "stars")]


def test_a_problem_without_anything_comes_back_too(engine: Engine) -> None:
    empty = Problem((), (), (), FLEET, np.zeros((0, 2)))
    plan_id = stored_plan(engine, Heft().plan(empty, seed=0))
    with engine.begin() as connection:
        save_grounds(connection, plan_id, Grounds(empty, ()))
        problem = load_problem(connection, plan_id, FLEET)
    assert problem is not None
    assert problem.runtime_s.shape == (0, 2)


def test_a_plan_of_an_older_version_has_no_problem(engine: Engine) -> None:
    plan_id = stored_plan(engine, Heft().plan(PROBLEM, seed=0))
    with engine.connect() as connection:
        assert load_problem(connection, plan_id, FLEET) is None
        assert load_estimates(connection, plan_id) == ()
        assert load_bandwidths(connection, plan_id) == ()


def test_the_latest_policy_of_the_workflow_and_algorithm_is_found(engine: Engine) -> None:
    made = Heft().plan(PROBLEM, seed=0)
    first, second, other, silent = (
        dataclasses.replace(made, algorithm=algorithm, policy=policy)
        for algorithm, policy in (
            ("learner", {"q": [1.0]}),
            ("learner", {"q": [2.5], "fleet": "1xlocal"}),
            ("other", {"q": [3.0]}),
            ("learner", None),
        )
    )
    for plan in (first, second, other, silent):
        plan_id = stored_plan(engine, plan)
        with engine.begin() as connection:
            save_policy(connection, plan_id, "stars", plan)
    with engine.connect() as connection:
        assert latest_policy(connection, "stars", "learner") == second.policy
        assert latest_policy(connection, "stars", "other") == {"q": [3.0]}
        assert latest_policy(connection, "other stars", "learner") is None


# --- what earlier runs teach --------------------------------------------------------------------


def test_observations_are_finished_attempts_with_key_and_input_size(known: Engine) -> None:
    with known.connect() as connection:
        seen = observations(connection, stars([]))
    measured = [each for each in seen if each.activity == "measure"]
    # run 1: ten, run 2: the second try of one, run 3: one
    assert len(measured) == 12
    assert {each.runtime_s for each in measured} == {1.0, 2.0, 11.0}
    by_key = {each.key: each for each in measured if each.vm_type == "large"}
    tenth = by_key[measure_key("values of measure.10")]
    assert (tenth.input_bytes, tenth.declared_s) == (1010, None)
    checks = {each.input_bytes for each in seen if each.activity == "check"}
    assert checks == {100 * image for image in range(1, 11)}
    (merge,) = [each for each in seen if each.activity == "merge"]
    assert (merge.vm_type, merge.runtime_s, merge.input_bytes) == ("large", 5.0, None)


def test_only_the_latest_observations_of_each_kind_are_read(known: Engine) -> None:
    with known.connect() as connection:
        seen = observations(connection, stars([]), limit=1)
    kinds = [(each.activity, each.vm_type) for each in seen]
    assert len(kinds) == len(set(kinds)) == 4


def test_of_very_many_observations_a_sample_is_read_and_of_few_all(
    known: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with known.connect() as connection:
        every = observations(connection, stars([]))
        monkeypatch.setattr("scicore.provenance.history.SAMPLE", 8)
        seen = observations(connection, stars([]))
    count = Counter(each.activity for each in seen)
    assert 0 < count["measure"] < Counter(each.activity for each in every)["measure"]
    assert count["merge"] == 1
    assert set(seen) < set(every)


def test_runs_that_are_older_than_enough_finished_ones_are_not_read(
    known: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run has finished, the second has failed, the third is going on."""
    monkeypatch.setattr("scicore.provenance.history.ENOUGH", 1)
    with known.connect() as connection:
        every = observations(connection, stars([]))
        assert "merge" in {each.activity for each in every}, "a failure hides nothing"
        connection.execute(text("UPDATE run SET state = 'finished' WHERE run_id = 2"))
        seen = observations(connection, stars([]))
        assert "merge" not in {each.activity for each in seen}
        assert set(seen) < set(every)
        # What no newer run can tell of one kind of VM is still read.
        renamed = "UPDATE vm SET vm_type = 'other' WHERE run_id IN (2, 3) AND vm_type = 'small'"
        connection.execute(text(renamed))
        assert "merge" in {each.activity for each in observations(connection, stars([]))}
        connection.rollback()


def test_transfers_are_those_of_the_vm_types_asked_for_in_whatever_run(known: Engine) -> None:
    moved = text(
        """
        INSERT INTO transfer (run_id, activation_id, number, way, files, cached, size_bytes,
                              seconds, retries)
        SELECT run_id, activation_id, number, 'fetch', 1, 0, 1000 * run_id, 0.5, 0
        FROM attempt JOIN vm USING (run_id, vm) WHERE run_id IN (1, 2)
        """
    )
    with known.connect() as connection:  # never committed
        assert transfers(connection, {"small", "large"}) == []
        connection.execute(moved)
        small = transfers(connection, {"small"})
        assert {(each.vm_type, each.way, each.seconds) for each in small} == {
            ("small", "fetch", 0.5)
        }
        assert {each.size_bytes for each in small} == {1000, 2000}
        assert Moved("large", "fetch", 1000, 0.5) in transfers(connection, {"large"})
        assert transfers(connection, {"t2.micro"}) == []


def test_bytes_between_activities_are_those_of_the_latest_finished_run(known: Engine) -> None:
    with known.connect() as connection:
        (flow,) = flows(connection, "stars")
        assert (flow.producer, flow.consumer) == ("measure", "check")
        assert flow.bytes_per_edge == pytest.approx(550)
        assert flows(connection, "unknown") == []
        assert fan_outs(connection, "stars") == {}
    assert isinstance(flow, Flow)
