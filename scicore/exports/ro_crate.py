"""RO-Crate 1.1 in the Provenance Run Crate profile 0.5, written by the package `rocrate`.

A directory, or a .zip when the target is called so. The package describes the crate, its files
and the workflow; what the run did is added to its metadata entity by entity, because a large run
would take the package gigabytes. There is no HTML preview: the package would put the run's values
into it unescaped.
"""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rocrate.model.computerlanguage import ComputerLanguage
from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from scicore.exports.crate_files import Placed, place
from scicore.exports.crate_run import (
    ORGANIZED,
    RUN,
    Crate,
    activation_id,
    file_properties,
    relation_properties,
    run_entities,
    user_id,
)
from scicore.exports.crate_workflow import (
    LANGUAGE,
    LICENSE,
    PROFILES,
    PROVENANCE,
    TERMS_CONTEXT,
    Entity,
    ref,
    refs,
    specification_file,
    workflow_entities,
    workflow_properties,
)
from scicore.exports.csv_files import write_csv
from scicore.exports.formats import FORMATS, Options, Written
from scicore.exports.lineage import DataFile, lineage
from scicore.exports.snapshot import Head, Records, Snapshot
from scicore.exports.tables import relation_table

VERSION = "1.1"  # of RO-Crate: what the profile builds upon
METADATA = "ro-crate-metadata.json"


def write(records: Records, target: Path, options: Options) -> Written:
    snapshot = records.snapshot()
    if FORMATS["ro-crate"].makes_directory(target):
        return _write_directory(snapshot, target, options)
    with TemporaryDirectory(prefix="crate-", dir=target.parent) as directory:
        written = _write_directory(snapshot, Path(directory, "crate"), options)
        _zip(Path(directory, "crate"), target)
    return Written((), written.records, written.warnings)


def _write_directory(snapshot: Snapshot, target: Path, options: Options) -> Written:
    """Our own files go to their place first; the package copies the others and describes all."""
    head, known = snapshot.head, lineage(snapshot)
    target.mkdir()
    specification = target / specification_file(head)
    specification.write_text(head.source, encoding="utf-8")
    relation_files = {}
    for relation in head.workflow.relations:
        table = relation_table(relation, snapshot.tuples_of(relation.name))
        relation_files[relation.name] = f"{table.name}.csv"
        write_csv(table, target / relation_files[relation.name])
    placed = {file: place(file, head, options) for file in known.files}
    ids = {file: where.id for file, where in placed.items()}
    crate = Crate(snapshot, known, ids, relation_files)
    package = _described(crate, placed, target)
    package.write(target)
    described = package.metadata.generate()
    entities = chain(described["@graph"], run_entities(crate))
    kinds = _write_metadata(described["@context"], entities, target / METADATA)
    files = sorted(str(path.relative_to(target)) for path in target.rglob("*") if path.is_file())
    return Written(tuple(files), kinds, _warnings(placed))


def _described(crate: Crate, placed: dict[DataFile, Placed], target: Path) -> Any:
    """The crate as the package has it: everything but what the run did."""
    head = crate.head
    package = ROCrate(version=VERSION)
    package.metadata.extra_contexts.append(TERMS_CONTEXT)
    for entity in workflow_entities(head):
        kind = ComputerLanguage if entity["@id"] == LANGUAGE else ContextEntity
        package.add(kind(package, entity["@id"], entity))
    package.add_workflow(
        target / specification_file(head),
        specification_file(head),
        main=True,
        lang=package.get(LANGUAGE),
        properties=workflow_properties(head, {row.activity for row in crate.happened}),
    )
    for relation, file in crate.relation_files.items():
        package.add_file(target / file, file, properties=relation_properties(relation))
    for file_, where in placed.items():
        package.add_file(where.source, where.destination, properties=file_properties(file_))
    _describe_root(package.root_dataset, crate, head)
    return package


def _describe_root(root: Any, crate: Crate, head: Head) -> None:
    run = head.run
    root["name"] = f"Run {run.run_id} of {run.workflow}"
    root["description"] = (
        f"Run {run.run_id} of the workflow {run.workflow}, {run.state}, executed by "
        f"SciCumulus-RL {run.version}: {head.workflow.description or 'no description'}"
    )
    root["datePublished"] = head.taken_at.isoformat(timespec="seconds")
    root["license"] = ref(LICENSE)
    root["author"] = ref(user_id(head))
    actions = [activation_id(row) for row in crate.happened]
    # Before anything ran there is no provenance of tools, which that profile is about.
    root["conformsTo"] = refs(id for id in PROFILES if actions or id != PROVENANCE)
    root["mentions"] = refs([RUN, *([ORGANIZED] if actions else []), *actions])


def _write_metadata(context: Any, entities: Iterable[Entity], file: Path) -> Counter[str]:
    """How many entities of which type there are. A property with no values is left out."""
    kinds: Counter[str] = Counter()
    with file.open("w", encoding="utf-8") as stream:
        stream.write(f'{{"@context": {json.dumps(context)},\n"@graph": [')
        for number, entity in enumerate(entities):
            said = {name: value for name, value in entity.items() if value != []}
            stream.write(",\n" if number else "\n")
            stream.write(json.dumps(said, ensure_ascii=False))
            types = entity["@type"]
            kinds.update(types if isinstance(types, list) else [types])
        stream.write("\n]}\n")
    return kinds


def _warnings(placed: dict[DataFile, Placed]) -> tuple[str, ...]:
    reasons = Counter(where.why_not for where in placed.values() if where.why_not)
    return tuple(
        f"{'1 file is' if count == 1 else f'{count} files are'} referred to, not copied: {reason}"
        for reason, count in reasons.items()
    )


def _zip(directory: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(directory.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(directory))
