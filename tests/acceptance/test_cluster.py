"""`scicumulus cluster` as a user types it, against EC2's stand-in; and where no secret may go."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from scicore.provenance.postgres_home import binary
from tests.acceptance.console import SCICUMULUS, Console, Said, eventually, finish
from tests.acceptance.test_secrets import command_lines
from tests.acceptance.workflows import Step, write_workflow
from tests.integration.ec2_account import alive, client
from tests.integration.ec2_stand_in import Ec2Server

CANARY = "c4nary+secret/of/the/account"
HERE = ("--reachable-from", "192.0.2.7/32")
CATALOG_TYPE = '[[vm_type]]\nname = "t2.micro"\nslots = 1\nprice_usd_per_hour = 0.5\n'


@pytest.fixture
def user(console: Console, ec2: Ec2Server) -> Console:
    """With an AWS account whose secret key is a canary."""
    console.extra |= ec2.environment(CANARY)
    console.extra |= {
        "SCICUMULUS_CLOUD_POLL_S": "0.05",
        "SCICUMULUS_CLOUD_SETTLE_S": "1",
        "SCICUMULUS_OWNER": "ada",
        # a catalog that the tests' home might have would change the prices
        "SCICUMULUS_CATALOG": str(console.directory / "catalog.toml"),
    }
    return console


def test_a_cluster_comes_as_priced_is_listed_and_goes(user: Console) -> None:
    up = ("cluster", "up", "--fleet", "2xt2.micro,1xt2.2xlarge", "--name", "m", *HERE)
    unasked = user(*up)
    assert unasked.code == 4  # nobody said yes
    assert "2 x t2.micro at $0.0116/h (us-east-1) = $0.0232/h" in unasked.err
    assert "together $0.3944/h" in unasked.err
    assert user(*up, "--yes", "--budget", "0.39").code == 4
    assert alive() == []

    said = user(*up, "--yes", "--budget", "0.40", "--json")
    assert said.code == 0, said
    assert said.document["usd_per_hour"] == pytest.approx(0.3944)
    assert [each["vm"] for each in said.document["machines"]] == [
        "t2.2xlarge-1",
        "t2.micro-1",
        "t2.micro-2",
    ]
    assert Path(said.document["private_key"]).stat().st_mode & 0o777 == 0o600

    listed = user("cluster", "ls", "--json").document
    assert {each["state"] for each in listed["machines"]} == {"running"}
    assert 0 < listed["cost_usd"] < 0.39
    assert all(each["age_s"] >= 0 for each in listed["machines"])
    told = user("cluster", "renew", "m", "--lease", "3h", "--json")
    renewed = told.document
    # t2 does not see its tags change, and whose host key nobody reports is not spoken to.
    assert (told.code, set(renewed["untold"])) == (3, {"t2.micro-1", "t2.micro-2", "t2.2xlarge-1"})
    swept = user("cluster", "sweep", "--json").document
    assert swept["ended"] == 0
    leases = {each["lease_until"][:16] for each in swept["machines"]}
    assert leases == {renewed["lease_until"][:16]}

    ended = user("cluster", "down", "m", "--json").document
    assert ended["ended"] == 3
    assert ended["spent_usd"] > 0
    assert alive() == []
    assert not Path(said.document["private_key"]).exists()
    assert user.rows("SELECT outcome FROM intent JOIN cluster USING (cluster_id) WHERE name='m'")


def test_a_plan_is_launched_within_the_limits_of_its_workflow(user: Console) -> None:
    spec = write_workflow(user.directory / "wf", [Step("a")], [("1",), ("2",)])
    text = spec.read_text()
    assert "<constraint" not in text
    root = text.index("<conceptualWorkflow")
    limit = '<constraint workflow_exectag="x" cores="1" max_financial_cost="{}" max_vm_amount="2"/>'

    def plan(cost: str) -> str:
        spec.write_text(f"{text[:root]}{limit.format(cost)}\n{text[root:]}")
        said = user("plan", spec, "--fleet", "2xt2.micro", "--algorithm", "heft", "--json")
        assert said.code == 0, said
        return str(said.document["plan_id"])

    refused = user("cluster", "up", "--plan", plan("0.0000001"), "--yes", *HERE)
    assert refused.code == 4
    assert "the workflow's max_financial_cost" in refused.err
    number = plan("1")
    said = user("cluster", "up", "--plan", number, "--yes", "--json", *HERE)
    assert said.code == 0, said
    assert said.document["cluster"] == f"plan-{number}"
    assert 0 < said.document["expected_usd"] < said.document["most_usd"]
    assert {"Key": "scicumulus:run", "Value": f"plan {number}"} in alive()[0]["Tags"]
    ended = user("cluster", "down", f"plan-{number}", "--json").document
    assert ended["estimate_usd"] == said.document["expected_usd"]

    # A plan that was made before the workflow allowed less.
    user.rows(
        "UPDATE workflow SET definition = jsonb_set(definition, '{max_vm_amount}', '1')"
        " FROM plan WHERE plan.workflow_id = workflow.workflow_id AND plan_id = %s RETURNING 1",
        number,
    )
    refused = user("cluster", "up", "--plan", number, "--yes", *HERE)
    assert refused.code == 2
    assert "has 2 VMs; its workflow allows max_vm_amount=1" in refused.err
    assert alive() == []


def test_a_cluster_that_nobody_knows_is_not_ended_but_told(user: Console) -> None:
    said = user("cluster", "down", "nosuch")
    assert said.code == 2, said
    assert "there is no cluster nosuch of ada at ec2 in us-east-1" in said.err
    assert (
        user("cluster", "down", "nosuch", "--database-url", "postgresql://127.0.0.1:9/x").code == 2
    )


def test_a_run_in_the_cloud_is_refused_where_vms_could_not_connect_to_the_master(
    user: Console, ec2: Ec2Server
) -> None:
    spec = write_workflow(user.directory / "far", [Step("a")], [("1",)])
    said = user("run", spec, "--cloud", "--fleet", "1xt2.micro", "--yes")
    assert said.code == 3, said
    assert "this computer is not in the network of the VMs (172.31.0.0/16)" in said.err
    assert "nothing was launched" in said.err
    assert "RunInstances" not in ec2.calls()


def test_bad_orders_are_refused_before_anything_happens(user: Console, ec2: Ec2Server) -> None:
    orders = (
        (("up", "--yes"), "give either --plan ID or --fleet"),
        (("up", "--fleet", "2xlocal", "--yes"), "cannot be rented"),
        (("up", "--fleet", "1xt2.micro", "--name", "a b", "--yes"), "cluster name 'a b'"),
        (("down", "m", "--owner", "a*"), "owner 'a*'"),
        (("ls", "--provider", "moon"), "provider 'moon' is not known"),
        (("prices", "x9.huge"), "not known: x9.huge"),
    )
    answers = user.together([("cluster", *words) for words, _ in orders])
    for (_, told), said in zip(orders, answers, strict=True):
        assert (said.code, told in said.err) == (2, True), said
    assert ec2.calls() == []


def test_prices_are_refreshed_into_the_users_catalog_and_used(user: Console) -> None:
    (user.directory / "catalog.toml").write_text(CATALOG_TYPE)
    before = user("cluster", "prices", "t2.micro", "--json").document["vm_types"]
    assert [each["price_usd_per_hour"] for each in before] == [0.5]
    said = user("cluster", "prices", "t2.micro", "c5n.large", "--refresh", "--json")
    assert said.code == 0, said
    assert [each["price_usd_per_hour"] for each in said.document["vm_types"]] == [0.42, 0.42]
    offer = user("cluster", "up", "--fleet", "1xt2.micro", "--region", "eu-west-1")
    assert "1 x t2.micro at $0.4200/h (us-east-1)" in offer.err
    assert "warning: these are prices of us-east-1" in offer.err


def test_without_a_database_machines_are_found_by_their_tags(user: Console) -> None:
    up = ("cluster", "up", "--fleet", "1xt2.micro", "--name", "lost", "--yes", *HERE)
    assert user(*up).code == 0
    nowhere = ("--database-url", "postgresql://127.0.0.1:9/none")
    said = user("cluster", "down", "lost", *nowhere)
    assert said.code == 0, said
    assert "going by the machines' tags alone" in said.err
    assert alive() == []
    assert user("cluster", "down", "lost").code == 0  # the database hears of it
    assert user.rows("SELECT 1 FROM cluster WHERE name = 'lost' AND ended_at IS NULL") == []


def test_no_secret_is_in_messages_listings_of_processes_database_or_user_data(
    user: Console, ec2: Ec2Server
) -> None:
    def silent(said: Said) -> Said:
        text = said.out + said.err
        assert CANARY not in text
        assert "PRIVATE KEY" not in text
        return said

    ec2.fail("RunInstances", "RequestLimitExceeded", 503, times=1)  # it takes a moment
    up = ("cluster", "up", "--fleet", "1xt2.micro", "--name", "s", "--yes", "--json", *HERE)
    process = user.start(SCICUMULUS, *up)
    shown = eventually(lambda: _listing("cluster\0up", process.poll()), "the launch")
    said = silent(finish(process))
    assert said.code == 0, said
    key = Path(said.document["private_key"]).read_text()
    body = "".join(key.splitlines()[1:-1])
    secrets = (CANARY, body, body[60:120], "PRIVATE KEY")
    assert [secret for secret in secrets if secret in shown] == []

    (machine,) = said.document["machines"]
    told = client().describe_instance_attribute(InstanceId=machine["id"], Attribute="userData")
    user_data = base64.b64decode(told["UserData"]["Value"]).decode()
    assert [secret for secret in secrets if secret in user_data] == []

    for each in user.together([("cluster", "ls"), ("cluster", "sweep"), ("cluster", "renew", "s")]):
        silent(each)
    ec2.fail("*", "SignatureDoesNotMatch", times=-1)
    refused = silent(user("cluster", "ls"))
    assert refused.code == 3
    assert "does not accept the credentials" in refused.err
    ec2.behave(faults=[])
    silent(user("cluster", "down", "s"))

    dump = user.execute(binary("pg_dump"), "--dbname", user.url)
    assert dump.code == 0, dump.err
    assert "scicumulus-" in dump.out  # the token, so that we know the table is there
    assert [secret for secret in secrets if secret in dump.out] == []


def _listing(words: str, ended: int | None) -> str:
    """All command lines, once ours is among them."""
    shown = command_lines()
    assert ended is None or words in shown, "it ended before anybody looked"
    return shown if words in shown else ""
