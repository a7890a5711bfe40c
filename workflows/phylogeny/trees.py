"""Trees of genes: from counted differences to distances, to a tree, to how wrong that is."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

from Bio import Phylo
from Bio.Phylo.BaseTree import Clade, Tree
from Bio.Phylo.TreeConstruction import DistanceMatrix, DistanceTreeConstructor

HERE = Path(__file__).resolve().parent
OUTGROUP = "Opossum"


def grow(trial: dict[str, str]) -> dict[str, object]:
    """The activity `grow`: a gene's tree, and how many of the species' true branches it misses."""
    names, rows = [], {}
    for line in Path(trial["PAIRS"]).read_text().splitlines():
        one, other, *counts = line.split()
        rows[one, other] = distance(trial["MODEL"], *map(int, counts[:3]))
        names += [name for name in (one, other) if name not in names]
    matrix = [
        [rows.get((b, a), rows.get((a, b), 0.0)) for b in names[: names.index(a)]] + [0.0]
        for a in names
    ]
    constructor = DistanceTreeConstructor()
    tree = getattr(constructor, trial["METHOD"])(DistanceMatrix(names, matrix))
    tree.root_with_outgroup(OUTGROUP)
    Phylo.write(tree, "tree.nwk", "newick")
    return {"TREE": Path("tree.nwk"), "MISSED": missed(tree)}


def distance(model: str, sites: int, transitions: int, transversions: int) -> float:
    """Substitutions per site: as counted, or with Kimura's correction for those not seen."""
    p, q = transitions / sites, transversions / sites
    if model == "plain":
        return p + q
    if model == "kimura":
        first, second = 1 - 2 * p - q, 1 - 2 * q
        if first <= 0 or second <= 0:
            raise ValueError(f"too different for Kimura's model: {p:.2f}, {q:.2f} of all sites")
        return -0.5 * math.log(first * math.sqrt(second))
    raise ValueError(f"MODEL is {model!r}, expected plain or kimura")


def branches(tree) -> set[frozenset[str]]:
    """A tree as what its inner branches divide: the side without the outgroup."""
    everybody = frozenset(leaf.name for leaf in tree.get_terminals())
    sides = {frozenset(leaf.name for leaf in c.get_terminals()) for c in tree.get_nonterminals()}
    sides = {everybody - side if OUTGROUP in side else side for side in sides}
    return {side for side in sides if 1 < len(side) < len(everybody) - 1}


def missed(tree) -> int:
    truth = branches(Phylo.read(HERE / "input/species.nwk", "newick"))
    return len(truth - branches(tree))


def agreement(trees: list) -> Tree:
    """The branches that more than half of the trees have, each with how many per cent have it."""
    votes = Counter(branch for tree in trees for branch in branches(tree))
    won = [branch for branch, count in votes.items() if 2 * count > len(trees)]
    everybody = frozenset(leaf.name for leaf in trees[0].get_terminals())
    clades = {everybody: Clade()}
    for branch in sorted(won, key=len, reverse=True):  # whoever holds it is there before it
        clades[branch] = Clade(confidence=100 * votes[branch] / len(trees))
        holder(branch, clades).clades.append(clades[branch])
    for name in sorted(everybody):
        holder(frozenset([name]), clades).clades.append(Clade(name=name))
    return Tree(clades[everybody])


def holder(part: frozenset[str], clades: dict[frozenset[str], Clade]) -> Clade:
    """The smallest clade with all of a part in it: those of a majority never cross."""
    return clades[min((whole for whole in clades if part < whole), key=len)]
