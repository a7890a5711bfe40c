"""A REDUCE over a million tuples: from the flow over the wire into the workspace."""

from __future__ import annotations

from pathlib import Path

from scicore.engine.staging import stage
from scicore.engine.wire import Orders, decode_to_slave, encode
from scicore.execution.flow import Flow
from scicore.execution.messages import Start
from scicore.model.workflow import (
    Activity,
    Dataset,
    Field,
    FieldType,
    Operator,
    Relation,
    Workflow,
)

WIDTH = 1_000_000


def test_a_million_tuples_reach_the_program_of_one_group(tmp_path: Path) -> None:
    numbers = Relation("numbers", (Field("KIND", FieldType.STRING), Field("N", FieldType.FLOAT)))
    total = Activity(
        "total",
        Operator.REDUCE,
        "sum",
        input=numbers,
        output=Relation("sums", numbers.fields),
        operand=("KIND",),
    )
    rows = tuple(("all", str(number)) for number in range(WIDTH))
    workflow = Workflow("wide", (total,), (Dataset(numbers, rows),), str(tmp_path), str(tmp_path))
    (activation,) = Flow(workflow).start().ready
    inputs = tuple(data.row for data in activation.inputs)
    sent = Orders((Start("vm", activation.id, 1, "total", "total/1", inputs),))
    received = decode_to_slave(encode(sent))
    assert isinstance(received, Orders)
    (order,) = received.orders
    assert isinstance(order, Start)
    directories = dict.fromkeys(("WFDIR", "EXPDIR", "RUNDIR"), str(tmp_path))
    stage(str(tmp_path), total, order.rows, directories)
    with (tmp_path / "numbers.hfrag").open() as stream:
        assert next(stream) == "KIND;N\n"
        assert sum(1 for _ in stream) == WIDTH
