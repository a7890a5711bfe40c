"""The default sizer: cheap where history is good, the declared request where it is not."""

from __future__ import annotations

import numpy as np
import pytest

from scicore.model.sizing import Allocation, Experience, Need, Sized
from scicore.sizing import Sizing
from scicore.sizing.base import Sizer

ASKED, MOST = Allocation(4, 2000), Allocation(32, 64_000)
MB = 10**6


def sizer(text: str = "quantile") -> Sizer:
    return Sizing(text).sizer(np.random.default_rng(0))


def seen(
    peak_mb: float, size: int | None = None, cpu_s: float = 40, cpus: int = 4, killed: bool = False
) -> Experience:
    return Experience(1, Allocation(cpus, 2000), ASKED, 10, cpu_s, peak_mb, killed, size)


def taught(*history: Experience) -> Sizer:
    one = sizer()
    for each in history:
        one.learn(each)
    return one


def decide(one: Sizer, size: int | None = None, failed: int = 0) -> Sized:
    return one.size(Need(ASKED, MOST, size, Allocation(4, failed) if failed else None))


def peaks(count: int, level: float = 100, noise: float = 0.03) -> list[Experience]:
    rng = np.random.default_rng(1)
    return [seen(level * float(rng.lognormal(0, noise))) for _ in range(count)]


def by_size(count: int) -> list[Experience]:
    """20 MB, and five bytes per byte of 10 to 100 MB of input."""
    rng = np.random.default_rng(2)
    sizes = [int(rng.uniform(10, 100) * MB) for _ in range(count)]
    return [seen((20 + 5 * size / MB) * float(rng.lognormal(0, 0.02)), size) for size in sizes]


def test_a_few_attempts_are_no_reason_to_change_what_is_declared() -> None:
    assert decide(taught(*peaks(4))).allocation == ASKED
    assert "4 attempts are known, 5 are needed" in decide(taught(*peaks(4))).because
    assert decide(taught(*peaks(5))).allocation != ASKED


def test_it_gives_a_little_more_than_was_ever_used() -> None:
    history = peaks(50)
    given = decide(taught(*history)).allocation.memory_mb
    most = max(each.peak_mb for each in history)
    assert most <= given < 1.2 * most


def test_it_gives_what_the_input_needs() -> None:
    one = taught(*by_size(40))
    for size in (12, 50, 95):
        given = decide(one, size * MB).allocation.memory_mb
        needed = 20 + 5 * size
        assert 1.02 * needed < given < 1.35 * needed


def test_an_input_somewhat_larger_than_any_seen_gets_more_than_the_law_says() -> None:
    given = decide(taught(*by_size(40)), 200 * MB).allocation.memory_mb
    assert 1.15 * 1020 < given < 2000


def test_an_input_far_larger_than_any_seen_gets_what_is_declared() -> None:
    sized = decide(taught(*by_size(40)), 3000 * MB)
    assert sized.allocation.memory_mb >= ASKED.memory_mb
    unvaried = taught(*(seen(100, 10 * MB) for _ in range(20)))
    assert decide(unvaried, 10 * MB).allocation.memory_mb < 200
    assert decide(unvaried, 40 * MB).allocation.memory_mb == ASKED.memory_mb
    assert "largest seen" in decide(unvaried, 40 * MB).because


@pytest.mark.parametrize("poison", [0.0, 100 / 1024, 100 * 1024, 100 * 1024**2, 5000.0, 1.0])
def test_one_poisoned_row_changes_next_to_nothing(poison: float) -> None:
    clean = decide(taught(*peaks(30))).allocation.memory_mb
    dirty = decide(taught(*peaks(15), seen(poison), *peaks(15))).allocation.memory_mb
    assert dirty == pytest.approx(clean, rel=0.15)


@pytest.mark.parametrize("poison", [0.0, 100 / 1024, 100 * 1024])
def test_much_poison_discredits_the_rest(poison: float) -> None:
    history = [*peaks(10), *(seen(poison) for _ in range(5))]
    sized = decide(taught(*history))
    assert sized.allocation == ASKED
    assert "cannot be true" in sized.because


def test_one_poisoned_row_does_not_bend_the_law_of_sizes() -> None:
    history = by_size(30)
    clean = decide(taught(*history), 60 * MB).allocation.memory_mb
    wrong = seen(8000, 11 * MB)
    dirty = decide(taught(*history, wrong), 60 * MB).allocation.memory_mb
    assert dirty == pytest.approx(clean, rel=0.25)


def test_two_kinds_of_peaks_stay_two() -> None:
    """A tenth needs eight times as much: everybody gets that, but no more."""
    history = [seen(800 if number % 10 == 0 else 100) for number in range(60)]
    assert 800 < decide(taught(*history)).allocation.memory_mb < 900


def test_what_was_killed_says_nothing_about_peaks() -> None:
    history = peaks(20)
    with_killed = [*history, *(seen(10, killed=True) for _ in range(20))]
    assert decide(taught(*with_killed)) == decide(taught(*history))


def test_after_a_death_it_gets_all_that_was_seen_or_twice_as_much() -> None:
    one = taught(*by_size(40))
    decide(one, 50 * MB)
    assert decide(one, 50 * MB, failed=300).allocation.memory_mb == 600
    assert decide(one, 50 * MB, failed=100).allocation.memory_mb > 270
    assert decide(one, 50 * MB, failed=1500).allocation.memory_mb == ASKED.memory_mb
    assert decide(one, 50 * MB, failed=2000).allocation.memory_mb == 4000


@pytest.mark.parametrize(
    ("cpu_s", "cpus"),
    [(1, 1), (9.5, 1), (39, 4), (38.5, 4), (20, 4)],
    ids=["waits", "sequential", "parallel", "nearly", "half"],
)
def test_cpus_go_only_where_the_program_hardly_notices(cpu_s: float, cpus: int) -> None:
    """Of 10 seconds on four CPUs. Half: a third of the work is sequential, two CPUs would cost."""
    one = taught(*(seen(100, cpu_s=cpu_s) for _ in range(20)))
    assert decide(one).allocation.cpus == cpus


def test_a_first_attempt_never_gets_less_than_a_program_can_start_with() -> None:
    assert decide(taught(*(seen(0.5) for _ in range(20)))).allocation.memory_mb >= 8
