"""Faults of all kinds, alone and several at once, at seeded moments: nothing is lost, nothing is
done twice. `bench/soak.py` is the same for as long as you like."""

from __future__ import annotations

import os
from collections.abc import Callable

from tests.acceptance.console import Console
from tests.acceptance.soak import soak
from tests.conftest import TOLD

FAULTS = int(os.environ.get("SOAK_FAULTS", "200"))
SEED = int(os.environ.get("SOAK_SEED", "5"))


def test_no_combination_of_faults_loses_a_result(
    console: Console, record_property: Callable[[str, object], None]
) -> None:
    done = soak(console, FAULTS, SEED, say=lambda text: None)
    record_property(
        TOLD,
        f"soak: {done.survived} faults survived over {done.runs} runs, "
        f"{done.lost} results lost, {done.doubled} programs run again for nothing",
    )
    assert done.problems == []
    assert (done.lost, done.doubled) == (0, 0)
    assert done.survived >= FAULTS
