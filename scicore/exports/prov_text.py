"""PROV-N and PROV-JSON, written by the package `prov` itself, a batch of statements at a time.

A document of a large run would take the package gigabytes; both formats can be written in pieces,
because every statement has a name of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, TextIO

from prov.constants import PROV_N_MAP
from prov.model import ProvDocument
from prov.serializers.provjson import encode_json_document

from scicore.exports.formats import Options, Written
from scicore.exports.prov_elements import elements, story
from scicore.exports.prov_names import NAMESPACES, Statement
from scicore.exports.prov_relations import relations
from scicore.exports.snapshot import Records, Snapshot

AT_ONCE = 2000  # statements


def statements(snapshot: Snapshot) -> Iterator[Statement]:
    """Every element stands before the relations that name it; a kind's statements are together."""
    told = story(snapshot)
    return chain(elements(told), relations(told))


def document(told: Iterable[Statement]) -> ProvDocument:
    prov_document = ProvDocument(namespaces=NAMESPACES)
    for statement in told:
        formal: Any = {name: value for name, value in statement.formal.items() if value is not None}
        prov_document.new_record(statement.kind, statement.id, formal, statement.others)
    return prov_document


def write_n(records: Records, target: Path, options: Options) -> Written:
    empty = ProvDocument(namespaces=NAMESPACES).get_provn()
    before, _, after = empty.rpartition("endDocument")
    counts: Counter[str] = Counter()
    with target.open("w", encoding="utf-8") as stream:
        stream.write(before)
        for kind, batch in _batches(records.snapshot()):
            counts[kind] += len(batch)
            lines = (record.get_provn() for record in document(batch).records)
            stream.writelines(f"  {line}\n" for line in lines)
        stream.write(f"endDocument{after}\n")
    return Written(files=(), records=counts)


def write_json(records: Records, target: Path, options: Options) -> Written:
    counts: Counter[str] = Counter()
    with target.open("w", encoding="utf-8") as stream:
        prefixes = {namespace.prefix: namespace.uri for namespace in NAMESPACES}
        stream.write(f'{{"prefix": {json.dumps(prefixes)}')
        for kind, batch in _batches(records.snapshot()):
            if kind not in counts:
                stream.write(f'{"}" if counts else ""},\n"{kind}": {{\n')
            encoded = encode_json_document(document(batch))[kind]
            _write_members(stream, encoded, first=kind not in counts)
            counts[kind] += len(batch)
        stream.write("}}\n" if counts else "}\n")
    return Written(files=(), records=counts)


def _write_members(stream: TextIO, encoded: dict[str, Any], *, first: bool) -> None:
    for name, content in encoded.items():
        separator = "" if first else ",\n"
        stream.write(f"{separator}{json.dumps(name)}: {json.dumps(content, ensure_ascii=False)}")
        first = False


def _batches(snapshot: Snapshot) -> Iterator[tuple[str, list[Statement]]]:
    """Statements of one kind each, with PROV's own word for it."""
    for kind, told in groupby(statements(snapshot), key=lambda statement: statement.kind):
        while batch := list(islice(told, AT_ONCE)):
            yield PROV_N_MAP[kind], batch
