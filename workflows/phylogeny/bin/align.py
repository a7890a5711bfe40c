"""align.py SEQUENCES GAP: aligns all pairs of sequences; counts what differs, to pairs.txt.

Its table is its own: species, species, sites, transitions, transversions, gaps. The workflow's
extractor (extract.py) makes tuples of it, as one does with a program that knows no ERelation.txt.
"""

import sys
from itertools import combinations
from pathlib import Path

from Bio import SeqIO
from Bio.Align import PairwiseAligner

PURINES = "AG"

sequences = {record.id: str(record.seq) for record in SeqIO.parse(sys.argv[1], "fasta")}
aligner = PairwiseAligner(match_score=2, mismatch_score=-1.5)
aligner.open_gap_score, aligner.extend_gap_score = -float(sys.argv[2]), -0.5

with Path("pairs.txt").open("w") as table:
    for one, other in combinations(sorted(sequences), 2):
        alignment = aligner.align(sequences[one], sequences[other])[0]
        sites = transitions = transversions = gaps = 0
        for a, b in zip(alignment[0], alignment[1], strict=True):
            if "-" in (a, b):
                gaps += 1
            elif "N" not in (a, b):
                sites += 1
                if a != b:
                    same_kind = (a in PURINES) == (b in PURINES)
                    transitions, transversions = (
                        transitions + same_kind,
                        transversions + (not same_kind),
                    )
        print(one, other, sites, transitions, transversions, gaps, file=table)
