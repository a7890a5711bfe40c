"""What `plan --objective` shows: the front as a table, a picture and JSON, and what was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from scicore.cli.output import print_table, say
from scicore.cli.tradeoff import Candidate, Choice
from scicore.model.plan import Plan
from scicore.reports.figures import time_text
from scicore.reports.front import FrontChart, FrontPoint, draw_front_text

UNMET = 4  # exit code: no plan keeps the constraints


PlanIds = Sequence[Sequence[int]]  # of each plan of the front, one per workflow


def as_front_document(choice: Choice, plan_ids: PlanIds, *, auto: bool) -> dict[str, Any]:
    """Keys beside those of the chosen plan itself."""
    objective = choice.objective
    document: dict[str, Any] = {
        "objective": objective.goal,
        "deadline_s": objective.deadline_s,
        "max_cost_usd": objective.max_cost_usd,
        "confidence": choice.doubt.confidence,
        "kept": choice.kept if objective.constrained else None,
        "probability": choice.probability if objective.constrained else None,
        "front": [
            {
                "plan_id": own_ids[0] if len(own_ids) == 1 else None,
                **({"plan_ids": own_ids} if len(own_ids) > 1 else {}),
                "fleet": each.plan.fleet.text,
                "makespan_s": each.plan.makespan_s,
                "cost_usd": each.plan.cost_usd,
                "lower_bound_s": each.plan.lower_bound_s,
                "gap": each.plan.gap,
                "held_usd": each.held_usd,
                "p50_s": each.odds.time_s(0.5),
                "p90_s": each.odds.time_s(0.9),
                "p50_usd": each.odds.money_usd(0.5),
                "p90_usd": each.odds.money_usd(0.9),
                "probability": each.odds.keeps(objective) if objective.constrained else None,
                "chosen": place == choice.chosen,
            }
            for place, (own_ids, each) in enumerate(zip(plan_ids, choice.candidates, strict=True))
        ],
    }
    if auto:
        document["next_faster"] = _brief(choice.next_faster)
        document["next_cheaper"] = _brief(choice.next_cheaper)
    return document


def _brief(plan: Plan | None) -> dict[str, Any] | None:
    if plan is None:
        return None
    return {
        "fleet": plan.fleet.text,
        "makespan_s": plan.makespan_s,
        "cost_usd": plan.cost_usd,
    }


def print_front(choice: Choice, plan_ids: PlanIds, tag: str) -> None:
    share = f"{choice.doubt.confidence:.0%}"
    constrained = choice.objective.constrained
    columns = ["", "plan", "makespan", f"{share} within", "cost USD", f"{share} within USD"]
    columns += ["held USD", *(["kept"] if constrained else []), "VMs"]
    rows = []
    for place, (own_ids, each) in enumerate(zip(plan_ids, choice.candidates, strict=True)):
        kept = f"{each.odds.keeps(choice.objective):.0%}"
        rows.append(
            (
                "→" if place == choice.chosen else "",
                ", ".join(map(str, own_ids)),
                time_text(each.plan.makespan_s),
                time_text(each.odds.time_s(choice.doubt.confidence)),
                f"{each.plan.cost_usd:.4f}",
                f"{each.odds.money_usd(choice.doubt.confidence):.4f}",
                f"{each.held_usd:.4f}",
                *([kept] if constrained else []),
                each.plan.fleet.text,
            )
        )
    print_table(columns, rows)
    if len(choice.candidates) > 1:
        click.echo(f"\n{draw_front_text(chart_of(choice, tag))}\n")


def chart_of(choice: Choice, tag: str) -> FrontChart:
    objective, share = choice.objective, choice.doubt.confidence
    chosen = choice.plan
    return FrontChart(
        title=f"{tag}: time against money",
        subtitle=(
            f"{chosen.algorithm}: {len(choice.candidates)} plans; chosen: {chosen.fleet.text}, "
            f"{time_text(chosen.makespan_s)}, ${chosen.cost_usd:.4f}"
        ),
        points=[_point(each, share) for each in choice.candidates],
        chosen=choice.chosen,
        confidence=share,
        deadline_s=objective.deadline_s,
        max_cost_usd=objective.max_cost_usd,
    )


def _point(candidate: Candidate, share: float) -> FrontPoint:
    plan, odds = candidate.plan, candidate.odds
    late_s, dear_usd = odds.time_s(share), odds.money_usd(share)
    return FrontPoint(plan.makespan_s, plan.cost_usd, late_s, dear_usd, plan.fleet.text)


def say_constraint(choice: Choice) -> None:
    """Whether what was asked for can be had; if not, how close the best plan comes."""
    objective, share = choice.objective, choice.doubt.confidence
    if not objective.constrained:
        return
    odds = choice.candidates[choice.chosen].odds
    words = []
    if objective.deadline_s is not None:
        words.append(f"a deadline of {time_text(objective.deadline_s)}")
    if objective.max_cost_usd is not None:
        words.append(f"at most ${objective.max_cost_usd:g}")
    asked = " and ".join(words)
    if choice.kept:
        say(f"{asked}: kept in {choice.probability:.1%} of {choice.doubt.repeats} simulated runs")
        return
    say(
        f"no plan keeps {asked} with a confidence of {share:.0%}. The closest one keeps it in "
        f"{choice.probability:.1%} of {choice.doubt.repeats} simulated runs: {share:.0%} of them "
        f"take up to {time_text(odds.time_s(share))} and ${odds.money_usd(share):.4f}"
    )
    say("allow more time or money, a larger --fleet (or --fleet auto), or a lower --confidence")


def say_neighbours(choice: Choice) -> None:
    """What the next faster and the next cheaper mix of VMs would give."""
    plan = choice.plan
    say(f"chosen VMs: {plan.fleet.text}")
    for word, other in (("faster", choice.next_faster), ("cheaper", choice.next_cheaper)):
        if other is None:
            say(f"next {word} mix: none was found")
            continue
        time = other.makespan_s / plan.makespan_s - 1 if plan.makespan_s else 0.0
        money = other.cost_usd / plan.cost_usd - 1 if plan.cost_usd else 0.0
        say(
            f"next {word} mix: {other.fleet.text}: {time_text(other.makespan_s)} ({time:+.0%}), "
            f"${other.cost_usd:.4f} ({money:+.0%})"
        )
