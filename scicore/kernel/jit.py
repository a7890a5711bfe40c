"""Compiles the kernel's plain functions when they are first needed.

Importing numba takes half a second. A small problem is solved by the same functions, uncompiled,
before that; so nothing here is imported until there is enough work.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from functools import cache
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

FLAGS: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
INNER: dict[str, Any] = {"no_cpython_wrapper": True}
COMPILE_FROM = 30_000  # elementary steps (activations × VMs × rounds) for which numba pays
COMPILE_FROM_LOADED = 5_000  # the same once numba has been imported


def suited(function: Callable[P, R], steps: int) -> Callable[P, R]:
    """The function itself for a few steps, its compiled twin for many."""
    enough = COMPILE_FROM_LOADED if "numba" in sys.modules else COMPILE_FROM
    return compiled(function) if steps >= enough else function


def load() -> None:
    """Much work lies ahead: from here on, compiled code pays even for a few steps."""
    import numba  # noqa: F401


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    return cast("Callable[P, R]", _entry(cast(FunctionType, function)))


@cache
def _entry(function: FunctionType) -> object:
    """What Python calls: compiled once, then read from numba's cache in later processes."""
    import numba

    twin = _twin(function)
    try:
        return numba.njit(cache=True, **FLAGS)(twin)
    except RuntimeError:  # nowhere to keep the cache: compile in every process
        return numba.njit(**FLAGS)(twin)


@cache
def _callee(function: FunctionType) -> object:
    """What only compiled code calls: part of its callers' code, so without a cache of its own."""
    import numba

    return numba.njit(**FLAGS, **INNER)(_twin(function))


def _twin(function: FunctionType) -> FunctionType:
    """The same function, but calling compiled functions."""
    scope = dict(function.__globals__)
    scope.update((name, _callee(callee)) for name, callee in _callees(function))
    twin = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
    twin.__module__ = function.__module__
    # numba's cache looks at the file of this one function. The digest makes the cached code stale
    # when a function that it calls has changed, in whatever file.
    twin.__qualname__ = f"{function.__qualname__}-{_digest(function)}"
    return twin


def _callees(function: FunctionType) -> Iterator[tuple[str, FunctionType]]:
    """The functions of the project that this one calls, under the names that it uses."""
    for name in function.__code__.co_names:
        callee = function.__globals__.get(name)
        if isinstance(callee, FunctionType) and callee.__module__.startswith("scicore."):
            yield name, callee


@cache
def _digest(function: FunctionType) -> str:
    """Of what the function does, and of what all that it calls does."""
    code = function.__code__
    digest = hashlib.blake2b(code.co_code, digest_size=6)
    digest.update(repr((code.co_consts, code.co_names, function.__defaults__)).encode())
    for name, value in sorted(function.__globals__.items()):
        if name in code.co_names and isinstance(value, int | float):
            digest.update(f"{name} {value}".encode())  # constants are compiled in
    for name, callee in _callees(function):
        digest.update(f"{name} {_digest(callee)}".encode())
    return digest.hexdigest()
