"""VMs on which attempts fail too often (`reliability`).

A program that always fails does so on every VM, and must not empty the fleet. So a VM is compared
with the others, activity by activity: how many of its attempts would have failed if it failed as
often as the VMs taken together (the Mantel-Haenszel test)? An activity that has run on one VM
only says nothing about that VM.
"""

from __future__ import annotations

import math
from collections import defaultdict

ATTEMPTS = 5  # of a VM before it is judged
SIGMAS = 3.0  # more failures than that cannot be chance, even if every VM is judged many times


class _Count:
    __slots__ = ("attempts", "failures")

    def __init__(self) -> None:
        self.attempts = self.failures = 0

    def add(self, failed: bool) -> None:
        self.attempts += 1
        self.failures += failed


class Reliability:
    def __init__(self, wanted: float) -> None:
        self._wanted = wanted  # share of attempts that should end well
        self._vms: defaultdict[str, defaultdict[str, _Count]] = defaultdict(
            lambda: defaultdict(_Count)
        )
        self._all: defaultdict[str, _Count] = defaultdict(_Count)  # by activity

    def add(self, vm: str, activity: str, failed: bool) -> None:
        self._vms[vm][activity].add(failed)
        self._all[activity].add(failed)

    def verdict(self, vm: str) -> str:
        """Why the VM should get no more work; empty = it may go on."""
        counts = self._vms[vm]
        attempts = sum(count.attempts for count in counts.values())
        failures = sum(count.failures for count in counts.values())
        if attempts < ATTEMPTS or 1 - failures / attempts >= self._wanted:
            return ""
        surplus = variance = 0.0
        for activity, own in counts.items():
            total = self._all[activity]
            if total.attempts == own.attempts:
                continue
            share = own.attempts / total.attempts
            surplus += own.failures - share * total.failures
            variance += (
                share
                * (1 - share)
                * total.failures
                * (total.attempts - total.failures)
                / (total.attempts - 1)
            )
        if variance <= 0 or surplus < SIGMAS * math.sqrt(variance):
            return ""
        return (
            f"{failures} of {attempts} attempts failed, more than on the other VMs; "
            f"a reliability of {self._wanted:g} is wanted"
        )
