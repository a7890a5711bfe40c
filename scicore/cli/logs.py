"""`scicumulus logs`: what an activation's programs were told and what they said."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scicore.cli.output import database_option, json_option, print_json

if TYPE_CHECKING:
    from scicore.provenance.story import AttemptStory, Story

LINES = 200
NO_WORKSPACE = "no workspace here: nothing was left in it, or it is on another machine"


@click.command(epilog="Example: scicumulus logs mProject.3 --run last")
@click.argument("activation", metavar="ACTIVATION")
@click.option("--run", default="last", show_default=True, help="A run's number, or last.")
@click.option(
    "--lines",
    type=click.IntRange(0),
    default=LINES,
    show_default=True,
    metavar="N",
    help="The last N lines of stdout and stderr; 0: all of them.",
)
@database_option
@json_option
def command(activation: str, run: str, lines: int, database_url: str | None, as_json: bool) -> None:
    """Print command, workspace, stdout and stderr of every attempt of ACTIVATION (a name such as
    mProject.3, or its number). Passwords in them are masked.

    Streams are read from the workspace. Where that is gone, or on another host, the last lines of
    stderr that were recorded stand in.
    """
    from scicore.errors import UsageError
    from scicore.provenance.connection import connect, reading
    from scicore.provenance.reader import resolve_run
    from scicore.provenance.story import story_of

    with reading(connect(database_url).engine) as connection:
        run_id = resolve_run(connection, run)
        story = story_of(connection, run_id, activation)
        if story.activation_id is None:
            raise UsageError(
                f"{activation} does not exist yet in run {run_id}",
                f"why: scicumulus explain {activation} --run {run_id}",
            )
    logged = [_log(_with_workspace(story, each), lines) for each in story.attempts]
    if as_json:
        print_json(
            {
                "run_id": run_id,
                "activation_id": story.activation_id,
                "activation": story.name,
                "state": story.state,
                "attempts": [_document(each) for each in logged],
            }
        )
        return
    head = f"{click.style(story.name, bold=True)} (activation {story.activation_id}) of run "
    click.echo(f"{head}{run_id}: {story.state}")
    if not logged:
        click.echo(f"it was never started; why: scicumulus explain {story.name} --run {run_id}")
    for each in logged:
        _print(each)


@dataclass(frozen=True, slots=True)
class Stream:
    text: str
    origin: str  # the file it was read from, or why it was not
    left_out: int = 0  # lines before these


@dataclass(frozen=True, slots=True)
class Log:
    attempt: AttemptStory
    command: str
    stdout: Stream
    stderr: Stream


def _with_workspace(story: Story, attempt: AttemptStory) -> AttemptStory:
    """While a program runs, provenance does not say where; but there is a rule."""
    if attempt.workspace or attempt.ended_at is not None:
        return attempt
    path = story.name.removeprefix(f"{story.activity}.")
    retry = f"-attempt-{attempt.number}" if attempt.number > 1 else ""
    place = Path(story.run_directory, story.activity, f"{path}{retry}")
    return replace(attempt, workspace=str(place))


def _log(attempt: AttemptStory, lines: int) -> Log:
    from scicore.exports.redaction import clean

    out, err = _streams(attempt, lines)
    return Log(attempt, clean(attempt.command or ""), _masked(out), _masked(err))


def _streams(attempt: AttemptStory, lines: int) -> tuple[Stream, Stream]:
    from scicore.engine.streams import STDERR, STDOUT

    if not attempt.workspace:
        return Stream("", "it has no workspace"), Stream(attempt.stderr_tail or "", "as recorded")
    directory = Path(attempt.workspace)
    out = _read(directory, STDOUT, lines)
    err = _read(directory, STDERR, lines)
    if not err.text and attempt.stderr_tail:
        err = Stream(attempt.stderr_tail, "as recorded")
    return out, err


def _read(directory: Path, name: str, lines: int) -> Stream:
    """A program that said nothing has no file; a workspace that cannot be read is another thing."""
    from collections import deque

    path = directory / name
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            kept: deque[str] = deque(maxlen=lines or None)
            count = 0
            for line in stream:
                kept.append(line)
                count += 1
    except FileNotFoundError:
        there = directory.is_dir()
        return Stream("", str(path) if there else NO_WORKSPACE)
    except OSError as error:
        return Stream("", f"{path}: {error.strerror}")
    return Stream("".join(kept), str(path), count - len(kept))


def _masked(stream: Stream) -> Stream:
    from scicore.exports.redaction import clean

    return Stream(clean(stream.text), stream.origin, stream.left_out)


def _document(log: Log) -> dict[str, object]:
    attempt = log.attempt
    names = ("number", "vm", "host", "redundant", "started_at", "ended_at", "took_s", "cause")
    more = ("exit_code", "cpu_s", "peak_rss_bytes")
    return {
        **{name: getattr(attempt, name) for name in (*names, *more)},
        "command": log.command,
        "workspace": attempt.workspace,
        "stdout": asdict(log.stdout),
        "stderr": asdict(log.stderr),
    }


def _print(log: Log) -> None:
    attempt = log.attempt
    where = f" on {attempt.vm}" + (f" ({attempt.host})" if attempt.host else "")
    ended = "still running" if attempt.ended_at is None else f"{attempt.cause}"
    if attempt.exit_code:
        ended += f" {attempt.exit_code}"
    took = "" if attempt.took_s is None else f", {attempt.took_s:.2f} s"
    usage = ""
    if attempt.cpu_s is not None and attempt.peak_rss_bytes is not None:
        usage = f", {attempt.cpu_s:.2f} s of CPU, {attempt.peak_rss_bytes / 2**20:.0f} MB"
    click.echo()
    title = f"attempt {attempt.number}{where}: {ended}{took}{usage}"
    good = attempt.cause in (None, "finished")
    click.echo(click.style(title, fg=None if good else "red", bold=True))
    click.echo(f"command    {_visible(log.command) or 'known when it has ended'}")
    click.echo(f"workspace  {attempt.workspace or 'none'}")
    for name, stream in (("stdout", log.stdout), ("stderr", log.stderr)):
        if not stream.text:
            click.echo(f"{name}     empty ({stream.origin})")
            continue
        cut = f", {stream.left_out} lines before these left out" if stream.left_out else ""
        click.echo(f"{name}     ({stream.origin}{cut})")
        for line in _visible(stream.text).rstrip("\n").split("\n"):
            click.echo(f"  {line}")


_CONTROL = {
    code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t\r"
} | {127: "␡"}  # fmt: skip


def _visible(text: str) -> str:
    """What a program wrote must not steer the terminal of who reads it."""
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROL)
