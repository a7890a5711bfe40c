"""docs/cli.md from the code: every verb with its arguments, options and example.

python -m scicore.cli.page > docs/cli.md
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from scicore.cli import VERBS, scicumulus

_INTRODUCTION = """\
# The command line

<!-- Written by `python -m scicore.cli.page` from the code of the verbs. -->

`scicumulus VERB --help` says the same. Every verb takes `--json`: one JSON document on stdout,
messages on stderr. RUN is a run's number, or `last`.

| exit code | |
|---|---|
| 0 | ok |
| 1 | activations failed |
| 2 | bad usage or specification |
| 3 | infrastructure |
| 4 | stopped by the user or a limit |
| 5 | a preflight check failed |
"""


def page() -> str:
    context = click.Context(scicumulus, info_name="scicumulus")
    parts = [_INTRODUCTION, "| verb | |\n|---|---|"]
    parts += [f"| [`{verb}`](#{verb}) | {about} |" for verb, about in VERBS.items()]
    for verb in VERBS:
        command = scicumulus.get_command(context, verb)
        assert command is not None
        parts += ["", *_section(command, click.Context(command, context, verb), "##")]
    return "\n".join(parts) + "\n"


def _section(command: click.Command, context: click.Context, level: str) -> Iterator[str]:
    words = context.command_path
    yield f"{level} {words.removeprefix('scicumulus ')}"
    yield ""
    yield f"    {words} {' '.join(command.collect_usage_pieces(context))}"
    if command.help:
        yield ""
        yield inspect.cleandoc(command.help.partition("\f")[0]).replace("\b\n", "")
    rows = [row for parameter in command.params if (row := _row(parameter, context))]
    if rows:
        yield ""
        yield "| option | |\n|---|---|"
        yield from rows
    if command.epilog:
        yield ""
        yield from _examples(command.epilog)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield ""
            yield from _section(below, click.Context(below, context, name), level + "#")


def _row(parameter: click.Parameter, context: click.Context) -> str | None:
    """An option as a line of a table; --json is everywhere, and arguments are in the usage."""
    if not isinstance(parameter, click.Option) or parameter.name == "as_json":
        return None
    record = parameter.get_help_record(context)
    if record is None:  # hidden
        return None
    name, about = (re.sub(r"\s+", " ", text).replace("|", "\\|") for text in record)
    return f"| `{name}` | {about} |"


def _examples(epilog: str) -> Iterator[str]:
    """`Example: scicumulus a;  scicumulus b` as a block of commands."""
    text = re.sub(r"\s+", " ", epilog).strip()
    text = re.sub(r"^(For e|E)xamples?:\s*", "", text)
    for command in re.split(r";\s+(?=scicumulus )", text):
        yield f"    {command}"


if __name__ == "__main__":
    click.echo(page(), nl=False)
