"""`scicumulus export`: a run in other systems' formats."""

from __future__ import annotations

from pathlib import Path

import click

from scicore.cli.output import database_option, json_option, print_json, say
from scicore.exports.formats import FORMATS


@click.command(
    epilog="Examples: scicumulus export last --format prov-json;  "
    "scicumulus export 12 --format ro-crate -o climate.zip;  "
    "scicumulus export 12 --format parquet -o tables --force"
)
@click.argument("run")
@click.option("--format", "format_", type=click.Choice(list(FORMATS)), required=True)
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Where to; default: run-ID.EXTENSION in the current directory. "
    "ro-crate, csv and parquet make a directory; a crate called *.zip is one file.",
)
@click.option("--force", is_flag=True, help="Replace what is there.")
@click.option(
    "--max-file-size",
    metavar="MB",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    help="Larger files of the run are referred to instead of copied (ro-crate).",
)
@database_option
@json_option
def command(
    run: str,
    format_: str,
    output: Path | None,
    force: bool,
    max_file_size: float,
    database_url: str | None,
    as_json: bool,
) -> None:
    """Export RUN (a number, or `last`).

    A run that is still going on is exported as it is at this moment. prov-json, prov-n, ro-crate
    and parquet need the extra packages of: pip install "scicumulus[exports]"
    """
    from scicore.exports import target
    from scicore.exports.formats import Options, writer
    from scicore.exports.source import open_run
    from scicore.provenance.connection import connect

    form = FORMATS[format_]
    write = writer(format_)
    options = Options(max_file_bytes=round(max_file_size * 1e6))
    if output is not None:
        target.check(output, form, force=force)
    with open_run(connect(database_url).engine, run) as source:
        head = source.head
        path = output or Path(f"run-{head.run.run_id}.{form.extension}")
        target.check(path, form, force=force)
        with target.replacing(path) as new:
            written = write(source, new, options)
    warnings = list(written.warnings)
    if head.going_on:
        warnings.insert(0, f"run {head.run.run_id} is {head.run.state}: more may come after this")
    for warning in warnings:
        say(f"warning: {warning}")
    if as_json:
        print_json(
            {
                "run_id": head.run.run_id,
                "state": head.run.state,
                "format": format_,
                "path": str(path.absolute()),
                "files": list(written.files),
                "records": dict(written.records),
                "warnings": warnings,
            }
        )
    else:
        counts = ", ".join(f"{count} {kind}" for kind, count in written.records.items())
        say(f"run {head.run.run_id} as {format_}: {counts}")
        click.echo(path)
