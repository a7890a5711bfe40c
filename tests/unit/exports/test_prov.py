"""W3C PROV: written and read by the package `prov`, and true to its constraints."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scicore.exports.formats import Options
from scicore.exports.snapshot import Snapshot
from scicore.model.workflow import Activity, Operator
from tests.unit.exports import building as b

pytest.importorskip("prov", reason="the extra `exports` is not installed")

from prov import constants as prov
from prov.model import (
    ProvActivity,
    ProvAssociation,
    ProvCommunication,
    ProvDerivation,
    ProvDocument,
    ProvGeneration,
    ProvRecord,
    ProvUsage,
)

from scicore.exports import prov_text

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def document() -> ProvDocument:
    return prov_text.document(prov_text.statements(b.snapshot()))


def named(record: ProvRecord, attribute: Any) -> str:
    """The local name of what a formal attribute refers to."""
    [value] = record.get_attribute(attribute)
    return str(value.localpart)


def pairs(document: ProvDocument, kind: type[Any], first: Any, second: Any) -> set[tuple[str, str]]:
    return {
        (named(record, first).removeprefix("12/"), named(record, second).removeprefix("12/"))
        for record in document.get_records(kind)
    }


def kinds(document: ProvDocument) -> Counter[str]:
    return Counter(prov.PROV_N_MAP[record.get_type()] for record in document.records)


def test_everything_that_happened_is_told_once(document: ProvDocument) -> None:
    assert kinds(document) == {
        "agent": 4,  # user, software, two VMs
        "entity": 1 + 4 + 1 + 8 + 4,  # workflow, activities, plan, tuples, files
        "activity": 1 + 6,  # the run; the blocked activation did not happen
        "wasStartedBy": 6,
        "wasAssociatedWith": 2 + 7,  # one per attempt
        "actedOnBehalfOf": 3,
        "wasAttributedTo": 1 + 2 + 2,  # the plan; tuples and files given by the user
        "used": 7 + 4,
        "wasGeneratedBy": 6 + 2,
        "wasDerivedFrom": 1 + 5,  # the plan; none for the query
    }


def test_lineage_is_that_of_the_run(document: ProvDocument) -> None:
    derived = pairs(
        document,
        ProvDerivation,
        prov.PROV_ATTR_GENERATED_ENTITY,
        prov.PROV_ATTR_USED_ENTITY,
    )
    tuples = {pair for pair in derived if pair[0].startswith("tuple/")}
    expected = {(3, 1), (4, 1), (5, 2), (6, 3), (7, 4)}
    assert tuples == {(f"tuple/{new}", f"tuple/{old}") for new, old in expected}


def test_an_attempt_is_an_association_with_its_vm_and_its_plan(document: ProvDocument) -> None:
    [second] = document.get_record("run:12/attempt/3/2")
    assert named(second, prov.PROV_ATTR_ACTIVITY) == "12/activation/3"
    assert named(second, prov.PROV_ATTR_AGENT) == "12/vm/t2.micro-2"
    assert named(second, prov.PROV_ATTR_PLAN) == "d1ge57/activity/fit"
    assert second.get_attribute("sc:peak_rss_bytes") == {5_000_000_000}
    [first] = document.get_record("run:12/attempt/3/1")
    assert first.get_attribute("sc:cause") == {"exit code"}
    assert first.get_attribute("sc:stderr_tail") == {"no data"}


def test_what_the_master_ran_itself_is_the_softwares(document: ProvDocument) -> None:
    [query] = document.get_record("run:12/attempt/6/1")
    assert named(query, prov.PROV_ATTR_AGENT) == "software/0.1.0"


def test_the_run_follows_the_workflow_and_the_plan(document: ProvDocument) -> None:
    plans = pairs(document, ProvAssociation, prov.PROV_ATTR_AGENT, prov.PROV_ATTR_PLAN)
    assert ("user/ana%20maria", "d1ge57") in plans
    assert ("software/0.1.0", "3") in plans
    for id in ("workflow:d1ge57", "workflow:d1ge57/activity/cut", "plan:3"):
        [entity] = document.get_record(id)
        assert prov.PROV["Plan"] in entity.get_asserted_types()


def test_names_are_urns_that_stay_the_same(document: ProvDocument) -> None:
    uris = {str(record.identifier.uri) for record in document.records if record.identifier}
    assert len(uris) == len(document.records)
    assert {
        "urn:scicumulus:run:12",
        "urn:scicumulus:run:12/tuple/3",
        "urn:scicumulus:run:12/file/3/PIECE",
        "urn:scicumulus:run:12/activation/5",
        "urn:scicumulus:workflow:d1ge57",
        "urn:scicumulus:plan:3",
        "urn:scicumulus:agent:user/ana%20maria",
    } <= uris


def test_every_reference_leads_somewhere(document: ProvDocument) -> None:
    elements = {record.identifier for record in document.records if record.is_element()}
    for record in document.records:
        if record.is_relation():
            for attribute, value in record.formal_attributes:
                if value is not None and attribute != prov.PROV_ATTR_TIME:
                    assert value in elements, (record, attribute)


def test_constraints_hold(document: ProvDocument) -> None:
    """What the package checks (uniqueness), and the order of events, which it does not."""
    assert len(document.unified().records) == len(document.records)
    activities: dict[Any, Any] = {
        record.identifier: record for record in document.get_records(ProvActivity)
    }
    generated = {}
    for record in document.get_records(ProvGeneration):
        entity, activity, at = (value for _, value in record.formal_attributes)
        assert entity not in generated, "generated twice"
        generated[entity] = at
        begin, end = activities[activity].get_startTime(), activities[activity].get_endTime()
        assert begin <= at <= end
    for record in document.get_records(ProvUsage):
        activity, entity, _ = (value for _, value in record.formal_attributes)
        if entity in generated:
            assert generated[entity] <= activities[activity].get_endTime()


def test_explicit_edges_become_communication() -> None:
    tasks = b.relation("tasks", "ID", "PARENTS")
    task = Activity(
        "task", Operator.MAP, "x", tasks, b.SUMMARY, id_field="ID", parents_field="PARENTS"
    )
    run = replace(
        b.snapshot(),
        head=b.head(workflow=replace(b.workflow(), activities=(task,))),
        activations=(b.activation(1, "task"), b.activation(2, "task")),
        attempts=(),
        tuples=(
            b.tuple_(1, "tasks", {"ID": "a", "PARENTS": ""}),
            b.tuple_(2, "tasks", {"ID": "b", "PARENTS": "a"}),
        ),
        used=b.used([(1, 1), (2, 2)]),
        files=(),
    )
    document = prov_text.document(prov_text.statements(run))
    [told] = document.get_records(ProvCommunication)
    assert named(told, prov.PROV_ATTR_INFORMED) == "12/activation/2"
    assert named(told, prov.PROV_ATTR_INFORMANT) == "12/activation/1"


def read_back(run: Snapshot, directory: Path) -> list[ProvDocument]:
    write: dict[str, Callable[..., Any]] = {
        "json": prov_text.write_json,
        "provn": prov_text.write_n,
    }
    documents = []
    for format, writer in write.items():
        target = directory / f"run.{format}"
        target.unlink(missing_ok=True)
        counts = writer(run, target, Options()).records
        options = {"profile": "strict"} if format == "provn" else {}
        read = ProvDocument.deserialize(source=str(target), format=format, **options)
        assert kinds(read) == counts
        documents.append(read)
    json.loads((directory / "run.json").read_text(encoding="utf-8"))
    return documents


@pytest.mark.parametrize("at_once", [1, 3, 2000])
def test_both_texts_read_back_to_the_same_document(
    document: ProvDocument, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(prov_text, "AT_ONCE", at_once)
    assert read_back(b.snapshot(), tmp_path) == [document, document]


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"))


@given(value=TEXTS, name=st.from_regex(r"[^\W\d]\w{0,8}", fullmatch=True), user=TEXTS)
@settings(max_examples=60, deadline=None)
def test_any_value_and_name_survives(
    tmp_path_factory: pytest.TempPathFactory, value: str, name: str, user: str
) -> None:
    run = b.snapshot()
    odd = b.tuple_(1, "stations", {name: value, "MAP": value})
    head = replace(run.head, run=replace(run.head.run, user_name=user or "nobody"))
    run = replace(run, head=head, tuples=(odd, *run.tuples[1:]))
    document = prov_text.document(prov_text.statements(run))
    assert read_back(run, tmp_path_factory.mktemp("prov")) == [document, document]
