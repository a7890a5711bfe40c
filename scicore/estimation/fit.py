"""The simplest rule that an activity's measured runtimes on one VM type follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scicore.estimation.robust import Line, Values, line_through, spread
from scicore.model.estimate import Source

ENOUGH = 8  # points, before a line is believed
CLEAR = 0.5  # Kendall's tau, before a line is believed
RATIO_GAIN, LINE_GAIN = 0.9, 0.75  # by which what is left unexplained must shrink
_SMALLEST = 0.1  # of the shortest runtime seen: no line predicts less


@dataclass(frozen=True, slots=True)
class Points:
    """Attempts, or activations to come; nan = not known."""

    declared_s: Values
    input_bytes: Values


@dataclass(frozen=True, slots=True)
class Fit:
    source: Source
    level_s: float  # the median of all attempts
    factor: float = 1.0  # measured over declared runtimes
    line: Line | None = None
    least_s: float = 0.0

    def at(self, points: Points) -> Values:
        """Where what the rule needs is not known, the median stands in."""
        x = points.input_bytes if self.source is Source.SIZE else points.declared_s
        if self.line is not None:
            values = np.maximum(self.line.at(x), self.least_s)
        elif self.source is Source.CORRECTED:
            values = x * self.factor
        else:
            values = np.full(len(x), self.level_s)
        return np.where(np.isnan(values), self.level_s, values)


def fit(points: Points, runtime_s: Values) -> Fit:
    """The median, unless a rule that knows more leaves clearly less unexplained."""
    best = Fit(Source.ACTIVITY, float(np.median(runtime_s)))
    left_s = spread(runtime_s - best.level_s)
    for rule, gain in _rules(points, runtime_s, best.level_s):
        rule_left_s = spread(runtime_s - rule.at(points))
        if rule_left_s < gain * left_s:
            best, left_s = rule, rule_left_s
    return best


def _rules(points: Points, runtime_s: Values, level_s: float) -> list[tuple[Fit, float]]:
    rules: list[tuple[Fit, float]] = []
    declared = points.declared_s
    if len(declared) and (declared > 0).all():
        factor = float(np.median(runtime_s / declared))
        rules.append((Fit(Source.CORRECTED, level_s, factor), RATIO_GAIN))
    for source, x in ((Source.CORRECTED, declared), (Source.SIZE, points.input_bytes)):
        known = ~np.isnan(x)
        if known.sum() < ENOUGH:
            continue
        line = line_through(x[known], runtime_s[known])
        if line is not None and line.slope > 0 and line.agreement >= CLEAR:
            least_s = _SMALLEST * float(runtime_s.min())
            rules.append((Fit(source, level_s, line=line, least_s=least_s), LINE_GAIN))
    return rules


def corrected(points: Points, runtime_s: Values) -> Fit:
    """Too few attempts to compare rules, but each tuple declares its own runtime: it is believed,
    in the measure in which it was right so far."""
    told = points.declared_s > 0
    factor = float(np.median(runtime_s[told] / points.declared_s[told])) if told.any() else 1.0
    return Fit(Source.CORRECTED, float(np.median(runtime_s)), factor)
