"""evolve.py [--seed N]: ten genes of ten mammals, evolved along the known tree of these species.

Writes input/genes/*.fasta, input/genes.dataset and input/species.nwk; the shipped ones are seed 7.
Rodents evolve faster than the others, as they do in nature. Two genes are badly sequenced.
"""

from __future__ import annotations

import argparse
import random
from io import StringIO
from pathlib import Path

from Bio import Phylo

HERE = Path(__file__).resolve().parent
# Branch lengths are substitutions per site of a gene of rate 1.
SPECIES = (
    "(Opossum:0.20,(Elephant:0.10,(((Mouse:0.14,Rat:0.13):0.18,"
    "((Human:0.02,Chimpanzee:0.02):0.04,Macaque:0.05):0.04):0.035,"
    "((Dog:0.06,Cat:0.06):0.04,Cow:0.08):0.035):0.04):0.12);"
)
GENES = ["albumin", "brca1", "cytb", "enam", "fgb", "irbp", "rag1", "tyr", "vwf", "zfx"]
BADLY_SEQUENCED = {"enam": 0.35, "vwf": 0.5}  # share of unknown bases
TRANSITION = {"A": "G", "G": "A", "C": "T", "T": "C"}
TRANSVERSIONS = {"A": "CT", "G": "CT", "C": "AG", "T": "AG"}


def evolved(sequence: str, length: float, chance: random.Random) -> str:
    """What a sequence becomes along a branch: two of three changes are transitions."""
    result = []
    for base in sequence:
        changes = chance.random() < length
        if changes and chance.random() < 0.06:
            if chance.random() < 0.5:
                result.append(base + "".join(chance.choices("ACGT", k=chance.randint(1, 6))))
        elif changes:
            two_of_three = chance.random() < 2 / 3
            result.append(TRANSITION[base] if two_of_three else chance.choice(TRANSVERSIONS[base]))
        else:
            result.append(base)
    return "".join(result)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=7, help="same seed, same genes")
    chance = random.Random(parser.parse_args().seed)
    tree = Phylo.read(StringIO(SPECIES), "newick")
    genes = HERE / "input/genes"
    genes.mkdir(parents=True, exist_ok=True)
    (HERE / "input/species.nwk").write_text(SPECIES + "\n")
    lines = ["GENE;SEQUENCES"]
    for gene in GENES:
        rate = chance.uniform(0.8, 1.6)
        ancestor = "".join(chance.choices("ACGT", weights=(3, 2, 2, 3), k=chance.randint(260, 420)))
        unknown = BADLY_SEQUENCED.get(gene, 0.002)
        records = []

        def descend(clade, sequence, rate=rate, unknown=unknown, records=records):
            sequence = evolved(sequence, rate * (clade.branch_length or 0.0), chance)
            for child in clade.clades:
                descend(child, sequence)
            if clade.is_terminal():
                seen = ("N" if chance.random() < unknown else base for base in sequence)
                records.append(f">{clade.name}\n{''.join(seen)}\n")

        descend(tree.root, ancestor)
        (genes / f"{gene}.fasta").write_text("".join(sorted(records)))
        lines.append(f"{gene};input/genes/{gene}.fasta")
    (HERE / "input/genes.dataset").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
