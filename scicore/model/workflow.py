"""What the scientist wrote: activities that consume and produce relations."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from scicore.model.cloud import VmType

Row = tuple[str, ...]  # the values of one tuple, in the order of its relation's fields


class Operator(StrEnum):
    """How many tuples an activation consumes and may produce."""

    MAP = "MAP"  # 1 → 1
    SPLIT_MAP = "SPLIT_MAP"  # 1 → m
    FILTER = "FILTER"  # 1 → 0 or 1
    REDUCE = "REDUCE"  # n → 1, one activation per group of equal operand values
    SR_QUERY = "SR_QUERY"  # n → m: SQL over one relation, run by the master in the database
    MR_QUERY = "MR_QUERY"  # n → m: SQL over several relations


QUERIES = frozenset({Operator.SR_QUERY, Operator.MR_QUERY})
PYTHON = "python:"  # a command that begins so is a Python function, `python:module.function`


class Batch(StrEnum):
    """How one program serves many activations."""

    STDIN = "stdin"  # it reads a tuple per line, and answers each


class FieldType(StrEnum):
    FLOAT = "float"
    STRING = "string"
    FILE = "file"


class FileOperation(StrEnum):
    """How the file of an input field gets into the workspace."""

    COPY = "COPY"
    MOVE = "MOVE"
    COPY_DELETE = "COPY_DELETE"  # the copy is deleted when the activation has ended
    MOVE_DELETE = "MOVE_DELETE"


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: FieldType
    decimal_places: int | None = None  # floats are written with so many; None = as they are


@dataclass(frozen=True, slots=True)
class Relation:
    name: str
    fields: tuple[Field, ...]

    @property
    def field_names(self) -> tuple[str, ...]:
        return tuple([field.name for field in self.fields])

    def as_mapping(self, row: Row) -> dict[str, str]:
        return {field.name: value for field, value in zip(self.fields, row, strict=True)}


@dataclass(frozen=True, slots=True)
class Source:
    """A relation that a query reads besides its first input."""

    relation: Relation
    producer: str | None  # tag; None = a dataset
    alias: str = ""  # the query's own name for it


@dataclass(frozen=True, slots=True)
class Staging:
    """What happens to the file of an input field before the program starts."""

    field: str
    operation: FileOperation | None  # None = it stays where it is
    instrumented: bool = False  # tags inside the file are filled in


@dataclass(frozen=True, slots=True)
class Activity:
    tag: str
    operator: Operator
    command: str  # words with %=TAG% in them, split into arguments first; SQL for queries
    input: Relation
    output: Relation  # without fields: the activity is run for its effect alone
    producer: str | None = None  # tag of the activity whose output is the input; None = a dataset
    operand: tuple[str, ...] = ()  # fields that REDUCE groups by
    extractor: str = ""  # second command, run after the first, that writes ERelation.txt
    description: str = ""
    alias: str = ""  # the activity's own name for its input relation
    also_reads: tuple[Source, ...] = ()  # MR_QUERY's further inputs
    template: str = ""  # directory (may hold %=WFDIR%) that every workspace starts as a copy of
    staging: tuple[Staging, ...] = ()  # of the input's file fields
    # What the program needs; numbers, or tags such as %=CPUS% that give one per activation.
    cpus: str = "1"
    memory_mb: str = "0"  # 0 = not said
    runtime_s: str = ""  # expected, for planning before there is history; empty = not said
    timeout_s: float = 0.0  # 0 = none
    environment: tuple[tuple[str, str], ...] = ()  # variables for the program; may hold tags
    # Explicit edges, as in imported traces: an activation starts when those it names have ended.
    id_field: str = ""  # field whose value names the activation in the whole workflow
    parents_field: str = ""  # field with the names of the parents, separated by blanks
    batch: Batch | None = None  # None = a program per activation, or a Python function

    @property
    def function(self) -> str:
        """`module.function` where an activation is a call of that; else empty."""
        if self.operator in QUERIES or not self.command.startswith(PYTHON):
            return ""
        return self.command.removeprefix(PYTHON)

    @property
    def warm(self) -> bool:
        """One process serves many activations, one after the other."""
        return self.batch is not None or bool(self.function)

    @property
    def own_workspaces(self) -> bool:
        """Each activation has a directory of its own; what is warm does without unless files
        are to be put there, or are expected from it."""
        made = any(field.type is FieldType.FILE for field in self.output.fields)
        asked = bool(self.template or self.staging or (made and self.batch is None))
        return asked or not self.warm

    @property
    def sources(self) -> tuple[Source, ...]:
        """Every relation that it reads; only MR_QUERY has more than one."""
        return (Source(self.input, self.producer, self.alias), *self.also_reads)


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
    machine_types: tuple[VmType, ...] = ()  # the specification's own, before the catalog's
    max_vm_amount: int = 0  # 0 = no limit
    max_time_s: float = 0.0
    max_cost_usd: float = 0.0
    redundancy: bool = False  # a second attempt for what takes unusually long
    reliability: float = 0.0  # share of a VM's attempts that should end well; 0 = not said

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
            if any(
                source.producer == producer and source.relation.name == relation
                for source in activity.sources
            )
        )
