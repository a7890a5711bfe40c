"""Bytes along the edges of a workflow."""

from __future__ import annotations

from scicore.estimation.data import Files, edge_bytes, input_bytes
from scicore.model.trace import listed_bytes, listed_files

ACTIVITIES = ("make", "make", "use")
EDGES = ((0, 2), (1, 2))


def test_a_file_goes_along_the_edge_from_who_writes_to_who_reads_it() -> None:
    declared = {
        0: Files({}, {"a": 10, "log": 99}),
        1: Files({}, {"b": 20}),
        2: Files({"a": 11, "b": 20, "external": 5}, {}),
    }
    assert edge_bytes(ACTIVITIES, EDGES, declared, {}) == [10, 20]


def test_an_edge_without_a_shared_file_carries_nothing() -> None:
    declared = {0: Files({}, {"a": 10}), 1: Files({}, {}), 2: Files({"c": 1}, {})}
    assert edge_bytes(ACTIVITIES, EDGES, declared, {("make", "use"): 7.0}) == [0, 0]


def test_where_nothing_is_declared_what_was_measured_counts() -> None:
    assert edge_bytes(ACTIVITIES, EDGES, {}, {("make", "use"): 7.4}) == [7, 7]
    assert edge_bytes(ACTIVITIES, EDGES, {}, {}) == [0, 0]


def test_an_activation_reads_what_comes_from_outside_and_along_its_edges() -> None:
    assert input_bytes(3, EDGES, [10, 20], {0: 100, 2: 1}) == [100, None, 31]
    assert input_bytes(3, EDGES, [0, 0], {}) == [None, None, None]


def test_files_of_a_traces_tuple_are_listed_with_their_sizes() -> None:
    assert listed_files("a.fits:10 b%20c:0 odd:name:3") == {"a.fits": 10, "b%20c": 0, "odd:name": 3}
    assert listed_bytes("a.fits:10 b:5") == 15
    assert listed_files("nonsense :5 a:-1 b:x") == {}
