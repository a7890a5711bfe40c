"""What should happen to machines, decided without a provider."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from provisioning.catalog import CATALOG
from provisioning.fleet import architecture, groups, judge, lacking, sees_its_tags, substitutes
from provisioning.provider import Machine, MachineState, Remnant
from scicore.model.cloud import Vm, parse_fleet
from scicore.model.cluster import ClusterRecord, Instance, Intent, Wanted

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
MACHINE = Machine(
    id="i-1",
    vm="t2.micro-1",
    vm_type="t2.micro",
    state=MachineState.RUNNING,
    cluster="m",
    owner="ada",
    token="scicumulus-1",
    launched_at=NOW - HOUR,
    lease_until=NOW + HOUR,
)
INTENT = Intent("scicumulus-1", CATALOG["t2.micro"], ("t2.micro-1",), False, NOW - HOUR, NOW + HOUR)
RECORD = ClusterRecord(
    "m", "ada", "ec2", "1xt2.micro", None, NOW + HOUR, NOW - HOUR, complete=True, intents=(INTENT,)
)
REMNANT = Remnant("m", "ada", NOW + HOUR)


def verdict(
    machine: Machine = MACHINE, record: ClusterRecord | None = RECORD, busy: tuple[str, ...] = ()
) -> tuple[bool, str]:
    records = [record] if record else []
    (found,) = judge([machine], [], records, busy, "ada", NOW).verdicts
    return found.end, found.why


def test_one_request_has_vms_of_one_type_with_consecutive_numbers() -> None:
    vms = parse_fleet("2xt2.micro,1xm5.large,9xt2.micro", CATALOG).vms
    without = [vm for vm in vms if vm.id not in ("t2.micro-3", "t2.micro-4")]
    assert [(kind.name, ids) for kind, ids in groups(without)] == [
        ("m5.large", ("m5.large-1",)),
        ("t2.micro", ("t2.micro-1", "t2.micro-2")),
        ("t2.micro", tuple(f"t2.micro-{number}" for number in range(5, 12))),
    ]


def test_a_substituted_vm_keeps_its_id() -> None:
    vm = Vm("t2.micro-7", CATALOG["t3.small"])
    assert groups([vm]) == [(CATALOG["t3.small"], ("t2.micro-7",))]


def test_a_cluster_lacks_what_is_gone_and_was_not_replaced() -> None:
    def launched(vm: str, ended: bool = False) -> Intent:
        instance = Instance(f"i-{vm}", vm, NOW - HOUR, NOW if ended else None)
        return replace(INTENT, vms=(vm,), instances=(instance,))

    one, two, three = (f"t2.micro-{number}" for number in (1, 2, 3))
    both = replace(RECORD, fleet="2xt2.micro", intents=(launched(one), launched(two)))
    ended = replace(MACHINE, state=MachineState.ENDED)
    assert lacking(both, [MACHINE, replace(MACHINE, vm=two)]) == []
    assert lacking(both, [ended, replace(MACHINE, vm=two)]) == [one]
    assert lacking(both, []) == [one, two]  # a provider forgets what has ended
    # The second was replaced by a third when it had notice; then it went, and the first, too.
    replaced = replace(both, intents=(launched(one, ended=True), launched(two), launched(three)))
    third = replace(MACHINE, vm=three)
    assert lacking(replaced, [replace(MACHINE, vm=one), third]) == []
    assert lacking(replaced, [third]) == [two]
    assert lacking(replaced, []) == [two, three]


def test_substitutes_can_do_the_work_and_the_cheapest_comes_first() -> None:
    wanted = CATALOG["m5.large"]
    found = substitutes(wanted, CATALOG, {"m5.large"})
    assert [each.name for each in found[:2]] == ["r5.large", "c5.xlarge"]
    for each in found:
        assert each.slots >= wanted.slots
        assert each.memory_mb >= wanted.memory_mb
        assert each.speed >= wanted.speed
        assert architecture(each.name) == "x86_64"
    assert "r5.large" not in [each.name for each in substitutes(wanted, CATALOG, {"r5.large"})]


def test_arm_is_told_from_x86_by_the_family() -> None:
    assert {architecture(name) for name in ("a1.4xlarge", "t4g.micro", "c7gn.large")} == {"arm64"}
    assert {architecture(name) for name in ("t2.micro", "g4dn.xlarge", "c5n.large")} == {"x86_64"}


def test_a_machine_with_a_lease_is_kept() -> None:
    assert verdict() == (False, "leased until 2026-01-01 13:00 UTC")
    assert verdict(record=None)[0] is False


def test_a_machine_that_outlived_its_lease_is_ended_whatever_the_ledger_says() -> None:
    old = replace(MACHINE, lease_until=NOW)
    for record in (None, RECORD):
        assert verdict(old, record) == (True, "its lease ended at 2026-01-01 12:00 UTC")


def test_a_machine_of_a_launch_that_was_given_up_or_of_an_ended_cluster_is_ended() -> None:
    assert verdict(record=replace(RECORD, complete=False))[0] is True
    assert verdict(record=replace(RECORD, wanted=Wanted.DOWN))[0] is True


def test_a_machine_of_the_same_cluster_name_that_was_launched_elsewhere_is_kept() -> None:
    stranger = replace(MACHINE, token="scicumulus-2")
    assert verdict(stranger, replace(RECORD, complete=False))[0] is False


def test_others_machines_and_those_that_somebody_works_on_are_kept() -> None:
    old = replace(MACHINE, lease_until=NOW - HOUR)
    assert verdict(replace(old, owner="bob")) == (False, "belongs to bob")
    assert verdict(old, busy=("m",)) == (False, "a command is at work on its cluster")


def test_what_is_ending_already_needs_no_verdict() -> None:
    ended = [replace(MACHINE, state=each) for each in (MachineState.ENDED, MachineState.ENDING)]
    assert judge(ended, [], [], (), "ada", NOW).verdicts == ()


def test_key_and_fence_go_when_no_machine_needs_them_and_nobody_may_come_back() -> None:
    over = replace(REMNANT, lease_until=NOW)

    def removed(remnant: Remnant, *records: ClusterRecord, machine: Machine | None = None) -> bool:
        machines = [machine] if machine else []
        return judge(machines, [remnant], records, (), "ada", NOW).dismantle == ("m",)

    assert removed(over)
    assert removed(REMNANT, replace(RECORD, wanted=Wanted.DOWN))
    assert not removed(REMNANT)  # another computer may be about to launch
    assert not removed(REMNANT, RECORD)
    assert not removed(over, machine=MACHINE)
    assert removed(over, machine=replace(MACHINE, lease_until=NOW))
    assert not removed(replace(over, owner="bob"))


def test_vms_without_the_nitro_system_do_not_see_their_tags_change() -> None:
    assert [sees_its_tags(name) for name in ("t2.micro", "m4.large", "i3.large")] == [False] * 3
    assert [sees_its_tags(name) for name in ("t3.micro", "m5.large", "i3en.large")] == [True] * 3
