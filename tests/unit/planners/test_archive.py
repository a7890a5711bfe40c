"""Schedules that none beats, kept while a planner searches."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scicore.model.front import non_dominated
from scicore.planners.archive import Archive

NOTHING = np.zeros(0, dtype=np.int64)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40))
@settings(max_examples=150, deadline=None)
def test_the_archive_holds_the_front_of_all_that_it_was_offered(
    points: list[tuple[int, int]],
) -> None:
    archive = Archive()
    for makespan_ms, cost_usd in points:
        archive.add(NOTHING, NOTHING, makespan_ms, cost_usd)
    kept = [(each.makespan_ms, each.cost_usd) for each in archive.members]
    assert kept == [points[index] for index in non_dominated(points)]
