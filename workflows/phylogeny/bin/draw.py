"""draw.py TREE TITLE: a picture of a tree; the numbers are per cent of the genes that agree."""

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from Bio import Phylo

tree = Phylo.read(sys.argv[1], "newick")
for clade in tree.find_clades():
    clade.branch_length = 1.0  # a consensus has no lengths of its own
tree.ladderize()
figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
Phylo.draw(
    tree,
    axes=axes,
    do_show=False,
    branch_labels=lambda clade: f"{clade.confidence:.0f}" if clade.confidence else "",
)
axes.set_title(sys.argv[2])
axes.axis("off")
figure.savefig("tree.png", dpi=110)
Path("ERelation.txt").write_text("PICTURE\ntree.png\n")
