"""A warm Python process that calls one function, activation after activation.

    keeper → worker   Setup, once; then lists of Calls
    worker → keeper   an Answer for each call, in their order

Answers are put into a pipe one by one, so that whatever happens to this process, those are safe
that it has given. The keeper sleeps meanwhile: a bell wakes it when there is nothing left to do,
or when answers have waited for long enough.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import struct
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from importlib import import_module

import msgspec
from msgspec import Struct

from scicore.algebra.output import BadOutput
from scicore.algebra.returned import Returned
from scicore.model.activation import Cause
from scicore.model.workflow import Activity, Row

RING_S = 0.005  # answers wait for so long before the keeper is woken
LOOK_S = 0.001  # calls that take longer are worth a look at the memory
TAIL = 4000  # characters of a traceback that are kept
HEAD = struct.Struct("=I")  # the length in front of each message


class Setup(Struct, frozen=True):
    activity: Activity
    workflow_directory: str  # modules are looked for here


class Call(Struct, frozen=True, array_like=True, gc=False):
    row: Row
    directory: str = ""  # the activation's own, if it has one
    kept: Row = ()  # what an output may take over, where that is not the row


class Answer(Struct, frozen=True, array_like=True, gc=False):
    cause: Cause
    started_at: float
    ended_at: float
    cpu_s: float
    peak_rss_bytes: int  # of the process so far
    rows: tuple[Row, ...] = ()
    error: str = ""


READY = Answer(Cause.FINISHED, 0.0, 0.0, 0.0, 0)  # the first one: it is about to take calls

encode = msgspec.msgpack.Encoder().encode
decode_setup = msgspec.msgpack.Decoder(Setup).decode
decode_calls = msgspec.msgpack.Decoder(list[Call]).decode
decode_answer = msgspec.msgpack.Decoder(Answer).decode


def framed(data: bytes) -> bytes:
    return HEAD.pack(len(data)) + data


class _Mouth:
    """Where answers go."""

    def __init__(self, pipe: int, bell: int) -> None:
        self._pipe = pipe
        self._bell = bell
        self._silent = True  # all that was said has been announced
        self._rang_at = time.monotonic()
        os.set_blocking(pipe, False)

    def say(self, answer: Answer) -> None:
        left = memoryview(framed(encode(answer)))
        while left:
            try:
                left = left[os.write(self._pipe, left) :]
            except BlockingIOError:  # the pipe is full: the keeper is to empty it
                self.ring()
                select.select([], [self._pipe], [])
        self._silent = False

    def ring_if_late(self) -> None:
        if not self._silent and time.monotonic() - self._rang_at > RING_S:
            self.ring()

    def ring(self) -> None:
        self._silent = True
        self._rang_at = time.monotonic()
        os.eventfd_write(self._bell, 1)


class _Caller:
    def __init__(self, setup: Setup) -> None:
        self._activity = setup.activity
        self._names = setup.activity.input.field_names
        self._returned = Returned(setup.activity)
        self._function: Callable[[dict[str, str]], object] | None = None
        self._peak_rss_bytes = _peak_rss_bytes()
        self._home = os.getcwd()  # noqa: PTH109

    def answer(self, call: Call) -> Answer:
        started_at, begun, cpu_s = time.time(), time.perf_counter(), time.process_time()
        cause, error = Cause.FINISHED, ""
        rows: tuple[Row, ...] = ()
        try:
            if call.directory:
                os.chdir(call.directory)
            if self._function is None:
                self._function = self._find()
            returned = self._function(dict(zip(self._names, call.row, strict=True)))
            rows = self._returned.rows(returned, call.kept or call.row)
        except BadOutput as problem:
            cause, error = Cause.BAD_OUTPUT, f"scicumulus: {problem}"
        except BaseException as problem:  # sys.exit() fails an activation, not the worker
            cause, error = _cause_of(problem), _told(problem)
        took_s = time.perf_counter() - begun
        cpu_s = time.process_time() - cpu_s
        if took_s > LOOK_S:
            self._peak_rss_bytes = _peak_rss_bytes()
        if call.directory:
            os.chdir(self._home)
        ended_at = started_at + took_s
        return Answer(cause, started_at, ended_at, cpu_s, self._peak_rss_bytes, rows, error)

    def _find(self) -> Callable[[dict[str, str]], object]:
        module, _, name = self._activity.function.rpartition(".")
        function: Callable[[dict[str, str]], object] = getattr(import_module(module), name)
        return function


def _cause_of(problem: BaseException) -> Cause:
    return Cause.OUT_OF_MEMORY if isinstance(problem, MemoryError) else Cause.EXIT_CODE


def _told(problem: BaseException) -> str:
    """The traceback from the function on: our own frames help nobody."""
    trace = problem.__traceback__
    lines = traceback.format_exception(type(problem), problem, trace and (trace.tb_next or trace))
    text = "".join(lines).strip()[-TAIL:].replace("\x00", "\ufffd")
    return text.encode("utf-8", "backslashreplace").decode()


def _peak_rss_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _messages(pipe: int) -> Iterator[bytes]:
    with os.fdopen(pipe, "rb") as stream:
        while len(head := stream.read(HEAD.size)) == HEAD.size:
            yield stream.read(*HEAD.unpack(head))


def serve(calls: int, answers: int, bell: int) -> None:
    """Until the keeper closes its end."""
    messages = _messages(calls)
    caller = _Caller(setup := decode_setup(next(messages)))
    sys.path.insert(0, setup.workflow_directory)
    mouth = _Mouth(answers, bell)
    mouth.say(READY)
    for message in messages:
        for call in decode_calls(message):
            mouth.ring_if_late()
            answer = caller.answer(call)
            try:
                mouth.say(answer)
            except UnicodeEncodeError as error:  # half of a character: no text can hold it
                problem = f"scicumulus: an output value is no text: {error}"
                mouth.say(
                    Answer(
                        Cause.BAD_OUTPUT,
                        answer.started_at,
                        answer.ended_at,
                        answer.cpu_s,
                        answer.peak_rss_bytes,
                        error=problem,
                    )
                )
        with contextlib.suppress(OSError, ValueError):  # the function may have closed it
            sys.stdout.flush()
        mouth.ring()


if __name__ == "__main__":
    serve(*map(int, sys.argv[1:4]))
