"""What activities run and need: commands, extractors, templates, resources, variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from scicore.errors import Defect
from tests.unit.spec.loader import Broken, Load


def activity(attributes: str) -> tuple[str, str]:
    return ('type="MAP"', f'type="MAP" {attributes}')


def child(element: str) -> tuple[str, str]:
    """One more child of the activity, in line 10."""
    return ("</activity>", f"{element}\n</activity>")


def told(defects: tuple[Defect, ...]) -> list[tuple[int, str, str]]:
    return [(defect.line, defect.found, defect.expected) for defect in defects]


@pytest.mark.parametrize("tag", ["ID", "x", "WFDIR", "ExpDir", "CPUS", "memory_mb"])
def test_a_command_may_use_fields_directories_and_what_it_gets(tag: str, load: Load) -> None:
    loaded = load(("%=X%", f"%={tag}%"))
    assert loaded.workflow.activities[0].command == f"bin/square %=ID% %={tag}%"
    assert loaded.warnings == ()


def test_a_tag_that_nobody_fills_in_is_told_with_those_that_are(broken: Broken) -> None:
    known = "%=ID%, %=X%, %=WFDIR%, %=EXPDIR%, %=RUNDIR%, %=CPUS%, %=MEMORY_MB%"
    assert told(broken(("%=X%", "%=IDS%"))) == [
        (4, "the tag %=IDS% in activation", f"one of {known}; did you mean ID?")
    ]


def test_what_it_gets_cannot_be_what_it_asks_for(broken: Broken) -> None:
    ((line, found, _),) = told(broken(activity('memory="%=MEMORY_MB%"')))
    assert (line, found) == (4, "the tag %=MEMORY_MB% in memory")


def test_an_output_field_is_no_tag(broken: Broken) -> None:
    ((line, found, _),) = told(broken(("%=X%", "%=Y%")))
    assert (line, found) == (4, "the tag %=Y% in activation")


@pytest.mark.parametrize("syntax", ["&gt; out", "| tee", "&amp;&amp; b", "$HOME", "`date`"])
def test_shell_syntax_is_refused_with_the_way_out(syntax: str, broken: Broken) -> None:
    ((line, found, expected),) = told(broken(("%=X%", f"%=X% {syntax}")))
    assert line == 4
    assert "run without a shell" in found
    assert "put shell code into a script" in expected


def test_an_extractor_is_an_attribute_or_an_element(load: Load) -> None:
    as_attribute = load(activity('extractor="bin/extract %=ID%"'))
    as_element = load(
        child(
            '<extractor name="e" type="LOADING" cartridge="EXTERNAL_PROGRAM"'
            ' invocation="bin/extract %=ID%"/>'
        )
    )
    for loaded in (as_attribute, as_element):
        assert loaded.workflow.activities[0].extractor == "bin/extract %=ID%"
        assert loaded.warnings == ()


def test_a_cartridge_of_another_kind_is_explained(load: Load) -> None:
    element = '<extractor invocation="e" type="REFERENCING" cartridge="CSV"/>'
    cartridge, kind = load(child(element)).warnings
    assert ":10: cartridge of <extractor> has no effect: an extractor is a program" in cartridge
    assert ":10: type of <extractor> has no effect: an extractor writes ERelation.txt" in kind


def test_an_extractor_in_both_places_is_one_too_many(broken: Broken) -> None:
    defects = broken(activity('extractor="a"'), child('<extractor invocation="b"/>'))
    assert told(defects) == [
        (10, "an extractor as an attribute and as an element", "one of the two")
    ]


@pytest.mark.parametrize(
    ("change", "line", "found"),
    [
        (activity('extractor="e %=Q%"'), 4, "the tag %=Q% in extractor"),
        (child('<extractor invocation="e %=Q%"/>'), 10, "the tag %=Q% in invocation"),
        (child("<extractor/>"), 10, "<extractor> with no invocation"),
        (child('<extractor invocation="a | b"/>'), 10, "shell syntax ('|')"),
    ],
)
def test_an_extractors_command_is_checked_like_any_other(
    change: tuple[str, str], line: int, found: str, broken: Broken
) -> None:
    (defect,) = broken(change)
    assert defect.line == line
    assert found in defect.found


def template(directory: Path, **files: str | bytes) -> None:
    directory.mkdir()
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        (directory / f"{name}.cmd").write_bytes(data)


@pytest.mark.parametrize("path", ["template", "%=WFDIR%/template", "%=EXPDIR%/template"])
def test_a_template_is_a_directory_of_the_workflow(path: str, load: Load, tmp_path: Path) -> None:
    template(tmp_path / "template", experiment="run %=id% %=X% %=WFDIR% %=RUNDIR%\n")
    loaded = load(activity(f'template="{path}"'), ("bin/square %=ID% %=X%", "./experiment.cmd"))
    assert loaded.workflow.activities[0].template == path
    assert loaded.warnings == ()


def test_binary_files_of_a_template_have_no_tags(load: Load, tmp_path: Path) -> None:
    template(tmp_path / "template", table=b"\xff\xfe%=NONSENSE%")
    assert load(activity('template="template"')).warnings == ()


def test_a_missing_template_is_told_with_where_it_was_looked_for(
    broken: Broken, tmp_path: Path
) -> None:
    assert told(broken(activity('template="temp"'))) == [
        (
            *(4, f"the template {tmp_path}/temp, which is not there"),
            "a directory with the files of a workspace",
        )
    ]


def test_a_file_is_no_template(broken: Broken) -> None:
    ((_, found, _),) = told(broken(activity('template="numbers.txt"')))
    assert found.endswith("numbers.txt, which is not a directory")


def test_a_template_is_the_same_for_every_tuple(broken: Broken) -> None:
    assert told(broken(activity('template="%=ID%"'))) == [
        (4, "the tag %=ID% in template", "no other tags than %=WFDIR% and %=EXPDIR%")
    ]


def test_a_tag_in_a_template_that_nobody_fills_in_is_told_with_its_file(
    broken: Broken, tmp_path: Path
) -> None:
    template(tmp_path / "template", experiment="run %=NAME%", other="%=IDD%")
    first, second = told(broken(activity('template="template"')))
    assert first[:2] == (4, "the tag %=NAME% in the template's file experiment.cmd")
    assert second[:2] == (4, "the tag %=IDD% in the template's file other.cmd")
    assert second[2].endswith("did you mean ID?")


def test_needs_are_numbers_or_tags(load: Load) -> None:
    defaults = load().workflow.activities[0]
    assert (defaults.cpus, defaults.memory_mb, defaults.runtime_s) == ("1", "0", "")
    assert (defaults.timeout_s, defaults.environment) == (0, ())
    numbers = load(activity('cpus="4" memory="512.5" runtime="1e3" timeout="60"'))
    needs = numbers.workflow.activities[0]
    assert (needs.cpus, needs.memory_mb, needs.runtime_s) == ("4", "512.5", "1e3")
    assert needs.timeout_s == 60.0
    tags = load(activity('cpus="%=X%" memory="%=x%" runtime="%=X%"')).workflow.activities[0]
    assert (tags.cpus, tags.memory_mb, tags.runtime_s) == ("%=X%", "%=x%", "%=X%")


@pytest.mark.parametrize(
    ("attribute", "value", "expected"),
    [
        *(("cpus", bad, "a whole number from 1 up") for bad in ("0", "-1", "two", "1.5", "٣")),
        *(("memory", bad, "a number of megabytes above 0") for bad in ("0", "-1", "1G", "nan")),
        *(("runtime", bad, "a number of seconds above 0") for bad in ("-1", "NaN", "inf", "1_0")),
        *(("timeout", bad, "a number of seconds above 0") for bad in ("0", "1h", "%=X%")),
        ("cpus", "%=X%%=X%", "a number, or one tag and nothing else"),
        ("memory", "%=X%MB", "a number, or one tag and nothing else"),
    ],
)
def test_a_need_that_is_no_sensible_number_is_one_defect(
    attribute: str, value: str, expected: str, broken: Broken
) -> None:
    defects = told(broken(activity(f'{attribute}="{value}"')))
    assert defects == [(4, f'{attribute}="{value}"', expected)]


def test_a_need_comes_from_a_field_that_is_a_number(broken: Broken) -> None:
    assert told(broken(activity('cpus="%=ID%"'))) == [
        (4, "cpus from the string field ID", "a float field")
    ]
    ((line, found, _),) = told(broken(activity('runtime="%=T%"')))
    assert (line, found) == (4, "the tag %=T% in runtime")


def test_variables_reach_the_activity_with_their_tags(load: Load) -> None:
    loaded = load(
        child('<environment name="OMP_NUM_THREADS" value="4"/>'),
        child('<environment name="WHO" value="%=ID% in %=RUNDIR%"/><environment name="EMPTY"/>'),
    )
    assert loaded.workflow.activities[0].environment == (
        ("OMP_NUM_THREADS", "4"),
        ("WHO", "%=ID% in %=RUNDIR%"),
        ("EMPTY", ""),
    )


@pytest.mark.parametrize(
    ("element", "found", "expected"),
    [
        ('<environment name="A-B" value="1"/>', 'name="A-B"', "letters, digits and _"),
        ('<environment value="1"/>', "<environment> with no name", "name="),
        ('<environment name="A"/><environment name="A"/>', "the variable A twice", "once"),
        ('<environment name="A" value="%=Q%"/>', "the tag %=Q% in value", "%=ID%"),
    ],
)
def test_a_variable_that_cannot_be_set_is_told(
    element: str, found: str, expected: str, broken: Broken
) -> None:
    ((line, told_found, told_expected),) = told(broken(child(element)))
    assert (line, told_found) == (10, found)
    assert expected in told_expected
