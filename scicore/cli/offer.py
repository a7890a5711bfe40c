"""What a launch will cost, and whether that is allowed: told before anything is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from provisioning.bill import Estimate, estimate
from scicore.cli.output import say
from scicore.errors import ScicumulusError, UsageError
from scicore.model.cloud import Fleet, VmType, parse_fleet

_LEAST_LEASE_S = 3600.0


class OverBudget(ScicumulusError):
    exit_code = 4


@dataclass(frozen=True, slots=True)
class Offer:
    fleet: Fleet
    lease_s: float
    estimate: Estimate
    max_cost_usd: float = 0.0  # the workflow's; 0 = no limit

    def most_usd_per_hour(self, budget_usd: float | None) -> float:
        """So that substitutes, too, stay within what was agreed to."""
        limits = [limit for limit in (budget_usd, self.max_cost_usd or None) if limit is not None]
        if not limits or not self.estimate.usd:
            return float("inf")
        return self.estimate.usd_per_hour * min(limits) / self.estimate.usd


def make_offer(
    plan_id: int | None,
    fleet: str | None,
    lease_s: float | None,
    catalog: Mapping[str, VmType],
    database_url: str | None,
) -> Offer:
    if (plan_id is None) == (fleet is None):
        raise UsageError("give either --plan ID or --fleet COUNTxTYPE,…")
    if plan_id is None:
        chosen = _rentable(parse_fleet(fleet or "", catalog))
        lease_s = lease_s or _LEAST_LEASE_S
        return Offer(chosen, lease_s, estimate(chosen, lease_s))
    from scicore.provenance.connection import connect, reading
    from scicore.provenance.plans import limits_of_plan, load_plan

    with reading(connect(database_url).engine) as connection:
        _, plan = load_plan(connection, plan_id)
        max_vms, max_cost_usd = limits_of_plan(connection, plan_id)
    chosen = _rentable(plan.fleet)
    if max_vms and len(chosen.vms) > max_vms:
        raise UsageError(
            f"plan {plan_id} has {len(chosen.vms)} VMs; "
            f"its workflow allows max_vm_amount={max_vms}",
            "plan for fewer VMs, or raise max_vm_amount in <constraint>",
        )
    alone = estimate(chosen, 0.0, plan.makespan_s)
    lease_s = lease_s or max(_LEAST_LEASE_S, 2 * (alone.run_s or 0.0))
    if alone.run_s is not None and lease_s < alone.run_s:
        say(f"warning: the plan needs {alone.run_s:.0f} s, the lease is {lease_s:.0f} s")
    return Offer(chosen, lease_s, estimate(chosen, lease_s, plan.makespan_s), max_cost_usd)


def _rentable(fleet: Fleet) -> Fleet:
    if any(vm.type.name == "local" for vm in fleet.vms):
        raise UsageError(
            f"fleet {fleet.text}: `local` is this machine and cannot be rented",
            "write the fleet as 8xt2.micro,1xt2.2xlarge",
        )
    return fleet


def require_affordable(offer: Offer, budget_usd: float | None) -> None:
    told = (
        "the run is expected to cost"
        if offer.estimate.expected_usd is not None
        else ("until its lease is over it may cost")
    )
    for limit, source in (
        (budget_usd, "--budget"),
        (offer.max_cost_usd or None, "the workflow's max_financial_cost"),
    ):
        if limit is not None and offer.estimate.usd > limit:
            raise OverBudget(
                f"{told} ${offer.estimate.usd:.4f}, {source} is ${limit:.4f}; nothing was launched",
                "take a smaller fleet, a shorter --lease, or allow more",
            )


def print_offer(offer: Offer, name: str, region: str, *, spot: bool) -> None:
    """On stderr: stdout is for results."""
    counts: dict[str, int] = {}
    types = {vm.type.name: vm.type for vm in offer.fleet.vms}
    for vm in offer.fleet.vms:
        counts[vm.type.name] = counts.get(vm.type.name, 0) + 1
    say(f"cluster {name}: {len(offer.fleet.vms)} VMs, {offer.fleet.slots} slots")
    for kind, count in counts.items():
        price = types[kind].price_usd_per_hour
        place = f" ({types[kind].region})" if types[kind].region else ""
        say(f"  {count} x {kind} at ${price:.4f}/h{place} = ${count * price:.4f}/h")
    told = offer.estimate
    say(
        f"  together ${told.usd_per_hour:.4f}/h" + (", at most: spot VMs cost less" if spot else "")
    )
    if told.expected_usd is not None and told.run_s is not None:
        say(f"  expected: ${told.expected_usd:.4f} for {told.run_s:.0f} s of boot and run")
    if others := sorted({t.region for t in types.values()} - {"", region}):
        say(
            f"  warning: these are prices of {', '.join(others)}; for those of {region}: "
            f"scicumulus cluster prices --refresh --region {region}"
        )
    say(f"  at most ${told.most_usd:.4f}, if nobody ends it within {offer.lease_s / 3600:.1f} h")
