"""consensus.py GROUP: the tree on which most genes agree, and what it misses of the true one."""

import csv
import statistics
import sys
from pathlib import Path

from Bio import Phylo

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from trees import agreement, missed

with Path(sys.argv[1]).open(newline="") as stream:
    genes = list(csv.DictReader(stream, delimiter=";"))
tree = agreement([Phylo.read(gene["TREE"], "newick") for gene in genes])
Phylo.write(tree, "consensus.nwk", "newick")
mean = statistics.fmean(float(gene["MISSED"]) for gene in genes)
Path("ERelation.txt").write_text(
    f"CONSENSUS;GENES;MISSED;MEAN_MISSED\nconsensus.nwk;{len(genes)};{missed(tree)};{mean}\n"
)
