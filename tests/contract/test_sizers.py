"""What every sizer promises, whatever its algorithm."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scicore.errors import UsageError
from scicore.model.sizing import Allocation, Experience, Need, Sized
from scicore.sizing import DEFAULT, SIZERS, Sizing, sizing
from scicore.sizing.base import Sizer

every_sizer = pytest.mark.parametrize("name", SIZERS)
REQUEST, CEILING = Allocation(4, 1000), Allocation(32, 125_000)
OPTIONS = (
    "q-learning,epsilon=inverse",
    "q-learning,agents=separate",
    "q-learning,trace=0.9,replay=4,sizes=8",
    "q-learning,penalty=text,cpu_chunks=4,memory_chunks=4",
    "gradient-bandit,chunks=4,reach=1",
    "feedback,training_runs=3",
    "quantile,least=3,price=1",
)


def new(text: str, seed: int = 0) -> Sizer:
    return Sizing(text).sizer(np.random.default_rng(seed))


def live(sizer: Sizer, runs: int, seed: int = 0, noise: float = 0.05) -> list[Sized]:
    """A program that needs 50 MB and 4 bytes per byte of input, and one of its CPUs."""
    rng = np.random.default_rng(seed)
    decided = []
    for run in range(runs):
        size = int(rng.uniform(1e7, 1e8))
        peak_mb = (50 + 4e-6 * size) * float(rng.normal(1, noise))
        need = Need(REQUEST, CEILING, size)
        sized = sizer.size(need)
        for _ in range(20):
            decided.append(sized)
            given_mb = sized.allocation.memory_mb
            killed = bool(given_mb) and given_mb < peak_mb
            seen_mb = min(peak_mb, given_mb) if killed else peak_mb
            sizer.learn(Experience(run, sized.allocation, REQUEST, 10, 9, seen_mb, killed, size))
            if not killed:
                break
            sized = sizer.size(Need(REQUEST, CEILING, size, sized.allocation))
        else:
            pytest.fail("it never got enough")
    return decided


@every_sizer
def test_is_a_pure_function_of_its_history_and_seed(name: str) -> None:
    one, other = new(name), new(name)
    assert live(one, 60) == live(other, 60)


@pytest.mark.parametrize("text", [*SIZERS, *OPTIONS])
def test_every_activation_gets_enough_in_the_end_and_its_reason(text: str) -> None:
    for sized in live(new(text), 120):
        assert 1 <= sized.allocation.cpus <= CEILING.cpus
        assert 0 < sized.allocation.memory_mb <= CEILING.memory_mb
        assert sized.because


allocations = st.builds(Allocation, st.integers(1, 64), st.integers(0, 10**6))
figures = st.one_of(
    st.floats(0.001, 1e6),
    st.sampled_from([0.0, -1.0, math.nan, math.inf, 1e-9, 1e15]),
)
experiences = st.builds(
    Experience,
    st.integers(0, 200),
    allocations,
    allocations,
    figures,
    figures,
    figures,
    st.booleans(),
    st.one_of(st.none(), st.integers(0, 10**13)),
)


@every_sizer
@settings(max_examples=60, deadline=None)
@given(
    history=st.lists(experiences, max_size=30),
    request=allocations,
    ceiling=st.builds(Allocation, st.integers(1, 64), st.integers(0, 10**6)),
    size=st.one_of(st.none(), st.integers(0, 10**13)),
)
def test_nonsense_in_the_history_never_breaks_it(
    name: str,
    history: list[Experience],
    request: Allocation,
    ceiling: Allocation,
    size: int | None,
) -> None:
    sizer = new(name)
    for seen in history:
        sizer.learn(seen)
    sized = sizer.size(Need(request, ceiling, size))
    for _ in range(40):
        given_ = sized.allocation
        assert 1 <= given_.cpus <= ceiling.cpus
        assert given_.memory_mb >= 0
        assert not ceiling.memory_mb or given_.memory_mb <= ceiling.memory_mb
        again = sizer.size(Need(request, ceiling, size, given_))
        at_most = ceiling.memory_mb and given_.memory_mb >= ceiling.memory_mb
        unlimited = given_.memory_mb == 0 or again.allocation.memory_mb == 0
        assert at_most or unlimited or again.allocation.memory_mb > given_.memory_mb
        sized = again


@every_sizer
def test_a_history_read_back_leads_on_from_where_it_stood(name: str) -> None:
    """Runs are learned from in the database: the sizer of the next run starts from attempts."""
    rng = np.random.default_rng(7)
    first = new(name)
    attempts = []
    for run in range(40):
        sized = first.size(Need(REQUEST, CEILING, 50_000_000))
        killed = 0 < sized.allocation.memory_mb < 250
        peak_mb = 120 + float(rng.normal(0, 4))
        seen = Experience(run, sized.allocation, REQUEST, 10, 9, peak_mb, killed, 50_000_000)
        attempts.append(seen)
        first.learn(seen)
    second = new(name, seed=1)
    for seen in attempts:
        second.learn(seen)
    third = new(name, seed=1)
    for seen in attempts:
        third.learn(seen)
    need = Need(REQUEST, CEILING, 50_000_000)
    assert [second.size(need) for _ in range(5)] == [third.size(need) for _ in range(5)]
    if name not in ("gradient-bandit", "q-learning"):  # nothing is left to chance
        assert second.size(need) == first.size(need)


@pytest.mark.parametrize("name", ["fixed", "quantile"])
def test_without_history_the_declared_request_stands(name: str) -> None:
    assert new(name).size(Need(REQUEST, CEILING)).allocation == REQUEST


def test_the_default_is_the_conservative_one() -> None:
    on = sizing("on")
    assert on is not None
    assert on.name == DEFAULT == "quantile"
    assert sizing("off") is None
    assert sizing("") is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("best", "no sizer 'best'"),
        ("quantile,price", "expected PARAMETER=VALUE"),
        ("quantile,prize=3", "did you mean 'price'"),
        ("quantile,price=-1", "from 0 to 1000"),
    ],
)
def test_a_wrong_wish_is_explained(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        sizing(text)
