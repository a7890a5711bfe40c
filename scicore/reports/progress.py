"""A run while it goes on: a live screen on a terminal, plain lines when nobody watches."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from scicore.provenance.moment import Moment
from scicore.reports.how_far import clock_words, plain_line

if TYPE_CHECKING:  # slow to import, and for nothing where there is no terminal
    from rich.live import Live

PLAIN_EVERY_S = 2.0


class Progress:
    """Shows one run moment after moment, on stderr."""

    def __init__(self) -> None:
        self._live: Live | None = None
        self._plain = ""
        self._plain_at = time.monotonic()

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True, highlight=False)
            if not console.is_dumb_terminal:
                self._live = Live(console=console, auto_refresh=False)
                self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    @property
    def due(self) -> bool:
        """Whether there would be anything to see; to look on for nothing only slows the run."""
        return self._live is not None or time.monotonic() - self._plain_at >= PLAIN_EVERY_S

    def show(self, moment: Moment) -> None:
        if self._live is None:
            self._show_plainly(moment)
            return
        from scicore.reports.live import screen

        size = self._live.console.size
        self._live.update(screen(moment, size.width, size.height), refresh=True)

    def _show_plainly(self, moment: Moment) -> None:
        """A line when something changed, but not more often than can be read."""
        counted = plain_line(moment)
        now = time.monotonic()
        if counted != self._plain and (
            not moment.going_on or now - self._plain_at >= PLAIN_EVERY_S
        ):
            self._plain, self._plain_at = counted, now
            clock = "" if moment.summary.makespan_s is None else f" ({clock_words(moment)})"
            print(counted + clock, file=sys.stderr, flush=True)
