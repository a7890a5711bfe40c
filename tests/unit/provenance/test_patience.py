"""A database that is away is waited for; what it will never take is not tried again."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy.exc import IntegrityError

from scicore.errors import DatabaseError, UsageError
from scicore.provenance import patience
from scicore.provenance.patience import patiently


class Database:
    """It is away for so many questions."""

    def __init__(self, away: int, error: Exception | None = None) -> None:
        self.away = away
        self.error = error or DatabaseError("it is restarting")
        self.asked = self.prepared = 0

    def work(self) -> str:
        self.asked += 1
        if self.asked <= self.away:
            raise self.error
        return "done"

    def again(self) -> None:
        self.prepared += 1


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_AGAIN_S", (0.001, 0.002))
    monkeypatch.setattr(patience, "_SAY_AFTER_S", 0.0)


def test_it_is_asked_again_until_it_answers(capsys: pytest.CaptureFixture[str]) -> None:
    database = Database(away=3)
    answer = patiently(database.work, 60.0, meanwhile="we wait", again=database.again)
    assert (answer, database.asked, database.prepared) == ("done", 4, 3)
    told = capsys.readouterr().err
    assert told.count("(it is restarting); we wait") == 1
    assert told.count("is back") == 1


def test_patience_has_an_end() -> None:
    database = Database(away=10_000)
    with pytest.raises(DatabaseError, match="restarting"):
        patiently(database.work, 0.02, meanwhile="we wait")
    assert database.asked > 1


def test_who_is_in_a_hurry_does_not_wait() -> None:
    database, hurry = Database(away=1), threading.Event()
    hurry.set()
    with pytest.raises(DatabaseError):
        patiently(database.work, 60.0, meanwhile="we wait", hurry=hurry)
    assert database.asked == 1


@pytest.mark.parametrize(
    "error", [IntegrityError("INSERT", {}, Exception("twice")), UsageError("another master")]
)
def test_what_would_not_help_is_not_tried_again(error: Exception) -> None:
    database = Database(away=1, error=error)
    with pytest.raises(type(error)):
        patiently(database.work, 60.0, meanwhile="we wait")
    assert database.asked == 1
