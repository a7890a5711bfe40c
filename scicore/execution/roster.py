"""The plan as it is looked up during a run: by the names of activations."""

from __future__ import annotations

from scicore.execution.lanes import Work
from scicore.model.plan import Plan


class Roster:
    def __init__(self, plan: Plan) -> None:
        self._assignments = plan.assignments
        self._positions = {
            assignment.activation: position for position, assignment in enumerate(plan.assignments)
        }
        self._speeds = {vm.id: vm.type.speed for vm in plan.fleet.vms}

    def find(self, name: str) -> tuple[int, str] | None:
        """Position and VM."""
        position = self._positions.get(name)
        return None if position is None else (position, self._assignments[position].vm)

    def fill_in(self, work: Work, name: str) -> None:
        """What the plan says about the activation, if it foresaw it."""
        position = self._positions.get(name)
        if position is None:
            return
        assignment = self._assignments[position]
        work.position = position
        work.planned_vm = assignment.vm
        work.start_s = assignment.start_s
        speed = self._speeds.get(assignment.vm, 1.0)
        work.unit_s = (assignment.finish_s - assignment.start_s) * speed
