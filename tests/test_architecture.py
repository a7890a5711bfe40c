"""The rules of the house, checked on the code itself: who may use whom, and what is documented."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from scicore.cli import VERBS, scicumulus

ROOT = Path(__file__).parents[1]

# Room → the rooms that it may use besides itself and `errors`, which everybody may.
# `room.module` allows that module alone.
MAY_USE: dict[str, set[str]] = {
    "errors": set(),
    "config": set(),
    "model": set(),
    "algebra": {"model"},
    "spec": {"model", "algebra"},
    "estimation": {"model"},
    "sizing": {"model"},
    "kernel": {"model"},
    "planners": {"model", "kernel"},
    "execution": {"model", "algebra", "kernel"},
    "simulator": {"model", "execution", "kernel"},
    "engine": {"model", "algebra", "execution"},
    "provenance": {"model", "algebra", "execution.messages", "execution.causes"},
    "reports": {"model", "algebra", "provenance", "exports.redaction"},
    "exports": {"model", "provenance"},
    "notebook": {"model", "provenance", "reports", "exports.redaction"},
    "provisioning": {"model"},
}
SEES_EVERYTHING = {"cli", "__main__"}

# Library → the only places that may import it.
ONLY_IN: dict[str, tuple[str, ...]] = {
    "mpi4py": ("scicore/engine/mpi.py",),
    "subprocess": (
        "scicore/engine/process.py",
        "scicore/engine/launch.py",
        "scicore/provenance/embedded.py",
        "scicore/provenance/postmaster.py",
        "scicore/cli/",
        "provisioning/netns_host.py",
        "scicore/notebook/command_line.py",
    ),
    "sqlalchemy": ("scicore/provenance/", "scicore/exports/source.py", "scicore/cli/"),
    "pandas": ("scicore/notebook/",),
    "jinja2": ("scicore/reports/html/",),
    "psycopg": ("scicore/provenance/", "scicore/cli/"),
    "alembic": ("scicore/provenance/", "scicore/cli/"),
    "boto3": ("provisioning/ec2.py", "provisioning/s3.py"),
    "botocore": ("provisioning/ec2.py", "provisioning/s3.py"),
    "cryptography": ("provisioning/keys.py",),
    "paramiko": ("provisioning/ssh.py",),
}

# These rooms read no clock, no environment and no global random state.
PURE = (
    "algebra",
    "estimation",
    "execution",
    "kernel",
    "model",
    "planners",
    "simulator",
    "sizing",
    "spec",
)
IMPURE_MODULES = {"time", "random", "secrets", "socket", "subprocess", "threading"}
IMPURE = re.compile(
    r"\b(os\.environ|os\.getenv|datetime\.(now|utcnow|today)|date\.today|uuid\.uuid[14])\b"
    r"|\b(np|numpy)\.random\.(?!Generator|BitGenerator|PCG64|SeedSequence|default_rng)"
)
FILES = {"os", "pathlib", "shutil", "tempfile"}  # for `spec` alone among the pure rooms
NO_FILES = {"pathlib.PurePath", "pathlib.PurePosixPath"}  # names of files, not files

SLOW_TO_IMPORT = {
    "alembic",
    "boto3",
    "botocore",
    "cryptography",
    "lxml",
    "mpi4py",
    "networkx",
    "numba",
    "numpy",
    "psycopg",
    "rich",
    "sqlalchemy",
}


# --- reading the code ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    path: str  # relative to the project
    module: str  # dotted
    tree: ast.Module

    @property
    def room(self) -> str:
        return room_of(self.module)

    def imports(self) -> Iterator[str]:
        """All that is imported anywhere in the file: in functions, for typing only, …

        Of our own, modules; of libraries, `module.name` where a name is imported from a module.
        """
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.path}: relative import"
                assert node.module is not None
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    ours = is_ours(node.module) and inner not in modules()
                    yield node.module if ours else inner

    def names(self) -> Iterator[str]:
        """Every dotted name in the file, as it stands there."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute):
                yield ast.unparse(node)


def room_of(module: str) -> str:
    """The first folder, or file, below the package; the package itself is no room."""
    package, _, rest = module.partition(".")
    return rest.partition(".")[0] if package == "scicore" else package


@cache
def sources() -> tuple[Source, ...]:
    return tuple(
        Source(
            path=str(path.relative_to(ROOT)),
            module=".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"),
            tree=ast.parse(path.read_text(encoding="utf-8")),
        )
        for package in ("scicore", "provisioning")
        for path in sorted((ROOT / package).rglob("*.py"))
    )


@cache
def modules() -> frozenset[str]:
    return frozenset(
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for package in ("scicore", "provisioning")
        for path in (ROOT / package).rglob("*.py")
    )


def is_ours(module: str) -> bool:
    return module.partition(".")[0] in ("scicore", "provisioning")


def allowed(room: str, module: str) -> bool:
    used = room_of(module)
    if room in SEES_EVERYTHING:
        return used != "cli" or room == "cli"
    if used in ("", room, "errors"):
        return True
    return used in MAY_USE[room] or module.removeprefix("scicore.") in MAY_USE[room]


# --- who may use whom ---------------------------------------------------------------------------


def test_every_room_is_in_the_table() -> None:
    rooms = {source.room for source in sources()} - {""}
    assert rooms <= {*MAY_USE, *SEES_EVERYTHING}


def test_rooms_use_only_the_rooms_that_they_may() -> None:
    breaches = {
        f"{source.path} uses {module}"
        for source in sources()
        for module in source.imports()
        if source.room and is_ours(module) and not allowed(source.room, module)
    }
    assert breaches == set()


def test_nobody_uses_the_command_line() -> None:
    users = {
        source.path
        for source in sources()
        for module in source.imports()
        if module.startswith("scicore.cli")
    }
    assert [path for path in sorted(users) if not path.startswith("scicore/cli/")] == []


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_library_is_imported_only_in_its_own_place(library: str) -> None:
    breaches = {
        f"{source.path} uses {library}"
        for source in sources()
        for module in source.imports()
        if module.partition(".")[0] == library and not source.path.startswith(ONLY_IN[library])
    }
    assert breaches == set()


def test_pure_rooms_read_no_clock_no_environment_and_no_global_chance() -> None:
    breaches = [
        f"{source.path} uses {name}"
        for source in sources()
        if source.room in PURE
        for name in dict.fromkeys((*source.imports(), *source.names()))
        if IMPURE.search(name)
    ]
    breaches += [
        f"{source.path} imports {module}"
        for source in sources()
        if source.room in PURE
        for module in source.imports()
        if module.partition(".")[0] in IMPURE_MODULES
    ]
    assert breaches == []


def test_only_the_specification_among_the_pure_rooms_reads_files() -> None:
    breaches = [
        f"{source.path} uses {module}"
        for source in sources()
        if source.room in PURE and source.room != "spec"
        for module in dict.fromkeys(source.imports())
        if module.partition(".")[0] in FILES and module not in NO_FILES
    ]
    assert breaches == []


# --- what is documented -------------------------------------------------------------------------


def commands(name: str, command: click.Command) -> Iterator[list[str]]:
    """The words that lead to a command and to all commands below it."""
    yield [name]
    if isinstance(command, click.Group):
        for below in command.commands.values():
            for words in commands(below.name or "", below):
                yield [name, *words]


def command_of(verb: str) -> click.Command:
    command = scicumulus.get_command(click.Context(scicumulus), verb)
    assert command is not None
    return command


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_helps_with_an_example(verb: str) -> None:
    for words in commands(verb, command_of(verb)):
        said = CliRunner().invoke(scicumulus, [*words, "--help"])
        assert said.exit_code == 0, said.output
        assert "Example" in said.output, f"scicumulus {' '.join(words)} --help has no example"


def test_every_file_with_a_command_is_a_verb() -> None:
    files = {
        source.module.rpartition(".")[2].rstrip("_")
        for source in sources()
        if source.room == "cli"
        for node in source.tree.body
        if isinstance(node, ast.FunctionDef) and node.name == "command"
    }
    assert files == set(VERBS)


QUERIES = sorted((ROOT / "sql/queries").glob("*.sql"))
HEADER = re.compile(r"-- (question|parameter|column|limit): (.+)")


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_every_query_says_what_it_asks_what_it_needs_and_what_it_answers(path: Path) -> None:
    header: dict[str, list[str]] = {"question": [], "parameter": [], "column": [], "limit": []}
    lines = iter(path.read_text(encoding="utf-8").splitlines())
    for line in lines:
        match = HEADER.fullmatch(line)
        if match is None:
            break
        header[match[1]].append(match[2])
    (question,) = header["question"]
    assert question.endswith("?")
    for documented in (*header["parameter"], *header["column"]):
        assert re.fullmatch(r"\w+ = \S.*", documented), documented
    columns = [text.partition(" = ")[0] for text in header["column"]]
    assert columns
    assert len(columns) == len(set(columns))
    parameters = [text.partition(" = ")[0] for text in header["parameter"]]
    assert sorted(parameters) == sorted(parameters_of("\n".join([line, *lines])))


def parameters_of(sql: str) -> set[str]:
    """`:name`, but neither `::type` nor what stands in comments and strings."""
    code = re.sub(r"--[^\n]*|'(?:[^']|'')*'", "", sql)
    return set(re.findall(r"(?<![:\w]):([A-Za-z_]\w*)", code))


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: this one has imported everything."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done


def test_help_is_quick_because_it_imports_nothing_slow() -> None:
    code = (
        "import sys\n"
        "from scicore.cli import main\n"
        "assert main(['--help']) == 0\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    done = run_python(code)
    assert "Verbs" in done.stdout
    assert SLOW_TO_IMPORT & set(done.stderr.split()) == set()


def test_a_master_imports_nothing_that_only_planning_needs() -> None:
    """Every run waits for it."""
    code = (
        "import re, sys, inspect\n"
        "import scicore.__main__ as engine\n"
        "words = inspect.getsource(engine._master)\n"
        "for line in re.findall(r'^    (from scicore.*import.*)$', words, re.M):\n"
        "    if 'mpi' not in line: exec(line)\n"
        "print(*sys.modules)\n"
    )
    seen = set(run_python(code).stdout.split())
    assert "scicore.execution.core" in seen
    assert {"numpy", "rich", "scicore.planners", "scicore.engine.keeper"} & seen == set()
