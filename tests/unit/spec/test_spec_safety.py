"""Broken and hostile texts: told in one defect, never obeyed, and no secret repeated."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scicore.errors import Defect, SpecificationError
from scicore.spec import load_workflow
from tests.unit.spec.loader import Broken, Load

SECRET = "hunter2"


def test_one_quote_too_many_is_told_with_its_spot_and_with_what_to_write(broken: Broken) -> None:
    """As in an example of the original system."""
    line = '<workspace workflow_dir="/home/ann/example_3""/>'
    (defect,) = broken(("<environment type=", f"{line}\n  <environment type="))
    assert defect.line == 2
    column = 2 + line.index('""') + 2  # indented by two, and columns are counted from 1
    assert f"at column {column} of the line {line}" in defect.found
    told = 'workflow_dir="/home/ann/example_3" with one quote at its end, where there are two'
    assert defect.expected == told


def test_a_missing_blank_between_attributes_is_told(broken: Broken) -> None:
    (defect,) = broken(('type="MAP" ', 'type="MAP"'))
    assert defect.line == 4
    assert 'name="value" with a space between them' in defect.expected


def test_of_a_long_broken_line_the_part_with_the_error_is_shown(broken: Broken) -> None:
    (defect,) = broken(("%=ID%", "a" * 500 + '" "' + "b" * 500))
    assert len(defect.found) < 250
    assert 'aaa" "b' in defect.found


@pytest.mark.parametrize(
    ("old", "new", "line", "expected"),
    [
        ("</activity>", "</activty>", 10, "end tag"),
        ("%=X%", "a && b", 4, "&amp;"),
        ("%=X%", "a &nbsp; b", 4, "&amp;"),
        ("</SciCumulus>\n", "", 14, "still open"),
        ('"LOCAL"', "LOCAL", 2, "quotes"),
        ('type="LOCAL"', 'type="A" type="B"', 2, "once"),
        ("<SciCumulus>", "<a/><SciCumulus>", 1, "one root"),
        ('"square"', '"square', 4, 'name="value"'),
    ],
)
def test_a_syntax_error_is_one_defect_with_what_to_write(
    old: str, new: str, line: int, expected: str, broken: Broken
) -> None:
    (defect,) = broken((old, new))
    assert abs(defect.line - line) <= 1  # at the end of the text libxml2 counts the line behind it
    assert expected in defect.expected


def test_an_empty_file_is_told(broken: Broken) -> None:
    (defect,) = broken(xml="")
    assert (defect.line, "<SciCumulus>" in defect.expected) == (1, True)


def test_billion_laughs_are_refused_before_they_are_parsed(broken: Broken) -> None:
    entities = '<!ENTITY a "ha">\n' + "".join(
        f'<!ENTITY {name} "{f"&{before};" * 10}">\n'
        for before, name in zip("abcdefghi", "bcdefghij", strict=True)
    )
    doctype = f"<!-- hi -->\n<!DOCTYPE SciCumulus [{entities}]>\n<SciCumulus>"
    (defect,) = broken(("<SciCumulus>", doctype), ("%=X%", "&j;"))
    assert defect.line == 2
    assert "DOCTYPE" in defect.found
    assert "without" in defect.expected


def test_an_external_entity_is_refused_and_its_file_not_read(
    broken: Broken, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text(SECRET)
    doctype = f'<!DOCTYPE x [<!ENTITY e SYSTEM "file://{tmp_path}/secret.txt">]>\n<SciCumulus>'
    (defect,) = broken(("<SciCumulus>", doctype), ("</activity>", "&e;</activity>"))
    assert (defect.line, SECRET in str(defect)) == (1, False)
    assert "DOCTYPE" in defect.found


def test_a_doctype_hidden_by_another_encoding_is_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "workflow.xml"
    path.write_bytes('<!DOCTYPE a [<!ENTITY b "c">]><SciCumulus/>'.encode("utf-16"))
    with pytest.raises(SpecificationError) as caught:
        load_workflow(path)
    assert "DOCTYPE" in caught.value.defects[0].found


def test_deep_nesting_is_refused_by_the_parser(broken: Broken) -> None:
    (defect,) = broken(("</activity>", "<x>" * 5000 + "</x>" * 5000 + "</activity>"))
    assert "not well-formed" in defect.found


def test_an_external_schema_or_stylesheet_is_not_looked_at(load: Load, tmp_path: Path) -> None:
    hints = f'<?xml-stylesheet href="file://{tmp_path}/nowhere.xsl"?>\n<SciCumulus>'
    assert load(("<SciCumulus>", hints)).warnings == ()


def test_xinclude_is_an_unknown_element_and_not_obeyed(broken: Broken, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text(SECRET)
    include = (
        f'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" parse="text"'
        f' href="{tmp_path}/secret.txt"/><conc'
    )
    (defect,) = broken(("<conc", include))
    assert "include> inside <SciCumulus>" in defect.found
    assert SECRET not in str(defect)


def test_utf16_is_refused_with_what_to_write(tmp_path: Path) -> None:
    path = tmp_path / "workflow.xml"
    path.write_bytes("<SciCumulus/>".encode("utf-16"))
    with pytest.raises(SpecificationError) as caught:
        load_workflow(path)
    assert caught.value.defects[0].expected == "a file in UTF-8"


def test_a_declared_encoding_is_understood(tmp_path: Path, load: Load) -> None:
    source = load().source.replace('tag="demo"', 'tag="demo" description="é"')
    text = f'<?xml version="1.0" encoding="ISO-8859-1"?>\n{source}'
    (tmp_path / "latin.xml").write_bytes(text.encode("latin-1"))
    loaded = load_workflow(tmp_path / "latin.xml")
    assert (loaded.workflow.description, loaded.source) == ("é", text)


@pytest.mark.parametrize(
    "element",
    [
        f'<credentials access_key="AKIA" secret_access_key="{SECRET}"/>',
        f"<credentials>{SECRET}</credentials>",
        f"<credentials><secret_access_key>{SECRET}</secret_access_key></credentials>",
        f'<machineTypes password="{SECRET}"><vm type="m" cores="1"/></machineTypes>',
        f'<machineTypes><vm type="m" cores="1" password="{SECRET}"/></machineTypes>',
        f'<environment type="LOCAL" access_key="{SECRET}"/>',
    ],
)
def test_credentials_are_refused_with_the_right_way_and_without_their_value(
    element: str, broken: Broken
) -> None:
    defects = broken(('<environment type="LOCAL"/>', element))
    assert all(defect.line == 2 for defect in defects)
    assert all("aws configure" in defect.expected for defect in defects)
    assert not any(value in str(defect) for defect in defects for value in (SECRET, "AKIA"))


@pytest.mark.parametrize("name", ["PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "MY_API_KEY"])
def test_a_secret_in_an_environment_variable_is_refused_without_its_value(
    name: str, broken: Broken
) -> None:
    variable = f'<environment name="{name}" value="{SECRET}"/>\n</activity>'
    (defect,) = broken(("</activity>", variable))
    assert defect.line == 10
    assert defect.found == f"the value of the secret variable {name}"
    assert "set the variable where scicumulus is started" in defect.expected
    assert SECRET not in str(defect)


@pytest.mark.parametrize("name", ["PWD", "TOKENIZERS_PARALLELISM", "KEYBOARD", "OMP_NUM_THREADS"])
def test_a_variable_that_only_sounds_a_little_secret_is_fine(name: str, load: Load) -> None:
    variable = f'<environment name="{name}" value="1"/></activity>'
    assert load(("</activity>", variable)).workflow.activities[0].environment == ((name, "1"),)


def test_empty_credentials_are_only_a_warning(load: Load) -> None:
    loaded = load(("<conc", '<credentials access_key=""/><conc'))
    assert "<credentials> is not used" in loaded.warnings[0]


def test_a_database_password_is_not_used_and_masked_in_the_source(load: Load) -> None:
    database = f'<database name="a>b" server="h"\n  password = "{SECRET}" port="5432"/>\n'
    loaded = load(("<conc", database + "<conc"))
    assert f"{database}".replace(SECRET, "***") in loaded.source
    unused, password = loaded.warnings
    assert "<database> is not used" in unused
    assert ":4: the password in <database> is not used" in password
    assert SECRET not in repr(loaded)


def test_a_source_without_password_is_left_as_it_is(load: Load) -> None:
    database = '<database name="scc" password="" server="h"/>'
    command = "%=X% --password='%=ID%'"
    loaded = load(("<conc", database + "<conc"), ("%=X%", command))
    assert database in loaded.source
    assert command in loaded.source


@pytest.mark.parametrize(
    "comment",
    [
        f'<!-- <database password="{SECRET}"/> -->',
        f"<!-- password={SECRET} -->",
        f'<!-- <database password="x --><database password="{SECRET}"/>',
        f"<database name='password=' password='{SECRET}'/>",
    ],
)
def test_a_password_in_or_behind_a_comment_is_masked_too(comment: str, load: Load) -> None:
    assert SECRET not in load(("<conc", comment + "<conc")).source


@pytest.mark.parametrize(
    "line",
    [
        f'<database password="{SECRET}""/>',
        f'<database password="{SECRET}/>',
        f'<database password=""{SECRET}"/>',
        f'<database password="a&{SECRET};b"/>',
        f"<database password=\n{SECRET} />",
        f'<database password="first\n{SECRET}&" />',
        f"<credentials><secret_access_key>{SECRET}</secret_access_ky></credentials>",
    ],
)
def test_a_broken_line_with_a_secret_is_not_shown(line: str, broken: Broken) -> None:
    (defect,) = broken(("<conc", f"{line}\n<conc"))
    assert SECRET not in str(defect)
    assert defect.line >= 3


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    at=st.integers(0, 800),
    cut=st.integers(0, 30),
    put=st.text(alphabet="<>\"'&;=/!-[]? abX\n%", max_size=12),
)
def test_any_slip_of_the_keyboard_gives_a_workflow_or_a_specification_error(
    load: Load, at: int, cut: int, put: str
) -> None:
    source = load().source
    slipped = source[:at] + put + source[at + cut :]
    defects: tuple[Defect, ...] = ()
    try:
        load(xml=slipped)
    except SpecificationError as error:
        defects = error.defects
    assert all(0 <= defect.line <= slipped.count("\n") + 1 for defect in defects)
