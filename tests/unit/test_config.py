"""Settings of the environment: a number of seconds, or a clear no."""

from __future__ import annotations

import pytest

from scicore import config
from scicore.errors import UsageError


def test_what_is_not_set_has_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(config.LEASE, raising=False)
    assert config.seconds(config.LEASE, 30.0) == 30.0
    monkeypatch.setenv(config.LEASE, "2.5")
    assert config.seconds(config.LEASE, 30.0) == 2.5


@pytest.mark.parametrize("text", ["soon", "-1", "0", "nan", "inf"])
def test_what_is_no_time_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(config.KEEP, text)
    with pytest.raises(UsageError, match=f"SCICUMULUS_KEEP_S: found '{text}'"):
        config.seconds(config.KEEP, 300.0)
