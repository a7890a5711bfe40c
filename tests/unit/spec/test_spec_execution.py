"""What a specification says of its execution: limits, retries, machine types."""

from __future__ import annotations

import pytest

from scicore.model.cloud import VmType
from tests.unit.spec.loader import Broken, Load, the_only


def test_constraints_name_the_run_and_limit_it(load: Load) -> None:
    constraint = (
        '<constraint workflow_exectag="other" max_time="3600" max_financial_cost="2.5"'
        ' max_vm_amount="20"/>'
    )
    loaded = load(("<conc", f"{constraint}<conc"))
    workflow = loaded.workflow
    assert (workflow.execution_tag, workflow.max_time_s) == ("other", 3600.0)
    assert (workflow.max_cost_usd, workflow.max_vm_amount) == (2.5, 20)
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("written", "redundancy", "reliability"),
    [
        ('redundancy="true" reliability="0.9"', True, 0.9),
        ('redundancy="T" reliability="1"', True, 1.0),
        ('redundancy="FALSE" reliability="0"', False, 0.0),
        ('redundancy="" reliability=""', False, 0.0),
        ("", False, 0.0),
    ],
)
def test_an_execution_says_what_to_do_about_trouble(
    written: str, redundancy: bool, reliability: float, load: Load
) -> None:
    workflow = load(('"demo-1"', f'"demo-1" {written}')).workflow
    assert (workflow.redundancy, workflow.reliability) == (redundancy, reliability)


@pytest.mark.parametrize("bad", ["1.5", "-0.1", "90%", "nan", "high"])
def test_a_reliability_is_a_share(bad: str, broken: Broken) -> None:
    defect = the_only(broken(('"demo-1"', f'"demo-1" reliability="{bad}"')))
    assert defect.found == f'reliability="{bad}"'
    assert defect.expected == "a share from 0 to 1, as in 0.9"


def test_without_constraints_there_are_no_limits(load: Load) -> None:
    workflow = load(("<conc", '<constraint max_time="" max_vm_amount=""/><conc')).workflow
    assert (workflow.max_time_s, workflow.max_cost_usd, workflow.max_vm_amount) == (0, 0, 0)


@pytest.mark.parametrize(
    ("attribute", "value", "expected"),
    [
        *(("max_time", bad, "a number of seconds above 0") for bad in ("0", "-1", "soon", "nan")),
        *(("max_time", bad, "a number of seconds above 0") for bad in ("inf", "1_0", "1e999")),
        ("max_financial_cost", "$5", "a number of US dollars above 0"),
        ("max_vm_amount", "2.5", "a whole number from 1 up"),
        ("max_vm_amount", "0", "a whole number from 1 up"),
    ],
)
def test_a_limit_must_be_a_number_above_0(
    attribute: str, value: str, expected: str, broken: Broken
) -> None:
    defect = the_only(broken(("<conc", f'<constraint {attribute}="{value}"/>\n<conc')))
    assert (defect.line, defect.found) == (3, f'{attribute}="{value}"')
    assert defect.expected == expected


def test_what_the_original_balances_by_weights_is_explained(load: Load) -> None:
    constraint = '<constraint cores="2" alfa1="0.5" total_ram="24" performance="false"/>'
    told = load(("<conc", constraint + "<conc")).warnings
    assert len(told) == 3
    assert "cores of <constraint> has no effect: the fleet says" in told[1]
    assert "alfa1 of <constraint> has no effect: the objective is chosen when" in told[0]


MACHINES = """<machineTypes>
<vm type="t2.micro" cores="1" ram="1" gflops="10" financial_cost="0.0116"/>
<vm type="t2.2xlarge" cores="8" ram="0.5" gflops="12.5" financial_cost="0.3712" platform="64"/>
<vm type="plain" cores="2"/>
</machineTypes>
<conc"""


def test_machine_types_arrive_with_speeds_relative_to_the_slowest(load: Load) -> None:
    loaded = load(("<conc", MACHINES))
    assert loaded.workflow.machine_types == (
        VmType("t2.micro", 1, 1024, speed=1.0, price_usd_per_hour=0.0116),
        VmType("t2.2xlarge", 8, 512, speed=1.25, price_usd_per_hour=0.3712),
        VmType("plain", 2, 0, speed=1.0, price_usd_per_hour=0.0),
    )
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "found", "expected"),
    [
        ('"plain"', '"t2.micro"', 6, "the VM type t2.micro twice", "every VM type once"),
        ('"plain"', '"local"', 6, 'type="local"', "local is this machine"),
        ('"plain"', '"a,b"', 6, 'type="a,b"', "as in t2.micro"),
        ('cores="2"', 'cores="0"', 6, 'cores="0"', "a whole number from 1 up"),
        (' cores="2"', "", 6, "<vm> with no cores", 'cores="…"'),
        ('ram="1"', 'ram="a lot"', 4, 'ram="a lot"', "a number of gigabytes above 0"),
        ('gflops="10"', 'gflops="-1"', 4, 'gflops="-1"', "a number of gigaflops above 0"),
    ],
)
def test_a_machine_type_that_makes_no_sense_is_told(
    old: str, new: str, line: int, found: str, expected: str, broken: Broken
) -> None:
    defect = the_only(broken(("<conc", MACHINES.replace(old, new))))
    assert (defect.line, defect.found) == (line, found)
    assert expected in defect.expected
