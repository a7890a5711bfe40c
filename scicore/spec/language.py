"""The words of the SciCumulus XML language, element by element. `scicumulus.xsd` has the same.

What the original system did not have is marked; what has no effect here says why.
"""

from __future__ import annotations

from scicore.spec.shape import Shape

_LATER = "this version does not act on it yet"
_ALGORITHM = Shape(text=True, repeatable=True)  # an extension; counted over both its places
_FIELD = Shape(
    ("name", "type"),
    ("input", "output", "decimalplaces", "operation", "instrumented"),
    idle={"extractor": ((), "the activity's extractor makes all fields")},
    repeatable=True,
)
_EXTRACTOR = Shape(
    ("invocation",),
    ("name",),
    idle={
        "type": (("LOADING",), "an extractor writes ERelation.txt"),
        "cartridge": (("EXTERNAL_PROGRAM",), "an extractor is a program"),
    },
)
_ACTIVITY = Shape(
    ("tag", "type", "activation"),
    (
        *("description", "operand", "extractor", "template"),
        *("cpus", "memory", "runtime", "timeout", "id", "parents", "batch"),  # extensions
    ),
    idle={
        "constrained": (("false", "F"), "constraints on activities are not part of the language")
    },
    children={
        "relation": Shape(("reltype",), ("name", "dependency"), repeatable=True),
        "field": _FIELD,
        "extractor": _EXTRACTOR,
        "environment": Shape(("name",), ("value",), repeatable=True),  # an extension
    },
    repeatable=True,
)
_EXECUTION = Shape(
    ("tag",),
    ("expdir", "max_failure", "redundancy", "reliability", "sizing"),  # the last: an extension
    idle={
        "exectag": ((), "a run is named by workflow_exectag of <constraint>"),
        "execmodel": (
            (),
            "tuples flow as soon as they are there, and the plan says where and in which order "
            "activations run, so that there is no FAF or FTF, STA or DYN to choose",
        ),
        "user_interaction": (("false",), "every run can be steered: scicumulus cancel, pause"),
        "adaptive": (
            ("true",),
            "every run adapts to what it measures, unless it is told to follow its plan strictly",
        ),
        "verbose": (("false",), "see --help"),
    },
    children={"relation": Shape(("name", "filename"), repeatable=True), "algorithm": _ALGORITHM},
)
_VM = Shape(
    ("type", "cores"),
    ("financial_cost", "ram", "gflops"),
    idle={
        "disk_space": ((), "disks are not part of the cloud model"),
        "platform": (("64",), "images are chosen when a cluster is made"),
    },
    repeatable=True,
)
_CONSTRAINT = Shape(
    optional=("workflow_exectag", "max_time", "max_financial_cost", "max_vm_amount"),
    idle={
        "cores": ((), "the fleet says how many cores there are"),
        "performance": (("false",), _LATER),
        **dict.fromkeys(
            ("total_ram", "total_disk", "alfa1", "alfa2", "alfa3"),
            ((), "the objective is chosen when planning"),
        ),
    },
)
LANGUAGE = Shape(
    children={
        "environment": Shape(
            ("type",),
            idle={"verbose": (("false",), "see --help"), "cluster_name": ((), _LATER)},
        ),
        "constraint": _CONSTRAINT,
        "workspace": Shape(
            optional=("workflow_dir",),
            idle=dict.fromkeys(
                ("upload", "bucket_name", "compressed_workspace", "compressed_dir"), ((), _LATER)
            ),
        ),
        "database": Shape(unused="the database is chosen by --database-url or the environment"),
        "credentials": Shape(unused="the AWS profile or environment counts"),
        "machineTypes": Shape(
            idle={"image": ((), _LATER), "user": ((), _LATER)}, children={"vm": _VM}
        ),
        "binary": Shape(unused="nothing has to be installed", repeatable=True),
        "query": Shape(unused="questions are asked by scicumulus query", repeatable=True),
        "algorithm": _ALGORITHM,
        "conceptualWorkflow": Shape(("tag",), ("description",), children={"activity": _ACTIVITY}),
        "executionWorkflow": _EXECUTION,
    },
    needed=("conceptualWorkflow", "executionWorkflow"),
)
