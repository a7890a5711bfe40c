"""Nothing secret leaves with an export."""

from __future__ import annotations

import shlex

import pytest
from lxml import etree

from scicore.exports.redaction import clean, clean_specification, clean_variable

SECRET = "hunter2hunter2"


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://ana:{SECRET}@db.example.org:5432/lab",
        f"--dsn=postgresql+psycopg://ana:{SECRET}@db/lab --other",
        f"curl https://ana:{SECRET}@example.org/x",
        f"host=db password={SECRET} user=ana",
        f"host=db password='{SECRET}' user=ana",
        f'{{"password": "{SECRET}"}}',
        f"AWS_SECRET_ACCESS_KEY={SECRET}",
        f"PGPASSWORD={SECRET} psql",
        f"--db-password={SECRET}",
        f'<database password="{SECRET}"/>',
    ],
)
def test_secrets_are_masked_wherever_they_stand(text: str) -> None:
    assert SECRET not in clean(text)
    assert "***" in clean(text)
    assert clean(clean(text)) == clean(text)


@pytest.mark.parametrize(
    "text",
    [
        "python3 /lab/bin/fit.py --passes 3 https://example.org/a:b@c",
        "compare secrets.csv with passwords.csv",
        "a:b@c and //host/path",
        "",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert clean(text) == text


def test_xml_and_commands_stay_well_formed() -> None:
    xml = clean(f"<a><database url='postgresql://u:{SECRET}@h/d' password=\"{SECRET}\"/></a>")
    assert etree.fromstring(xml)[0].get("password") == "***"
    command = clean(shlex.join(["load", f"postgresql://u:{SECRET}@h/d", "a b"]))
    assert shlex.split(command) == ["load", "postgresql://***", "a b"]


def test_a_variable_with_a_telling_name_is_masked_whatever_it_holds() -> None:
    assert clean_variable("API_TOKEN", SECRET) == "***"
    assert clean_variable("THREADS", "4") == "4"


def test_so_it_is_in_the_text_of_the_specification() -> None:
    text = f"""<activity tag="a">
      <environment type="LOCAL"/>
      <environment name="API_TOKEN" value="{SECRET}"/>
      <environment value='{SECRET} > 1'
                   name='LAB_SECRET'/>
      <environment name="THREADS" value="4"/>
    </activity>"""
    cleaned = clean_specification(text)
    values = [each.get("value") for each in etree.fromstring(cleaned)]
    assert values == [None, "***", "***", "4"]
    assert clean_specification(cleaned) == cleaned
