"""Fixed: every activation gets what the workflow declares.

Paper: the default configuration that the thesis compares with (chapter 5).
Idea: the user knows best. The declared values are enforced and recorded like learned ones.
Symbols: none.
Differences: after a death for lack of memory, the retry gets twice as much.
"""

from __future__ import annotations

from scicore.model.sizing import Experience, Need, Sized
from scicore.sizing.base import Sizer


class Fixed(Sizer):
    name = "fixed"

    def first(self, need: Need) -> Sized:
        return Sized(need.request, "as the workflow declares")

    def take(self, seen: Experience) -> None:
        """There is nothing to learn."""
