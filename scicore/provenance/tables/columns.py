"""The kinds of columns that all tables are made of."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Column,
    DateTime,
    Double,
    ForeignKey,
    Identity,
    Integer,
    MetaData,
    Text,
    func,
)
from sqlalchemy.types import TypeEngine

metadata = MetaData()


def text_(name: str, *, null: bool = False, default: str | None = None) -> Column[str]:
    return Column(name, Text, nullable=null, server_default=default)


def number(name: str, *arguments: ForeignKey, null: bool = False) -> Column[int]:
    return Column(name, Integer, *arguments, nullable=null)


def figure(name: str, *, null: bool = False) -> Column[float]:
    return Column(name, Double, nullable=null)


def id_(name: str) -> Column[int]:
    return Column(name, Integer, Identity(always=True), primary_key=True)


def part_of_key(
    name: str, *arguments: ForeignKey, type_: type[TypeEngine[Any]] = Integer
) -> Column[Any]:
    return Column(name, type_, *arguments, primary_key=True, autoincrement=False)


def time(name: str, *, null: bool = False) -> Column[object]:
    return Column(name, DateTime(timezone=True), nullable=null)


def made(name: str = "created_at") -> Column[object]:
    return Column(name, DateTime(timezone=True), nullable=False, server_default=func.now())
