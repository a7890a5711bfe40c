"""What a keeper has written down survives it, whatever happens to the file's end."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scicore.engine.journal import Durable, Ended, Entry, Journal, JournalTaken
from scicore.execution.messages import AttemptEnded
from scicore.model.activation import Cause


def result(count: int) -> Ended:
    attempt = AttemptEnded(count, 1, Cause.FINISHED, 0.5, 1.5, rows=(("x" * count, "ü"),))
    return Ended(count, f"work.{count}", attempt)


def written(path: Path, entries: list[Entry]) -> bytes:
    journal = Journal(path)
    assert list(journal.read()) == []
    assert journal.write(*entries)
    journal.close()
    return path.read_bytes()


def read(path: Path) -> list[Entry]:
    journal = Journal(path)
    try:
        return list(journal.read())
    finally:
        journal.close()


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    entries: list[Entry] = [result(1), Durable(1), result(2)]
    written(tmp_path / "house" / "vm.journal", entries)
    assert read(tmp_path / "house" / "vm.journal") == entries


@given(cut=st.integers(0, 400), garbage=st.binary(max_size=20))
def test_a_torn_end_costs_only_what_was_torn(
    tmp_path_factory: pytest.TempPathFactory, cut: int, garbage: bytes
) -> None:
    path = tmp_path_factory.mktemp("house") / "vm.journal"
    entries: list[Entry] = [result(count) for count in range(1, 6)]
    whole = written(path, entries)
    path.write_bytes(whole[: max(0, len(whole) - cut)] + garbage)
    journal = Journal(path)
    left = list(journal.read())
    assert left == entries[: len(left)]
    assert len(left) == 5 or cut or garbage == b""
    assert journal.write(result(9))  # and it goes on behind the last whole frame
    journal.close()
    assert read(path) == [*left, result(9)]


def test_a_disk_that_takes_nothing_leaves_the_journal_whole(tmp_path: Path) -> None:
    path = tmp_path / "vm.journal"
    written(path, [result(1)])
    journal = Journal(Path("/dev/full"))
    assert not journal.write(result(2))
    journal.close()
    assert read(path) == [result(1)]


def test_a_journal_that_begins_anew_has_only_what_it_is_given(tmp_path: Path) -> None:
    path = tmp_path / "vm.journal"
    journal = Journal(path)
    journal.write(*(result(count) for count in range(1, 100)))
    journal.begin_anew(Durable(98), result(99))
    with pytest.raises(JournalTaken):  # the new file is held as the old one was
        Journal(path)
    journal.write(result(100))
    journal.close()
    assert read(path) == [Durable(98), result(99), result(100)]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["vm.journal"]


def test_a_journal_that_cannot_begin_anew_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "vm.journal"
    journal = Journal(path)
    journal.write(result(1))
    (tmp_path / "vm.fresh").mkdir()
    journal.begin_anew(Durable(1))
    journal.write(result(2))
    journal.close()
    assert read(path) == [result(1), result(2)]


def test_two_keepers_of_one_vm_cannot_both_hold_it(tmp_path: Path) -> None:
    first = Journal(tmp_path / "vm.journal")
    with pytest.raises(JournalTaken):
        Journal(tmp_path / "vm.journal")
    first.close()
    Journal(tmp_path / "vm.journal").close()
