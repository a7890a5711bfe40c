"""extract.py: from the aligner's pairs.txt to a tuple: how alike sequences are, how many gaps."""

from pathlib import Path

pairs = [line.split()[2:] for line in Path("pairs.txt").read_text().splitlines()]
sites, transitions, transversions, gaps = (
    sum(map(int, column)) for column in zip(*pairs, strict=True)
)
identity = 1 - (transitions + transversions) / sites
Path("ERelation.txt").write_text(
    f"PAIRS;IDENTITY;GAPPED\npairs.txt;{identity};{gaps / (sites + gaps)}\n"
)
