"""The sbatch script, run as Slurm would run it on a job of one node: this computer."""

from __future__ import annotations

from tests.acceptance.console import Console
from tests.acceptance.workflows import Step, write_workflow


def test_the_script_runs_the_workflow_on_the_nodes_of_its_job(console: Console) -> None:
    spec = write_workflow(console.directory / "it's mine", [Step("one")], [("1",), ("2",)])
    said = console("slurm", spec, "--nodes", "1", "--", "--time=00:10:00", "--mail-user=a b")
    assert said.code == 0, said
    lines = said.out.splitlines()
    assert lines[0] == "#!/bin/bash"
    assert lines[1] == "#SBATCH --job-name=it-s-mine"
    assert {"#SBATCH --nodes=1", "#SBATCH --time=00:10:00", "#SBATCH --mail-user=a b"} <= {*lines}

    script = console.directory / "job.sh"
    script.write_text(said.out)
    _stand_in_for_scontrol(console)
    ran = console.execute("bash", script)
    assert ran.code == 0, ran
    found = console.rows(
        "SELECT run.state, vm_type, slots FROM run JOIN vm USING (run_id) WHERE directory LIKE %s",
        f"{spec.parent}/%",
    )
    assert found == [("finished", "local", 3)]


def test_what_is_no_option_of_sbatch_is_refused(console: Console) -> None:
    spec = write_workflow(console.directory / "wf", [Step("one")], [("1",)])
    said = console("slurm", spec, "--", "--time=1\nrm -rf /")
    assert said.code == 2
    assert "expected options of sbatch" in said.err


def _stand_in_for_scontrol(console: Console) -> None:
    """Slurm's own commands are all that is missing here."""
    tools = console.directory / "slurm"
    tools.mkdir()
    (tools / "scontrol").write_text(
        '#!/bin/sh\n[ "$1 $2 $3" = "show hostnames x" ]\necho localhost\n'
    )
    (tools / "scontrol").chmod(0o755)
    console.extra |= {
        "PATH": f"{tools}:{console.environment['PATH']}",
        "SLURM_JOB_NODELIST": "x",
        "SLURM_CPUS_ON_NODE": "3",
    }
