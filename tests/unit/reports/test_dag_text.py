"""The picture in the terminal."""

from __future__ import annotations

from textwrap import dedent

from hypothesis import given
from hypothesis import strategies as st

from scicore.reports.dag_layout import Edge, Graph, Node
from scicore.reports.dag_text import draw_text


def drawn(text: str) -> str:
    return dedent(text).strip("\n")


CHAIN = Graph(
    "throws",
    (
        Node("d", "throws", "dataset", "24 tuples"),
        Node("throw", "throw", "MAP", "× 24"),
        Node("best", "best", "REDUCE", "≈ 4"),
    ),
    (Edge("d", "throw"), Edge("throw", "best", "flights")),
)


def test_a_chain_is_boxes_below_each_other_with_the_relations_beside_the_lines() -> None:
    assert draw_text(CHAIN, 80) == drawn("""
         ╭───────────╮
         │  throws   │
         │ 24 tuples │
         ╰─────┬─────╯
               │
               ▼
         ┌───────────┐
         │   throw   │
         │ MAP × 24  │
         └─────┬─────┘
               │ flights
               ▼
        ┌─────────────┐
        │    best     │
        │ REDUCE ≈ 4  │
        └─────────────┘
    """)


def letters(*pairs: str) -> Graph:
    nodes = tuple(Node(each, each, "MAP") for each in sorted(set("".join(pairs))))
    return Graph("g", nodes, tuple(Edge(pair[0], pair[1]) for pair in pairs))


def test_a_fork_and_a_join_share_their_lines() -> None:
    assert draw_text(letters("ab", "ac", "bd", "cd"), 80) == drawn("""
             ┌─────┐
             │  a  │
             │ MAP │
             └──┬──┘
                │
           ┌────┴────┐
           ▼         ▼
        ┌─────┐   ┌─────┐
        │  b  │   │  c  │
        │ MAP │   │ MAP │
        └──┬──┘   └──┬──┘
           │         │
           └────┐    │
                ├────┘
                ▼
             ┌─────┐
             │  d  │
             │ MAP │
             └─────┘
    """)


def test_lines_that_only_cross_are_not_joined() -> None:
    text = draw_text(letters("ax", "ay", "az", "bx", "by", "bz"), 80)
    crossing = next(line for line in text.splitlines() if "┴" in line and "┬" in line)
    assert "─│─" in crossing


def test_a_long_line_passes_beside_the_boxes() -> None:
    lines = draw_text(letters("ab", "bc", "ac"), 80).splitlines()
    beside = [line for line in lines if line.startswith("│  b  │") or "│  b  │" in line]
    assert len(beside) == 1
    assert beside[0].count("│") == 3


def test_what_goes_up_or_round_is_said_in_words() -> None:
    text = draw_text(letters("ab", "ba", "bb"), 80)
    assert text.endswith("also upwards: b → a\nfeeds itself, too: b")


def test_where_the_terminal_is_too_narrow_there_are_words() -> None:
    assert draw_text(CHAIN, 10) == drawn("""
        throws (24 tuples) ─▶ throw
        throw (MAP × 24) ─ flights ─▶ best
        best (REDUCE ≈ 4)
    """)


def test_a_workflow_of_nothing_is_no_picture() -> None:
    assert draw_text(Graph("empty", (), ()), 80) == ""


edges = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")).map("".join), max_size=12
)


@given(pairs=edges)
def test_any_graph_is_drawn_with_all_its_boxes_and_arrows(pairs: list[str]) -> None:
    pairs = list(dict.fromkeys(pairs))
    text = draw_text(letters(*pairs), 10_000)
    for letter in set("".join(pairs)):
        assert f"│  {letter}  │" in text
    forwards = [pair for pair in pairs if pair[0] != pair[1]]
    assert bool(forwards) == ("▼" in text)
