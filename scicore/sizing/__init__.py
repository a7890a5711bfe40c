"""How much an activation gets: one file per sizer, each beside its paper."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from scicore.errors import UsageError
from scicore.model.parameters import Parameters, read_settings
from scicore.sizing.base import Sizer
from scicore.sizing.feedback import Feedback
from scicore.sizing.fixed import Fixed
from scicore.sizing.gradient_bandit import GradientBandit
from scicore.sizing.q_learning import QLearning
from scicore.sizing.quantile import Quantile

SIZERS: Mapping[str, type[Sizer]] = {
    sizer.name: sizer for sizer in (Quantile, Fixed, Feedback, GradientBandit, QLearning)
}
DEFAULT = Quantile.name
OFF = "off"
ON = "on"  # the default one


class Sizing:
    """What the user wrote: NAME, or NAME,PARAMETER=VALUE,…; makes a sizer per activity."""

    def __init__(self, text: str) -> None:
        name, *words = (word.strip() for word in text.split(","))
        name = DEFAULT if name == ON else name
        if name not in SIZERS:
            known = ", ".join(SIZERS)
            raise UsageError(f"there is no sizer {name!r}", f"known: {known}; {OFF} = none")
        settings = {}
        for word in words:
            parameter, equals, value = (part.strip() for part in word.partition("="))
            if not equals or not parameter:
                raise UsageError(
                    f"sizing {text!r}: found {word!r}, expected PARAMETER=VALUE",
                    f"write it as {name},PARAMETER=VALUE",
                )
            settings[parameter] = value
        self.name = name
        self.text = ",".join([name, *(f"{key}={value}" for key, value in settings.items())])
        self._kind = SIZERS[name]
        self.parameters: Parameters = read_settings(self._kind.kind, name, settings)

    @property
    def looks_again(self) -> bool:
        return self._kind.looks_again

    def sizer(self, rng: np.random.Generator) -> Sizer:
        return self._kind(self.parameters, rng)


def sizing(text: str) -> Sizing | None:
    """None where sizing is off."""
    return None if text.strip() in ("", OFF) else Sizing(text)
