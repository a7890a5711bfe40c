"""What activations will get when they are sized, as far as a plan can know."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from scicore.algebra.forecast import Forecast
from scicore.cli.programs import programs
from scicore.engine.process import memory_bytes
from scicore.model.cloud import Fleet
from scicore.model.sizing import Allocation, Need, largest
from scicore.model.workflow import QUERIES, Workflow
from scicore.provenance.sizes import experiences
from scicore.sizing import Sizing
from scicore.sizing.book import Book


def planned_sizes(
    connection: Connection,
    workflow: Workflow,
    fleet: Fleet,
    sizing: str,
    expected: Forecast,
    inputs: Sequence[int | None],
) -> list[Allocation]:
    """Of every expected activation; `inputs` are the bytes that each will read."""
    book = Book(Sizing(sizing), seed=0)
    for activity, seen in experiences(connection, workflow.tag, programs(workflow)):
        book.learn(activity, seen)
    ceiling = largest(fleet, memory_bytes() // 2**20)
    as_they_are = {
        activity.tag
        for activity in workflow.activities
        if activity.warm or activity.operator in QUERIES
    }
    sizes = []
    for tag, request, size in zip(expected.activities, expected.requests, inputs, strict=True):
        asked = Allocation(request.cpus, request.memory_mb)
        if tag in as_they_are:
            sizes.append(asked)
        else:
            sizes.append(book.size(tag, Need(asked, ceiling, size)).allocation)
    return sizes
