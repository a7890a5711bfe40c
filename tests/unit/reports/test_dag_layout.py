"""Where the boxes of a picture go."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from scicore.reports.dag_layout import Edge, Graph, Layout, Node, lay_out

GAP = 2.0


def graph(*pairs: str, datasets: str = "") -> Graph:
    """Nodes are letters, edges are pairs of them."""
    letters = sorted(set("".join(pairs)) | set(datasets))
    nodes = [Node(each, each, "dataset" if each in datasets else "MAP") for each in letters]
    return Graph("g", tuple(nodes), tuple(Edge(pair[0], pair[1], pair[0]) for pair in pairs))


def layout(of: Graph) -> Layout:
    return lay_out(of, lambda node: 4.0 if node else 1.0, GAP)


def layers(of: Graph) -> list[list[str]]:
    """The nodes of each layer, from left to right; a dot is a line that passes."""
    return [[spot.node.id if spot.node else "." for spot in layer] for layer in layout(of).layers]


def test_a_chain_is_one_straight_line() -> None:
    found = layout(graph("ab", "bc", "cd"))
    assert [len(layer) for layer in found.layers] == [1, 1, 1, 1]
    assert {layer[0].x for layer in found.layers} == {2.0}
    assert found.width == 4.0


def test_a_layer_is_as_deep_as_the_longest_path_to_it() -> None:
    assert layers(graph("ab", "bc", "ac")) == [["a"], ["b", "."], ["c"]]


def test_a_dataset_stands_above_its_first_reader() -> None:
    assert layers(graph("ab", "bc", "xc", datasets="ax")) == [["a"], ["b", "x"], ["c"]]


def test_lines_do_not_cross_when_they_need_not() -> None:
    (_, below) = layers(graph("ax", "by", "cz", "ay"))
    assert below == ["x", "y", "z"]
    (above, below) = layers(graph("az", "by", "cx"))
    assert [above.index(each) for each in "abc"] == [below.index(each) for each in "zyx"]


def test_a_parent_stands_in_the_middle_of_its_children() -> None:
    found = layout(graph("ax", "ay", "az"))
    (parent,), children = found.layers
    assert parent.x == children[1].x
    assert parent.x - children[0].x == children[2].x - parent.x == 4.0 + GAP


def test_a_cycle_is_drawn_with_one_line_that_goes_back() -> None:
    found = layout(graph("ab", "bc", "ca"))
    assert [spot.node.id for layer in found.layers for spot in layer if spot.node] == list("abc")
    assert [route.edge.source for route in found.routes if route.backwards] == ["c"]


def test_what_feeds_itself_has_no_route() -> None:
    found = layout(graph("aa", "ab"))
    assert [(route.edge.source, route.edge.target) for route in found.routes] == [("a", "b")]


def test_nothing_has_a_layout_too() -> None:
    assert layout(Graph("empty", (), ())) == Layout((), (), 0.0)


edges = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh")).map("".join), max_size=16
)


@given(pairs=edges)
def test_every_node_has_a_place_of_its_own_and_every_line_goes_down(pairs: list[str]) -> None:
    of = graph(*dict.fromkeys(pairs))
    found = layout(of)
    placed = [spot.node.id for layer in found.layers for spot in layer if spot.node]
    assert sorted(placed) == [node.id for node in of.nodes]
    for layer in found.layers:
        for left, right in pairwise(layer):
            assert right.x - left.x >= (left.width + right.width + GAP) / 2 - 1e-6
    for route in found.routes:
        at = [spot.layer for spot in route.spots]
        assert at == list(range(at[0], at[-1] + 1))
        assert all(spot.node is None for spot in route.spots[1:-1])


@given(pairs=edges)
def test_the_same_graph_always_looks_the_same(pairs: list[str]) -> None:
    of = graph(*dict.fromkeys(pairs))
    first, second = layout(of), layout(of)
    assert [[spot.x for spot in layer] for layer in first.layers] == [
        [spot.x for spot in layer] for layer in second.layers
    ]
