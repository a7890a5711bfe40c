"""What the scientist wrote: activities that consume and produce relations."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

Row = tuple[str, ...]  # the values of one tuple, in the order of its relation's fields


class Operator(StrEnum):
    """How many tuples an activation consumes and may produce."""

    MAP = "MAP"  # 1 → 1
    SPLIT_MAP = "SPLIT_MAP"  # 1 → m
    FILTER = "FILTER"  # 1 → 0 or 1
    REDUCE = "REDUCE"  # n → 1, one activation per group of equal operand values


class FieldType(StrEnum):
    FLOAT = "float"
    STRING = "string"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: FieldType


@dataclass(frozen=True, slots=True)
class Relation:
    name: str
    fields: tuple[Field, ...]

    @property
    def field_names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    def as_mapping(self, row: Row) -> dict[str, str]:
        return dict(zip(self.field_names, row, strict=True))


@dataclass(frozen=True, slots=True)
class Activity:
    tag: str
    operator: Operator
    command: str  # words with %=TAG% in them; split into arguments before values come in
    input: Relation
    output: Relation
    producer: str | None = None  # tag of the activity whose output is the input; None = a dataset
    operand: tuple[str, ...] = ()  # fields that REDUCE groups by
    extractor: str = ""  # second command, run after the first, that writes ERelation.txt
    description: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """The tuples of one external relation, as the user's file gave them."""

    relation: Relation
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Workflow:
    tag: str
    activities: tuple[Activity, ...]  # a producer stands before its consumers
    datasets: tuple[Dataset, ...]
    directory: str  # %=WFDIR%, absolute
    experiment_directory: str  # %=EXPDIR%, absolute; a run's workspaces are made below it
    max_attempts: int = 1  # per activation, from max_failure
    algorithm: str = ""  # planner named by the specification; empty = the default
    execution_tag: str = ""
    description: str = ""

    @property
    def relations(self) -> tuple[Relation, ...]:
        """Every relation once: the external ones, then the activities' outputs."""
        external = tuple(dataset.relation for dataset in self.datasets)
        return external + tuple(activity.output for activity in self.activities)

    def activity(self, tag: str) -> Activity:
        return next(activity for activity in self.activities if activity.tag == tag)

    def consumers(self, producer: str | None, relation: str) -> tuple[Activity, ...]:
        return tuple(
            activity
            for activity in self.activities
            if activity.producer == producer and activity.input.name == relation
        )
