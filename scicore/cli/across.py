"""What a run across hosts needs besides: a storage, a cluster that is ready, leased and mended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scicore.cli.loading import Specification
    from scicore.cli.replacing import Terms
    from scicore.cli.resume import Wish as LaterWish
    from scicore.cli.run import Wish
    from scicore.cli.supervision import Job
    from scicore.model.workflow import Workflow
    from scicore.provenance.connection import Database


def require_useful(storage: str, *, across: bool) -> None:
    """It is there, and of use: before anything is launched or stored."""
    from scicore.cli.storing import require_storage
    from scicore.errors import UsageError

    if not across:
        raise UsageError(
            "--storage is for hosts that share no directory: on this machine files are at hand",
            "leave it out, or name hosts with --hostfile, --cluster or --cloud",
        )
    require_storage(storage)


def with_replacement(
    job: Job,
    database: Database,
    specification: Specification,
    wish: Wish,
    cluster: str,
    database_url: str | None,
) -> Job:
    if not wish.replacements:
        return job
    from scicore.cli.preparation import input_paths
    from scicore.cli.replacing import Replacement

    workflow = specification.workflow
    fetched = input_paths(workflow) if wish.storage else frozenset()
    terms = terms_of(workflow, cluster, wish, fetched)
    return replace(job, replacement=Replacement(terms, database, database_url, job.run_id))


def terms_of(
    workflow: Workflow, cluster: str, wish: Wish | LaterWish, fetched: Iterable[Path]
) -> Terms:
    """On which lost VMs are replaced: the user's limits and the workflow's."""
    from scicore.cli.preparation import catalog_of
    from scicore.cli.replacing import Terms

    limits = [each for each in (wish.budget_usd, workflow.max_cost_usd or None) if each is not None]
    return Terms(
        cluster,
        wish.replacements,
        Path(workflow.directory).absolute(),
        frozenset(fetched),
        min(limits, default=None),
        workflow.max_vm_amount or 0,
        catalog_of(None, workflow) if wish.substitutes else {},
    )


def bring_to(
    cluster: str,
    hostfile: Path | None,
    specification: Specification,
    wish: Wish,
    database_url: str | None,
) -> Path:
    """The workflow's directory goes to every host of the cluster; returns its hostfile."""
    from scicore.cli.configuring import make_ready
    from scicore.cli.preparation import input_paths
    from scicore.errors import UsageError

    if hostfile is not None:
        raise UsageError("--cluster brings its own hostfile: leave --hostfile out")
    directory = Path(specification.workflow.directory).absolute()
    fetched = input_paths(specification.workflow) if wish.storage else frozenset()
    made, _ = make_ready(cluster, database_url, None, directory, fetched)
    return made
