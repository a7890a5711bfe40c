"""What users write on the command line, and what it means."""

from __future__ import annotations

import click
import pytest

from scicore.cli.options import duration_s, share
from scicore.cli.planning import read_settings_option
from scicore.errors import UsageError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5s", 5), ("2m", 120), ("500ms", 0.5), ("1h", 3600), ("3", 3), ("1.5 s", 1.5), (".5S", 0.5)],
)
def test_times_have_units(text: str, seconds: float) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "5 days", "-1s", "nan", "5s5"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="expected a time such as 5s"):
        duration_s(text)


@pytest.mark.parametrize(("text", "value"), [("0.02", 0.02), ("2%", 0.02), ("0", 0), ("100%", 1)])
def test_shares_may_be_percentages(text: str, value: float) -> None:
    assert share(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["2", "-0.1", "101%", "some", "%", "nan"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="expected a share"):
        share(text)


def test_parameters_are_names_with_values() -> None:
    words = ["alpha=0.5", " reward = paper ", "empty="]
    assert read_settings_option(words) == {"alpha": "0.5", "reward": "paper", "empty": ""}
    with pytest.raises(UsageError, match="expected NAME=VALUE"):
        read_settings_option(["=3"])
