"""Runtime estimates for activations to come. Pure: the caller reads the provenance."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from scicore.estimation.evidence import Estimates, Expected
from scicore.estimation.fit import Points, corrected, fit
from scicore.estimation.history import History
from scicore.estimation.robust import Values, spread, spread_within
from scicore.model.activation import Observation
from scicore.model.cloud import Fleet, VmType
from scicore.model.estimate import Estimate, Source

SCALE = 2.0  # a declared runtime this far outside of those that were run is another matter
FEW = 3  # attempts, below which rules cannot be compared
LEAST_S = 0.001  # planners count in milliseconds: what took none would all go to one VM


def estimate_runtimes(
    expected: Sequence[Expected],
    fleet: Fleet,
    observations: Iterable[Observation],
    speeds: Mapping[str, float] = {},
    prior_s: float = 1.0,
) -> Estimates:
    """The [activation, VM] matrix of expected runtimes, and where it comes from.

    Attempts on the same VM type come first, else those on other types, scaled by how the types
    compare (`speeds`: as declared, for types that are not in the fleet). Within them an
    activation's own attempts count most; beside and instead of them the activity's: a line over
    the input's size or over declared runtimes where there is one, else the median. Without any
    attempts the declared runtime at the type's speed is taken, and `prior_s` in place of it.
    Only finished attempts are handed in, and medians let no stalled VM spoil an estimate.
    """
    known = {**speeds, **{vm.type.name: vm.type.speed for vm in fleet.vms}}
    history = History.of(observations, known)
    rows: defaultdict[str, list[int]] = defaultdict(list)
    for index, activation in enumerate(expected):
        rows[activation.activity].append(index)
    types = {vm.type.name: vm.type for vm in fleet.vms}
    columns: defaultdict[str, list[int]] = defaultdict(list)
    for column, vm in enumerate(fleet.vms):
        columns[vm.type.name].append(column)
    runtime_s = np.zeros((len(expected), len(fleet.vms)))
    by_activity = []
    for indices in rows.values():
        asked = [expected[index] for index in indices]
        for vm_type, places in columns.items():
            values, estimate = _of_activity(asked, types[vm_type], history, prior_s)
            runtime_s[np.ix_(indices, places)] = values[:, None]
            by_activity.append(estimate)
    return Estimates(runtime_s, tuple(by_activity))


def _of_activity(
    asked: Sequence[Expected], vm_type: VmType, history: History, prior_s: float
) -> tuple[Values, Estimate]:
    activity = asked[0].activity
    attempts = _comparable(history.on(activity, vm_type.name), asked)
    if not attempts:
        return _unmeasured(asked, vm_type, prior_s)
    runtime_s = np.array([seen.runtime_s for seen in attempts])
    seen_at = _points(attempts)
    per_tuple = any(each.per_tuple for each in asked)
    few = per_tuple and len(attempts) < FEW
    rule = corrected(seen_at, runtime_s) if few else fit(seen_at, runtime_s)
    values, own = _with_own(rule.at(_points(asked)), rule.at(seen_at), asked, attempts)
    values = np.maximum(values, LEAST_S)
    source = Source.ACTIVATION if 2 * own > len(asked) else rule.source
    return values, Estimate(
        activity,
        vm_type.name,
        source,
        float(np.median(values)),
        len(attempts),
        _log_spread(runtime_s, rule.at(seen_at)),
        tuple(sorted({seen.vm_type for seen in attempts})),
    )


def _comparable(attempts: list[Observation], asked: Sequence[Expected]) -> list[Observation]:
    """A trace may have been replayed at another time scale: such attempts say nothing here."""
    declared = [each.declared_s for each in asked if each.per_tuple and each.declared_s]
    if not declared:
        return attempts
    low, high = min(declared) / SCALE, max(declared) * SCALE
    return [seen for seen in attempts if seen.declared_s and low <= seen.declared_s <= high]


def _points(known: Sequence[Observation] | Sequence[Expected]) -> Points:
    def column(values: Iterable[float | None]) -> Values:
        return np.array([math.nan if value is None else value for value in values])

    return Points(
        column(each.declared_s for each in known), column(each.input_bytes for each in known)
    )


def _with_own(
    values: Values, fitted: Values, asked: Sequence[Expected], attempts: Sequence[Observation]
) -> tuple[Values, int]:
    """Activations that ran before lean towards their own median; also, how many these are.

    How far depends on what is left beside the rule: if attempts of one activation differ as much
    as those of different ones, there is nothing of its own to learn; if they repeat themselves,
    its own count alone. After one run nobody can tell: then both count alike.
    """
    own: defaultdict[str, list[float]] = defaultdict(list)
    for seen in attempts:
        if seen.key:
            own[seen.key].append(seen.runtime_s)
    within_s = spread_within([np.array(group) for group in own.values()])
    left_s = spread(np.array([seen.runtime_s for seen in attempts]) - fitted)
    ran = [index for index, each in enumerate(asked) if each.key in own]
    values = values.copy()
    for index in ran:
        mine = own[asked[index].key]
        share = _own_share(len(mine), within_s, left_s)
        values[index] += share * (float(np.median(mine)) - values[index])
    return values, len(ran)


def _own_share(count: int, within_s: float | None, left_s: float) -> float:
    """Between 0, the rule alone, and 1, the activation's own attempts alone."""
    if within_s is None:
        return count / (count + 1)
    between = max(0.0, left_s**2 - within_s**2)
    noise = within_s**2 / count
    return between / (between + noise) if between + noise > 0 else 1.0


def _unmeasured(
    asked: Sequence[Expected], vm_type: VmType, prior_s: float
) -> tuple[Values, Estimate]:
    seconds = [prior_s if each.declared_s is None else each.declared_s for each in asked]
    sources = Counter(
        Source.PRIOR if each.declared_s is None else each.declared_by for each in asked
    )
    values = np.array(seconds) / vm_type.speed
    (source, _), *_ = sources.most_common(1)
    typical_s = float(np.median(values))
    return values, Estimate(asked[0].activity, vm_type.name, source, typical_s, 0, None, ())


def _log_spread(measured_s: Values, fitted_s: Values) -> float | None:
    told = (measured_s > 0) & (fitted_s > 0)
    if told.sum() < FEW:
        return None
    return spread(np.log(measured_s[told] / fitted_s[told]))
