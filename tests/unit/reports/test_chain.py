"""The critical path of runs that have happened."""

from __future__ import annotations

from scicore.provenance.account import Try
from scicore.reports.html.chain import Step, critical_chain


def attempt(
    name: str, start_s: float, finish_s: float, vm: str = "a", cause: str = "finished"
) -> Try:
    return Try(name, name.partition(".")[0], vm, start_s, finish_s, cause, None, None, None)


def told(steps: tuple[Step, ...]) -> list[tuple[str, str, str]]:
    return [(step.attempt.activation, step.after, step.of) for step in steps]


def test_without_a_run_there_is_no_path() -> None:
    assert critical_chain([], {}) == ()


def test_a_chain_of_data_is_followed_over_vms() -> None:
    tries = [attempt("a.1", 0.5, 2), attempt("b.1", 2, 5, "b"), attempt("x.1", 0, 1, "b")]
    chain = critical_chain(tries, {"b.1": "a.1"})
    assert told(chain) == [("a.1", "start", ""), ("b.1", "data", "a.1")]
    assert [step.gap_s for step in chain] == [0.5, 0.0]


def test_who_waits_for_a_slot_is_there_because_of_who_held_it() -> None:
    tries = [attempt("a.1", 0, 1), attempt("a.2", 1, 4), attempt("b.1", 4.01, 6)]
    assert told(critical_chain(tries, {"b.1": "a.1"})) == [
        ("a.1", "start", ""),
        ("a.2", "slot", "a.1"),
        ("b.1", "slot", "a.2"),
    ]


def test_an_attempt_that_failed_is_part_of_the_path() -> None:
    tries = [attempt("a.1", 0, 3, cause="exit code"), attempt("a.1", 4, 6, "b")]
    chain = critical_chain(tries, {})
    assert told(chain) == [("a.1", "start", ""), ("a.1", "retry", "a.1")]
    assert chain[1].gap_s == 1.0


def test_the_parts_of_a_path_add_up_to_its_end() -> None:
    tries = [attempt(f"a.{n}", n * 0.7, n * 0.7 + 0.6, vm=f"v{n % 3}") for n in range(200)]
    fed_by = {f"a.{n}": f"a.{n - 4}" for n in range(4, 200)}
    chain = critical_chain(tries, fed_by)
    assert sum(step.gap_s + step.took_s for step in chain) == tries[-1].finish_s


def test_attempts_that_took_no_time_do_not_make_it_go_in_circles() -> None:
    tries = [attempt(f"a.{n}", 1.0, 1.0) for n in range(5)]
    assert len(critical_chain(tries, {"a.1": "a.2", "a.2": "a.1"})) == 1
