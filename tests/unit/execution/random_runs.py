"""Any workflow and any plan: hypothesis makes them up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import strategies as st

from scicore.algebra.forecast import forecast
from scicore.model.activation import Dispatch
from scicore.model.plan import Plan
from scicore.model.workflow import (
    QUERIES,
    Activity,
    Dataset,
    Operator,
    Relation,
    Row,
    Source,
    Workflow,
)
from tests.unit.execution.building import LATER_S, Stage, activity, fleet, plan, relation

FIELDS = ("ID", "SITE", "KIND")


@st.composite
def workflows(draw: st.DrawFn, foreseeable: bool = False) -> Workflow:
    """A forest of activities over one or two datasets and, at times, a trace.

    `foreseeable`: without queries and traces, and with groups formed only by values that come
    from a dataset unchanged.
    """
    datasets = [
        Dataset(relation(name, "ID", "SITE"), draw(_rows()))
        for name in ("source", "other")[: draw(st.integers(1, 2))]
    ]
    known = {dataset.relation.name: {"ID", "SITE"} for dataset in datasets}
    sources: list[Activity | Relation] = [dataset.relation for dataset in datasets]
    activities: list[Activity] = []
    if not foreseeable and draw(st.integers(0, 3)) == 0:
        trace = Dataset(relation("trace", "NAME", "PARENTS"), draw(_edges()))
        jobs = activity("jobs", Operator.MAP, trace.relation, "ID")
        jobs = replace(jobs, id_field="NAME", parents_field="PARENTS")
        datasets.append(trace)
        sources.append(jobs)
        activities.append(jobs)
        known["jobs_out"] = set()
    for number in range(draw(st.sampled_from([3, 2, 4, 1]))):
        made = draw(_activities(f"a{number}", sources, known if foreseeable else None))
        known[made.output.name] = known[made.input.name] & carried_names(made)
        activities.append(made)
        sources.append(made)
    return Workflow(
        "w",
        tuple(activities),
        tuple(datasets),
        "/w",
        "/w/exp",
        max_attempts=draw(st.integers(1, 3)),
        redundancy=draw(st.booleans()),
        reliability=draw(st.sampled_from([0.0, 0.5, 0.95])),
    )


@st.composite
def _rows(draw: st.DrawFn) -> tuple[Row, ...]:
    value = st.sampled_from("pqr")
    count = draw(st.sampled_from([4, 3, 2, 5, 1, 0]))
    return tuple((draw(value), draw(value)) for _ in range(count))


@st.composite
def _edges(draw: st.DrawFn) -> tuple[Row, ...]:
    """Each names some of those before it as its parents."""
    names = [f"job{number}" for number in range(draw(st.integers(1, 5)))]
    return tuple((name, " ".join(_some(draw, names[:number]))) for number, name in enumerate(names))


@st.composite
def _activities(
    draw: st.DrawFn,
    tag: str,
    sources: list[Activity | Relation],
    known: Mapping[str, set[str]] | None,
) -> Activity:
    operators = [*Operator, Operator.REDUCE, Operator.REDUCE]
    operator = draw(
        st.sampled_from([one for one in operators if known is None or one not in QUERIES])
    )
    source = draw(st.sampled_from(sources[-2:]))  # rather long than wide
    given_ = source.output if isinstance(source, Activity) else source
    usable = [name for name in given_.field_names if known is None or name in known[given_.name]]
    operand = _some(draw, usable) if operator is Operator.REDUCE else ()
    fields = _some(draw, FIELDS) or ("ID",)
    made = activity(tag, operator, source, *fields, operand=operand)
    if operator is Operator.MR_QUERY:
        return replace(made, also_reads=(_source(draw(st.sampled_from(sources))),))
    return replace(
        made,
        cpus=draw(st.sampled_from(["1", "1", "2", "4"])),
        memory_mb=draw(st.sampled_from(["0", "0", "400", "800"])),
    )


def _source(other: Activity | Relation) -> Source:
    if isinstance(other, Activity):
        return Source(other.output, other.tag)
    return Source(other, None)


def _some(draw: st.DrawFn, names: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(draw(st.lists(st.sampled_from(names), unique=True))) if names else ()


@st.composite
def plans(draw: st.DrawFn, spec: Workflow) -> Plan:
    """Any VM for any activation in any order; some that will come are left out."""
    vms = fleet(*(draw(st.integers(1, 3)) for _ in range(draw(st.sampled_from([2, 3, 1])))))
    names = forecast(spec, {made.tag: 2 for made in spec.activities}).names
    chosen = _some(draw, names)
    some_vm = st.sampled_from([vm.id for vm in vms.vms])
    made = plan(vms, {name: draw(some_vm) for name in chosen})
    start_s = draw(st.sampled_from([0.0, 5.0, LATER_S]))  # behind the plan at once, soon, never
    hurried = (replace(each, start_s=start_s, finish_s=start_s + 1) for each in made.assignments)
    return replace(made, assignments=tuple(hurried))


@st.composite
def stages(draw: st.DrawFn) -> Stage:
    spec = draw(workflows())
    return Stage(spec, draw(plans(spec)), draw(st.sampled_from(Dispatch)))


def carried_names(made: Activity) -> set[str]:
    """Output fields whose value is the input's."""
    if made.operator in QUERIES:
        return set()
    handed_on = made.operand if made.operator is Operator.REDUCE else made.input.field_names
    return set(handed_on) & set(made.output.field_names)
