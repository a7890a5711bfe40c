"""The picture in a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from scicore.errors import UsageError
from scicore.reports.dag import draw_picture
from scicore.reports.dag_layout import Edge, Graph, Node

GRAPH = Graph(
    "Früh & $pät",
    (
        Node("d", "stations", "dataset", "6 tuples"),
        Node("split", "split", "SPLIT_MAP", "× 6"),
        Node("join", "join", "MR_QUERY"),
        Node("other", "other", "SOMETHING_ELSE", "× 1"),
    ),
    (
        Edge("d", "split"),
        Edge("d", "join"),
        Edge("split", "join", "decades"),
        Edge("join", "other", "joined"),
        Edge("other", "split"),
        Edge("join", "join"),
    ),
    subtitle="one $ign & <another>, 天気",
)


@pytest.fixture(params=[".svg", ".png", ".SVG"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / f"picture{request.param}"


def test_the_same_workflow_gives_the_same_bytes(file: Path) -> None:
    draw_picture(GRAPH, file)
    first = file.read_bytes()
    file.unlink()
    draw_picture(GRAPH, file)
    assert file.read_bytes() == first


def test_an_svg_is_xml_that_names_everything_and_no_date(tmp_path: Path) -> None:
    draw_picture(GRAPH, tmp_path / "picture.svg")
    root = etree.parse(str(tmp_path / "picture.svg")).getroot()
    assert etree.QName(root).localname == "svg"
    text = (tmp_path / "picture.svg").read_text()
    for word in ("stations", "6 tuples", "split", "decades", "joined", "MR_QUERY", "$pät"):
        assert word in text
    assert "<dc:date>" not in text


def test_a_png_is_a_png(tmp_path: Path) -> None:
    draw_picture(GRAPH, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG\r\n")


def test_a_workflow_of_one_activity_has_a_picture(tmp_path: Path) -> None:
    draw_picture(Graph("one", (Node("a", "a", "MAP", "× 1"),), ()), tmp_path / "one.svg")
    assert (tmp_path / "one.svg").exists()


def test_another_format_is_refused_with_the_ones_that_are_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        draw_picture(GRAPH, tmp_path / "picture.gif")
    assert ".svg or .png" in str(caught.value)
    assert not (tmp_path / "picture.gif").exists()


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        draw_picture(GRAPH, tmp_path / "nowhere" / "picture.svg")
