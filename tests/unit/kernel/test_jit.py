"""When functions are compiled, and that a small plan never waits for numba."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import FunctionType

from scicore.kernel import jit, strict
from scicore.kernel.jit import COMPILE_FROM, suited

ROOT = Path(__file__).parents[3]

SMALL_PLAN = """
import sys
import numpy as np
from scicore.model.cloud import parse_fleet
from scicore.model.problem import Problem
from scicore.planners import planner
task = Problem(tuple("abcde"), tuple("abcde"), ((0, 1),), parse_fleet("3xlocal", {}),
               np.ones((5, 3)))
planner(sys.argv[1]).plan(task, 0)
assert "numba" not in sys.modules
"""


def test_a_small_plan_is_made_without_numba() -> None:
    for name in ("fcfs", "heft", "reassign-plus"):
        subprocess.run([sys.executable, "-c", SMALL_PLAN, name], check=True, cwd=ROOT)


def test_a_few_steps_run_uncompiled_and_many_compiled() -> None:
    assert suited(strict.decode, 0) is strict.decode
    assert suited(strict.decode, COMPILE_FROM) is jit.compiled(strict.decode)


def variant(line: str, constant: int = 1) -> FunctionType:
    """`outer`, which calls `inner`, which consists of this line."""
    scope: dict[str, object] = {"__name__": "scicore.kernel.made", "CONSTANT": constant}
    exec(f"def inner(x):\n  {line}\ndef outer(x):\n  return inner(x)", scope)
    outer = scope["outer"]
    assert isinstance(outer, FunctionType)
    return outer


def test_code_is_compiled_again_when_what_it_calls_has_changed() -> None:
    digest = jit._digest(variant("return x + CONSTANT"))
    assert digest == jit._digest(variant("return x + CONSTANT"))
    assert digest != jit._digest(variant("return x - CONSTANT"))
    assert digest != jit._digest(variant("return x + CONSTANT", constant=2))
