"""Databases of their own on the tests' one server, and one with runs whose story is known."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy import Engine

from scicore.provenance.connection import connect
from scicore.provenance.embedded import EmbeddedServer
from scicore.provenance.queries import named_query, run_query
from tests.integration.ec2_account import Account
from tests.integration.ec2_stand_in import Ec2Server
from tests.integration.known_runs import build

NewDatabase = Callable[..., str]
Ask = Callable[..., list[tuple[object, ...]]]
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def new_database(home: Path) -> NewDatabase:
    """Makes a database, empty or a copy of another, and gives its URL."""
    server = EmbeddedServer(home / "postgres").start()

    def make(template: str = "template1") -> str:
        name = f"test_{next(_numbers)}"
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
        return make_conninfo(server, dbname=name)

    return make


@pytest.fixture(scope="session")
def schema(new_database: NewDatabase) -> str:
    """The name of a database with nothing but the schema."""
    url = new_database()
    connect(url).engine.dispose()
    return str(conninfo_to_dict(url)["dbname"])


@pytest.fixture(scope="module")
def engine(new_database: NewDatabase, schema: str) -> Iterator[Engine]:
    """For all tests of a file: databases are what makes such tests slow."""
    engine = connect(new_database(schema)).engine
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def known_url(new_database: NewDatabase, schema: str) -> str:
    return new_database(schema)


@pytest.fixture(scope="session")
def known(known_url: str) -> Iterator[Engine]:
    """The runs of known_runs.py; tests only read it."""
    engine = connect(known_url).engine
    build(engine)
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def ask(known: Engine) -> Ask:
    """The rows that a named query gives on the known runs."""

    def rows(name: str, **parameters: object) -> list[tuple[object, ...]]:
        answer = run_query(known, named_query(name).sql, parameters)
        return [tuple(row) for row in answer.rows]

    return rows


@pytest.fixture
def account(ec2: Ec2Server) -> Account:
    return Account()
