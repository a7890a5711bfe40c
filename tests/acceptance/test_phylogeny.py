"""The phylogeny workflow: it finds the known tree, and provenance says which setting found it."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import matplotlib.image
import pytest

from tests.acceptance.console import Console
from tests.acceptance.readme import answers

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "workflows/phylogeny"
RELATED = [  # what nobody doubts about these mammals
    {"Human", "Chimpanzee"},
    {"Human", "Chimpanzee", "Macaque"},
    {"Mouse", "Rat"},
    {"Mouse", "Rat", "Human", "Chimpanzee", "Macaque"},
    {"Dog", "Cat"},
    {"Dog", "Cat", "Cow"},
]


@pytest.fixture(scope="module")
def run(module_console: Console) -> Any:
    copy = module_console.directory / "phylogeny"
    shutil.copytree(SHIPPED, copy, ignore=shutil.ignore_patterns("runs", "__pycache__"))
    made = module_console.execute(sys.executable, copy / "evolve.py")
    assert made.code == 0, made
    return module_console.run(copy / "workflow.xml")


def ask(console: Console, run: Any, sql: str) -> Any:
    said = console("query", "--sql", sql, "--run", str(run["run_id"]), "--json")
    assert said.code == 0, said
    return said.document


def clades(newick: str) -> list[set[str]]:
    """The names inside every pair of brackets."""
    opened, found = [], []
    for place, letter in enumerate(newick):
        if letter == "(":
            opened.append(place)
        elif letter == ")":
            found.append(set(re.findall(r"[A-Z][a-z]+", newick[opened.pop() : place])))
    return found


def test_the_shipped_genes_are_what_the_shipped_script_makes(
    module_console: Console, run: Any
) -> None:
    made = module_console.directory / "phylogeny/input"
    files = sorted(path.relative_to(made) for path in made.rglob("*") if path.is_file())
    assert len(files) == 13
    for file in files:
        assert (made / file).read_bytes() == (SHIPPED / "input" / file).read_bytes(), file


def test_badly_sequenced_genes_are_filtered_and_all_others_get_a_tree_per_setting(
    module_console: Console, run: Any
) -> None:
    assert run["state"] == "finished"
    genes, settings, gaps = 10, 8, 2
    good = {
        row["gene"]
        for row in ask(
            module_console,
            run,
            "SELECT gene FROM phylogeny.good_genes WHERE run_id = :run",
        )
    }
    assert len(good) == genes - 2
    assert good & {"enam", "vwf"} == set()
    queries, draw = 3, 1
    aligned, grown = len(good) * gaps, len(good) * settings
    assert run["activations"] == genes + aligned + grown + settings + queries + draw


def test_the_extractor_turned_the_aligners_own_table_into_fields(
    module_console: Console, run: Any
) -> None:
    rows = ask(
        module_console,
        run,
        "SELECT gap, pairs, identity, gapped FROM phylogeny.alignments WHERE run_id = :run",
    )
    for row in rows:
        table = [line.split() for line in Path(row["pairs"]).read_text().splitlines()]
        assert len(table) == 10 * 9 / 2
        sites, gaps = (sum(int(line[column]) for line in table) for column in (2, 5))
        assert row["gapped"] == pytest.approx(gaps / (sites + gaps), abs=1e-4)
        assert not list(Path(row["pairs"]).parent.glob("*.fasta")), "COPY_DELETE"
    mean = {gap: [row["gapped"] for row in rows if row["gap"] == gap] for gap in (2, 8)}
    assert sum(mean[2]) > sum(mean[8]), "cheap gaps are used more"


def test_a_query_over_the_relations_says_which_setting_was_best(
    module_console: Console, run: Any
) -> None:
    best, *others = ask(
        module_console,
        run,
        "SELECT gap, model, method, missed, consensus FROM phylogeny.species_trees"
        " WHERE run_id = :run ORDER BY missed, mean_missed",
    )
    assert (best["gap"], best["model"], best["method"]) == (8, "kimura", "nj")
    assert best["missed"] == 0
    assert all(other["missed"] > 0 for other in others)
    found = clades(Path(best["consensus"]).read_text())
    assert all(group in found for group in RELATED)
    (picture,) = ask(
        module_console,
        run,
        "SELECT title, picture FROM phylogeny.pictures WHERE run_id = :run",
    )
    assert picture["title"] == "kimura distances, nj, gap 8"
    image = matplotlib.image.imread(picture["picture"])
    assert (image[..., :3].mean(axis=2) < 0.2).sum() > 1000, "lines and names were drawn"


def test_the_questions_of_the_readme_have_answers(module_console: Console, run: Any) -> None:
    settings, gaps = answers(module_console, "phylogeny", run["run_id"])
    assert (settings[0]["method"], settings[0]["model"]) == ("nj", "kimura")
    assert [row["gap"] for row in sorted(gaps, key=lambda row: str(row["gap"]))] == [2, 8]
