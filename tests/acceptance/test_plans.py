"""The plan is followed: every activation on its VM, every VM with its slots."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.console import Console
from tests.acceptance.workflows import Step, write_workflow

CONTRACT = {  # DESIGN.md, section 10
    *("plan_id", "algorithm", "seed", "fleet", "activations", "makespan_s", "cost_usd"),
    *("lower_bound_s", "gap", "planning_s"),
}
# Waits, not for ever, until as many programs as there are slots have come together.
MEET = """
place="$(dirname "$0")/.."
touch "$place/came-$1"
for patience in $(seq 1 1200); do
    if [ "$(ls "$place" | grep -c '^came-')" -ge 3 ]; then
        printf "ID\\nmet\\n" > ERelation.txt
        exit 0
    fi
    sleep 0.05
done
exit 1
"""


def test_slaves_pull_only_what_a_stored_plan_assigns_to_their_vm(console: Console) -> None:
    steps = [Step("one"), Step("two", after="one"), Step("three", after="one")]
    spec = write_workflow(console.directory / "wf", steps, [(str(n),) for n in range(1, 13)])
    fleet = "1xlocal:2,2xlocal"
    plan = console("plan", spec, "--fleet", fleet, "--algorithm", "fcfs", "--json").document
    assert set(plan) >= CONTRACT
    assert (plan["algorithm"], plan["fleet"], plan["activations"]) == ("fcfs", fleet, 36)

    run = console.run(spec, "--plan", str(plan["plan_id"]), "--dispatch", "strict")
    assert run["plan_id"] == plan["plan_id"]
    assert run["predicted_makespan_s"] == plan["makespan_s"]
    pairs = console.rows(
        "SELECT activation.name, attempt.vm, assignment.vm FROM attempt"
        " JOIN activation USING (run_id, activation_id)"
        " JOIN assignment ON assignment.activation = activation.name AND plan_id = %s"
        " WHERE run_id = %s",
        *(plan["plan_id"], run["run_id"]),
    )
    assert len(pairs) == 36
    assert all(vm == planned for _, vm, planned in pairs)
    assert {vm for _, vm, _ in pairs} == {"local-1", "local-2", "local-3"}
    vms = console.rows("SELECT vm, slots FROM vm WHERE run_id = %s", run["run_id"])
    assert sorted(vms) == [("local-1", 2), ("local-2", 1), ("local-3", 1)]


def test_a_vm_with_three_slots_runs_three_programs_at_once(
    console: Console, tmp_path: Path
) -> None:
    spec = write_workflow(tmp_path / "wf", [Step("meet", MEET)], [("1",), ("2",), ("3",)])
    run = console.run(spec, fleet="1xlocal:3")
    assert run["finished"] == run["attempts"] == 3
