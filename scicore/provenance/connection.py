"""Finding the provenance database, reaching it, and bringing its schema up to date."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import sqlalchemy
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo
from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from scicore.errors import DatabaseError
from scicore.provenance import renewal
from scicore.provenance.embedded import EmbeddedServer
from scicore.provenance.patience import reason
from scicore.provenance.postgres_home import default_directory

DATABASE_URL = "SCICUMULUS_DATABASE_URL"
_LIBPQ = ("PGHOST", "PGHOSTADDR", "PGSERVICE", "PGDATABASE")
_MIGRATION_LOCK = 0x5C1C_0001
_CONNECT_TIMEOUT_S = 10
_RESTART_S = 10.0  # whoever is cut off while connecting tries again for so long
_PASSWORD = re.compile(  # also where the user forgot to encode a special character
    r"(?P<user>://[^:/@]*:)(?P<secret>[^/]*|[^@?]*)(?=@)"
    r"|(?P<word>password\s*=\s*)(?P<quoted>'(?:\\.|[^'\\])*'?|[^&\s]*)"
)


def sql_directory() -> Path:
    """`sql/`: inside the package when installed from a wheel, beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "sql"
    return inside if inside.is_dir() else package.parent / "sql"


@dataclass(frozen=True, slots=True)
class Database:
    url: str  # may hold a password: never print it, see `redacted`
    engine: Engine
    server: EmbeddedServer | None = None  # ours, if it is the embedded one


def connect(chosen: str | None = None) -> Database:
    """Reach the database that the user means, with its schema up to date."""
    found = find(chosen)
    if found is None:
        server = EmbeddedServer(default_directory())
        url = renewal.start(server)
        return Database(url, _open(url, server), server)
    url = re.sub(r"^postgresql\+psycopg://", "postgresql://", found)
    return Database(url, _open(url))


def find(chosen: str | None = None) -> str | None:
    """The database that is asked for, or that the environment names; None: the embedded one."""
    if chosen or os.environ.get(DATABASE_URL):
        return chosen or os.environ[DATABASE_URL]
    if any(os.environ.get(name) for name in _LIBPQ):
        return "postgresql://"  # libpq reads its own variables and files
    return None


def redacted(text: str, url: str = "") -> str:
    """The text, for messages, without any password in it and without the URL's own."""
    for match in _PASSWORD.finditer(url):
        for piece in re.split("[@/]", match["secret"] or match["quoted"] or ""):
            if len(piece) > 3:  # libpq quotes what it could not understand
                text = text.replace(piece, "***")
    return _PASSWORD.sub(lambda match: f"{match['user'] or match['word']}***", text)


def _open(url: str, server: EmbeddedServer | None = None) -> Engine:
    """Connect once to be sure, and migrate the schema if it is older than this program."""
    engine = sqlalchemy.create_engine(
        "postgresql+psycopg://",
        creator=lambda: psycopg.connect(url, connect_timeout=_CONNECT_TIMEOUT_S),
        pool_pre_ping=True,
    )
    try:
        _make_ready(engine, url)
    except BaseException as error:
        engine.dispose()
        if isinstance(error, SQLAlchemyError | psycopg.Error | UnicodeError):  # %C4 is no UTF-8
            raise _uprooted(error, server) or _unusable(url, error) from error
        raise

    @event.listens_for(engine, "handle_error")
    def explain_loss(context: ExceptionContext) -> None:
        error = context.original_exception
        if uprooted := _uprooted(error, server):
            raise uprooted from error
        lost = isinstance(error, Exception) and (
            context.is_disconnect or context.connection is None
        )
        if lost and not context.is_pre_ping:  # after a ping the pool connects anew
            raise _unusable(url, error, cut_off=context.is_disconnect) from error

    return engine


def _make_ready(engine: Engine, url: str) -> None:
    """Its schema is up to date. Whoever is cut off on the way tries again: a server that is just
    being restarted will be there in a moment."""
    until = time.monotonic() + _RESTART_S
    while True:
        try:
            with engine.begin() as connection:
                return _ensure_schema(connection, url)
        except DBAPIError as error:
            if not error.connection_invalidated or time.monotonic() > until:
                raise
        time.sleep(0.1)


def _unusable(url: str, error: BaseException, *, cut_off: bool = False) -> DatabaseError:
    reason = redacted(str(getattr(error, "orig", None) or error).strip(), url)
    return DatabaseError(
        f"the provenance database {redacted(url)} cannot be used: {reason}",
        "its server was restarted, or somebody ended our session: try again"
        if cut_off
        else "check --database-url, SCICUMULUS_DATABASE_URL or the PG* variables; "
        "without any of them an embedded server is used",
    )


def _uprooted(error: BaseException, server: EmbeddedServer | None) -> DatabaseError | None:
    """What to say if our server misses a file because its installation was deleted."""
    missing = isinstance(getattr(error, "orig", None) or error, psycopg.errors.UndefinedFile)
    lost = server.lost_program() if missing and server else None
    if server is None or lost is None:
        return None
    return DatabaseError(
        f"{renewal.told(server, lost)}, and it needs a file from there: {reason(error)}",
        renewal.REMEDY,
    )


def libpq_environment(url: str) -> dict[str, str]:
    """The URL as libpq's variables: a command line would show its password to everybody."""
    names = {option.keyword.decode(): option.envvar for option in Conninfo.get_defaults()}
    given = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    environment = {
        envvar.decode(): given[name] for name, envvar in names.items() if envvar and name in given
    }
    return {"PGDATABASE": "postgres", **environment}


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that cannot write."""
    with engine.connect() as connection:
        connection.execute(text("SET TRANSACTION READ ONLY"))
        yield connection


def _ensure_schema(connection: Connection, url: str) -> None:
    versions = sorted(
        path.name.split("_")[0] for path in (sql_directory() / "migrations/versions").glob("0*.py")
    )
    current = _current_version(connection)
    if current == versions[-1]:
        return
    if current is not None and current not in versions:
        raise DatabaseError(
            f"the provenance database {redacted(url)} has schema version {current}, "
            f"this program knows up to {versions[-1]}",
            "use the newer SciCumulus-RL that made it, or another database",
        )
    _migrate(connection)


def _current_version(connection: Connection) -> str | None:
    if connection.scalar(text("SELECT to_regclass('alembic_version')")) is None:
        return None
    version: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return version


def _migrate(connection: Connection) -> None:
    from alembic import command  # slow to import, and needed only when the schema is old
    from alembic.config import Config

    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
    config = Config()
    config.set_main_option(
        "script_location", str(sql_directory() / "migrations").replace("%", "%%")
    )
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
