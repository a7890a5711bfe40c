"""Small WfFormat documents of both versions, and what tests ask of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scicore.errors import Defect
from scicore.model.trace import Trace

NEW: dict[str, Any] = {
    "name": "tiny",
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {
                    "name": "join_ID2",
                    "id": "join_ID2",
                    "parents": ["split_ID1"],
                    "children": [],
                    "inputFiles": ["a", "b"],
                    "outputFiles": ["c"],
                },
                {
                    "name": "split_ID1",
                    "id": "split_ID1",
                    "parents": [],
                    "children": ["join_ID2"],
                    "outputFiles": ["a", "b"],
                },
            ],
            "files": [
                {"id": "a", "sizeInBytes": 10},
                {"id": "b", "sizeInBytes": 20},
                {"id": "c", "sizeInBytes": 30.0},
            ],
        },
        "execution": {
            "makespanInSeconds": 3,
            "executedAt": "20200408T154143+0000",
            "tasks": [
                {
                    "id": "split_ID1",
                    "runtimeInSeconds": 1.5,
                    "coreCount": 1.5,
                    "memoryInBytes": 3_000_000,
                    "command": {"program": "./split", "arguments": ["x"]},
                },
                {"id": "join_ID2", "runtimeInSeconds": 2, "command": {"program": "join"}},
            ],
            "machines": [
                {"nodeName": "m", "memoryInBytes": 131795984000, "cpu": {"coreCount": 48}}
            ],
        },
    },
}

OLD: dict[str, Any] = {
    "name": "tiny",
    "schemaVersion": "1.4",
    "wms": {"name": "Pegasus", "version": "4.9"},
    "workflow": {
        "executedAt": "2020-12-28T03:25:55+00:00",
        "machines": [{"nodeName": "m", "cpu": {"count": 24}}],
        "tasks": [
            {
                "name": "join_ID2",
                "id": "ID2",
                "type": "compute",
                "parents": ["split_ID1"],
                "files": [
                    {"link": "input", "name": "a", "sizeInBytes": 10},
                    {"link": "output", "name": "c", "sizeInBytes": 30},
                ],
                "runtimeInSeconds": 2,
                "cores": 4.0,
                "category": "Join",
            },
            {
                "name": "split_ID1",
                "id": "ID1",
                "type": "compute",
                "children": ["join_ID2"],
                "files": [{"link": "output", "name": "a", "sizeInBytes": 10}],
                "runtimeInSeconds": 1.5,
                "memoryInBytes": 94_720_000,
                "machine": "m",
            },
        ],
    },
}

Load = Callable[[Any], Trace]
Broken = Callable[[Any], tuple[Defect, ...]]


def tasks_of(document: dict[str, Any]) -> Any:
    return document["workflow"]["specification"]["tasks"]


def runs_of(document: dict[str, Any]) -> Any:
    return document["workflow"]["execution"]["tasks"]
