"""How far a slave's clock is from the master's: told by their first words, never made up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scicore.engine.master import TRUSTED_S, ahead_s

WAYS_S = st.floats(0.0, 2.0)  # also the time that a word waits for somebody who is busy
NOW = 1_800_000_000.0


def told(ahead: float, there_s: float, between_s: float, back_s: float) -> float:
    """What the master makes of a slave whose clock is `ahead`."""
    received_at = NOW + there_s + ahead
    sent_at = received_at + between_s
    return ahead_s(NOW, received_at, sent_at, NOW + there_s + between_s + back_s)


@given(there_s=WAYS_S, between_s=WAYS_S, back_s=WAYS_S)
def test_the_same_clock_is_never_corrected(there_s: float, between_s: float, back_s: float) -> None:
    """However long the master was busy when the slave's word came."""
    assert told(0.0, there_s, between_s, back_s) == 0.0


@given(ahead=st.floats(-3600.0, 3600.0), there_s=WAYS_S, between_s=WAYS_S, back_s=WAYS_S)
def test_a_correction_is_wrong_by_half_of_both_ways_at_most(
    ahead: float, there_s: float, between_s: float, back_s: float
) -> None:
    corrected = told(ahead, there_s, between_s, back_s)
    doubt_s = (there_s + back_s) / 2
    if corrected:
        assert corrected == pytest.approx(ahead, abs=doubt_s + 1e-5)
    else:
        assert abs(ahead) <= TRUSTED_S + 2 * doubt_s + 1e-5
