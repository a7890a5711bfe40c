"""Templates, extractors, files, needs and explicit edges, each through a whole run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.console import Console


def specification(directory: Path, activities: str, datasets: dict[str, str]) -> Path:
    """A workflow from its activities' XML and its datasets' texts."""
    relations = ""
    for name, text in datasets.items():
        (directory / f"{name}.dataset").write_text(text, encoding="utf-8")
        relations += f'<relation name="{name}" filename="{name}.dataset"/>'
    spec = directory / "workflow.xml"
    spec.write_text(
        f"""<SciCumulus>
          <conceptualWorkflow tag="language">{activities}</conceptualWorkflow>
          <executionWorkflow tag="language" max_failure="1">{relations}</executionWorkflow>
        </SciCumulus>""",
        encoding="utf-8",
    )
    return spec


def program(directory: Path, name: str, text: str) -> None:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


TEMPLATE = """
<activity tag="model" type="MAP" activation="sh ./experiment.cmd" template="%=WFDIR%/template"
          extractor="sh %=WFDIR%/extract.sh">
  <relation reltype="Input" name="cases"/>
  <relation reltype="Output" name="results"/>
  <field name="ID" type="float" input="cases" output="results" decimalplaces="0"/>
  <field name="NOTE" type="string" input="cases"/>
  <field name="ANSWER" type="float" output="results" decimalplaces="2"/>
</activity>"""


def with_template(directory: Path, note: str) -> Path:
    program(directory, "template/experiment.cmd", "echo 4%=ID%.005 > answer\n")
    program(directory, "template/notes/settings.txt", "note: %=NOTE%\n")
    program(directory, "extract.sh", 'printf "ANSWER\\n%s\\n" "$(cat answer)" > ERelation.txt\n')
    return specification(directory, TEMPLATE, {"cases": f"ID;NOTE\n2;{note}\n"})


def test_a_template_is_filled_in_and_an_extractor_makes_the_tuples(
    console: Console, tmp_path: Path
) -> None:
    done = console.run(with_template(tmp_path, "$(touch owned) %=ID%"))
    assert done["finished"] == 1
    workspace = Path(done["directory"], "model/1")
    assert (workspace / "notes/settings.txt").read_text() == "note: $(touch owned) %=ID%\n"
    values = console.rows(
        "SELECT values FROM tuple WHERE run_id = %s AND generated_by IS NOT NULL", done["run_id"]
    )
    assert values in ([({"ID": "2", "ANSWER": "42.00"},)], [({"ID": "2", "ANSWER": "42.01"},)])


def test_a_value_cannot_become_code_in_a_template(console: Console, tmp_path: Path) -> None:
    spec = with_template(tmp_path, '"x; touch owned"')
    program(tmp_path, "template/experiment.cmd", "echo %=NOTE%\n")
    done = console.run(spec, code=1)
    (failure,) = console.query("failures", done["run_id"])
    assert failure["cause"] == "not started"
    assert "could act as code" in failure["stderr"]
    assert not list(tmp_path.rglob("owned"))


FILES = """
<activity tag="make" type="MAP" activation="sh %=WFDIR%/make.sh %=ID%">
  <relation reltype="Input" name="cases"/>
  <relation reltype="Output" name="made"/>
  <field name="ID" type="string" input="cases" output="made"/>
  <field name="KIND" type="string" input="cases" output="made"/>
  <field name="DATA" type="file" input="cases" operation="COPY" instrumented="true"/>
  <field name="RESULT" type="file" output="made" operation="{operation}"/>
</activity>
<activity tag="gather" type="REDUCE" operand="KIND" activation="sh %=WFDIR%/gather.sh">
  <relation reltype="Input" dependency="make"/>
  <relation reltype="Output" name="gathered"/>
  <field name="KIND" type="string" output="gathered"/>
  <field name="ALL" type="file" output="gathered"/>
</activity>"""


def with_files(directory: Path, operation: str = "COPY") -> Path:
    program(
        directory,
        "make.sh",
        'cat data.txt > result.txt\nprintf "RESULT\\nresult.txt\\n" > ERelation.txt\n',
    )
    program(
        directory,
        "gather.sh",
        "cat */result.txt > all.txt\n"
        'grep -c / made.hfrag > count\nprintf "ALL\\nall.txt\\n" > ERelation.txt\n',
    )
    for case in "abc":
        program(directory, f"input/{case}/data.txt", f"case %=ID% of {case}\n")
    rows = "a;odd;a/data.txt\nb;even;b/data.txt\nc;odd;input/c/data.txt\n"
    return specification(
        directory, FILES.format(operation=operation), {"cases": f"ID;KIND;DATA\n{rows}"}
    )


def test_files_are_staged_and_every_file_of_a_group_reaches_the_program(
    console: Console, tmp_path: Path
) -> None:
    done = console.run(with_files(tmp_path))
    assert done["finished"] == 5
    root = Path(done["directory"])
    assert (root / "make/1/data.txt").read_text() == "case a of a\n"  # instrumented
    assert (tmp_path / "input/a/data.txt").read_text() == "case %=ID% of a\n"  # the original
    assert (root / "gather/2/all.txt").read_text() == "case a of a\ncase c of c\n"
    assert (root / "gather/2/count").read_text() == "2\n"
    recorded = console.rows(
        "SELECT path, size_bytes, length(sha256) FROM file WHERE run_id = %s AND field = 'ALL' "
        "ORDER BY path",
        done["run_id"],
    )
    assert recorded == [
        (f"{root}/gather/1/all.txt", 12, 64),
        (f"{root}/gather/2/all.txt", 24, 64),
    ]


@pytest.mark.parametrize(
    ("operation", "original_stays", "copy_stays"),
    [
        ("COPY", True, True),
        ("MOVE", False, True),
        ("COPY_DELETE", True, False),
        ("MOVE_DELETE", False, False),
    ],
)
def test_each_file_operation_leaves_what_it_promises(
    operation: str, original_stays: bool, copy_stays: bool, console: Console, tmp_path: Path
) -> None:
    root = Path(console.run(with_files(tmp_path, operation))["directory"])
    assert (root / "make/1/result.txt").exists() is original_stays
    assert (root / "gather/2/1/result.txt").exists() is copy_stays
    assert (root / "gather/2/all.txt").exists()


def test_a_file_that_is_named_but_not_left_is_a_failure(console: Console, tmp_path: Path) -> None:
    spec = with_files(tmp_path)
    program(tmp_path, "make.sh", 'printf "RESULT\\nnothing.txt\\n" > ERelation.txt\n')
    done = console.run(spec, code=1)
    failures = console.query("failures", done["run_id"])
    assert {failure["cause"] for failure in failures} == {"missing output"}
    assert "nothing.txt" in failures[0]["stderr"]


def test_a_program_cannot_name_a_file_outside_of_the_workflow(
    console: Console, tmp_path: Path
) -> None:
    spec = with_files(tmp_path)
    program(tmp_path, "make.sh", 'printf "RESULT\\n/etc/passwd\\n" > ERelation.txt\n')
    failures = console.query("failures", console.run(spec, code=1)["run_id"])
    assert "outside of the workflow's directories" in failures[0]["stderr"]


NEEDS = """
<activity tag="work" type="MAP" activation="sh %=WFDIR%/work.sh %=ID%" cpus="%=CPUS%"
          timeout="{timeout}">
  <relation reltype="Input" name="cases"/>
  <relation reltype="Output" name="worked"/>
  <environment name="GREETING" value="hello %=ID%"/>
  <field name="ID" type="string" input="cases"/>
  <field name="CPUS" type="float" input="cases"/>
  <field name="SAID" type="string" output="worked"/>
</activity>"""


def with_needs(directory: Path, work: str, timeout: int = 60) -> Path:
    program(directory, "work.sh", work)
    text = "ID;CPUS\n" + "".join(f"{number};{1 + number % 2}\n" for number in range(6))
    return specification(directory, NEEDS.format(timeout=timeout), {"cases": text})


def test_variables_reach_the_program(console: Console, tmp_path: Path) -> None:
    spec = with_needs(tmp_path, 'printf "SAID\\n%s\\n" "$GREETING" > ERelation.txt\n')
    done = console.run(spec, fleet="1xlocal:2")
    said = console.rows(
        "SELECT values->>'SAID' FROM tuple WHERE run_id = %s AND generated_by IS NOT NULL "
        "ORDER BY 1",
        done["run_id"],
    )
    assert said == [(f"hello {number}",) for number in range(6)]


def test_a_vm_is_never_over_committed_by_activations_that_need_two_cores(
    console: Console, tmp_path: Path
) -> None:
    counting = (
        'mkdir -p "$PWD/../../busy"; touch "../../busy/$1"; sleep 0.1\n'
        'ls ../../busy > seen; rm "../../busy/$1"\n'
        'printf "SAID\\n%s\\n" "$(tr "\\n" " " < seen)" > ERelation.txt\n'
    )
    done = console.run(with_needs(tmp_path, counting), fleet="1xlocal:3")
    seen = console.rows(
        "SELECT values->>'SAID' FROM tuple WHERE run_id = %s AND generated_by IS NOT NULL",
        done["run_id"],
    )
    for (text,) in seen:
        assert sum(1 + int(number) % 2 for number in text.split()) <= 3


def test_an_activation_that_fits_no_vm_is_refused_before_the_run(
    console: Console, tmp_path: Path
) -> None:
    said = console("run", with_needs(tmp_path, "exit 0\n"), "--fleet", "2xlocal")
    assert said.code == 2
    assert "asks for 2 cpus" in said.err
    assert "--fleet 1xlocal:2" in said.err


def test_a_program_that_takes_too_long_is_ended(console: Console, tmp_path: Path) -> None:
    done = console.run(with_needs(tmp_path, "sleep 60\n", timeout=1), fleet="1xlocal:9", code=1)
    assert {each["cause"] for each in console.query("failures", done["run_id"])} == {"timeout"}


EDGES = """
<activity tag="task" type="MAP" activation="sh %=WFDIR%/task.sh %=ID%" id="ID" parents="PARENTS"
          runtime="%=RUNTIME%">
  <relation reltype="Input" name="tasks"/>
  <relation reltype="Output" name="done"/>
  <field name="ID" type="string" input="tasks"/>
  <field name="PARENTS" type="string" input="tasks"/>
  <field name="RUNTIME" type="float" input="tasks"/>
</activity>"""
DIAMOND = "ID;PARENTS;RUNTIME\nlast;left right;1\nleft;first;2\nright;first;3\nfirst;;1\n"


def test_explicit_edges_are_followed(console: Console, tmp_path: Path) -> None:
    program(tmp_path, "task.sh", f'echo "$1" >> {tmp_path}/order\n')
    done = console.run(specification(tmp_path, EDGES, {"tasks": DIAMOND}))
    order = (tmp_path / "order").read_text().split()
    assert (order[0], order[3], sorted(order[1:3])) == ("first", "last", ["left", "right"])
    assert done["predicted_makespan_s"] == 5.0


def test_what_waits_for_a_failed_task_is_blocked(console: Console, tmp_path: Path) -> None:
    program(tmp_path, "task.sh", '[ "$1" != left ]\n')
    done = console.run(specification(tmp_path, EDGES, {"tasks": DIAMOND}), code=1)
    assert (done["finished"], done["failed"], done["blocked"]) == (2, 1, 1)


@pytest.mark.parametrize(
    ("tasks", "told"),
    [
        ("a;b;1\nb;a;1\n", "the cycle a → b → a"),
        ("a;a;1\n", "tasks.dataset:2: found a as its own parent"),
        ("a;;1\na;;1\n", "tasks.dataset:3: found a second activation with the id a"),
        ("a;zero;1\n", "tasks.dataset:2: found the parent zero of a"),
    ],
)
def test_impossible_edges_are_refused(
    tasks: str, told: str, console: Console, tmp_path: Path
) -> None:
    spec = specification(tmp_path, EDGES, {"tasks": f"ID;PARENTS;RUNTIME\n{tasks}"})
    said = console("run", spec)
    assert said.code == 2
    assert told in said.err


def test_a_template_script_needs_neither_a_first_line_nor_leave_to_be_executed(
    console: Console, tmp_path: Path
) -> None:
    spec = with_template(tmp_path, "plain")
    spec.write_text(spec.read_text().replace("sh ./experiment.cmd", "./experiment.cmd"))
    assert console.run(spec)["finished"] == 1
