"""`scicumulus init`: a new workflow directory that runs as it is, with comments to learn from."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click

from scicore.cli.output import json_option, print_json, say
from scicore.errors import UsageError

STARTER = Path(__file__).with_name("starter")
_NAME = "starter"  # in the starter's own files


@click.command(epilog="Example: scicumulus init throws && scicumulus run throws/workflow.xml")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Also into a directory with other files in it.")
@json_option
def command(directory: Path, force: bool, as_json: bool) -> None:
    """Make a new workflow in DIR: a small parameter sweep with MAP, FILTER and REDUCE.

    It runs as it is; workflow.xml explains itself in comments.
    """
    _require_room(directory, force)
    try:
        files = _copy(directory, _tag(directory))
    except OSError as error:
        raise UsageError(f"{error.filename}: cannot be written ({error.strerror})") from error
    spec = shlex.quote(str(directory / "workflow.xml"))
    following = [f"scicumulus {verb} {spec}" for verb in ("validate", "show", "run")]
    following.append("scicumulus query outputs")
    if as_json:
        print_json({"directory": str(directory), "files": files, "next": following})
        return
    for file in files:
        click.echo(directory / file)
    say("\nnext:")
    for line in following:
        say(f"  {line}")


def _require_room(directory: Path, force: bool) -> None:
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file", "name a directory that is not there yet")
    if directory.is_dir() and any(directory.iterdir()) and not force:
        raise UsageError(
            f"{directory} is not empty", "name another directory, or add --force to write into it"
        )


def _tag(directory: Path) -> str:
    """The workflow is called like its directory."""
    return re.sub(r"\W+", "_", directory.absolute().name).strip("_") or _NAME


def _copy(directory: Path, tag: str) -> list[str]:
    """The files that were made, relative to the directory."""
    files = []
    for source in sorted(path for path in STARTER.rglob("*") if path.is_file()):
        relative = source.relative_to(STARTER)
        if "__pycache__" in relative.parts:
            continue
        text = source.read_text(encoding="utf-8")
        if relative.suffix in (".xml", ".md"):
            text = re.sub(rf'(tag="|^# ){_NAME}\b', rf"\g<1>{tag}", text, flags=re.MULTILINE)
        target = directory / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        files.append(str(relative))
    return files
