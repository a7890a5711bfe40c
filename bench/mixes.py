"""Several workflows on one fleet, as the paper on DQN agents has them: its VMs, prices, scores."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scicore.model.cloud import Fleet, Vm, VmType
from scicore.model.problem import Problem, Transfer, joined

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.shapes import SHAPES, Shape, of_trace

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = json.loads((ROOT / "bench/data/markov_game_published.json").read_text(encoding="utf-8"))
SIZES: tuple[int, ...] = tuple(PUBLISHED["tasks"])
TRACES = ("CyberShake_30", "Epigenomics_24", "Inspiral_30", "Montage_25", "Sipht_30")
SIPHT = 29  # activations of its smallest unit, which cannot be divided
FLEET = Fleet(
    tuple(
        Vm(f"{name}-1", VmType(name, 1, 0, 1.0, row["price_usd_per_hour"]))
        for name, row in PUBLISHED["vm_types"].items()
    ),
    ",".join(f"1x{name}" for name in PUBLISHED["vm_types"]),
)


@dataclass(frozen=True)
class Mix:
    name: str
    problem: Problem


def generated(total: int) -> Mix:
    """Five workflows of about one size; the mosaic, of which any size can be made, fills up."""
    share = round(total / 5)
    units = max(1, round(share / SIPHT))
    shapes = [
        *(SHAPES[name](share, 1) for name in ("cybershake", "epigenomics", "inspiral")),
        SHAPES["sipht"](30 * units, 1),
    ]
    rest = total - sum(len(shape.activities) for shape in shapes)
    return _mix(f"generated-{total}", [*shapes, SHAPES["montage"](rest, 1)])


def public(directory: Path) -> Mix:
    """The templates in their smallest public size: 138 activations, as in the paper."""
    return _mix("public-138", [of_trace(directory / f"{name}.xml") for name in TRACES])


def _mix(name: str, shapes: list[Shape]) -> Mix:
    return Mix(name, joined({shape.name: problem_of(shape) for shape in shapes}))


def problem_of(shape: Shape) -> Problem:
    """A runtime at speed 1 is one on the reference type; the others take as long as their scores
    in the activity's workload say. Data and boots take no time, as in the paper."""
    tags = list(dict.fromkeys(shape.activities))
    scores = np.array([row["scores"] for row in PUBLISHED["vm_types"].values()]).T
    column = list(PUBLISHED["vm_types"]).index(PUBLISHED["reference_type"])
    workload = [tags.index(tag) % len(scores) for tag in shape.activities]
    slower = scores[workload, column][:, None] / scores[workload]
    return Problem(
        activations=tuple(f"{tag}.{n}" for n, tag in enumerate(shape.activities, 1)),
        activities=tuple(shape.activities),
        edges=tuple(shape.edges),
        fleet=FLEET,
        runtime_s=np.array(shape.runtime_s)[:, None] * slower,
        transfer=Transfer.NONE,
        boot=False,
    )
