"""Faults of all kinds at seeded moments: how many a run survives, and how many results are lost.

    python bench/soak.py [--faults 200] [--seed 1] [--json]

Real mpirun, real PostgreSQL, real signals: slaves, masters, mpirun, keepers, programs, the
supervisor and everything at once are killed, the database is restarted, killed, locked and made
read-only, workspaces are deleted, users press Ctrl-C, up to four of these at once. The same
as tests/acceptance/test_soak.py, with other seeds and for as long as you like.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.acceptance.console import Console  # noqa: E402
from tests.acceptance.soak import soak  # noqa: E402
from tests.conftest import new_home  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--faults", type=int, default=200, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    started = time.monotonic()
    with new_home() as home, tempfile.TemporaryDirectory(prefix="scicumulus-soak-") as place:
        console = Console(home, Path(place))
        done = soak(
            console, options.faults, options.seed, lambda text: print(text, file=sys.stderr)
        )
    document = {
        "faults_survived": done.survived,
        "results_lost": done.lost,
        "run_again_for_nothing": done.doubled,
        "runs": done.runs,
        "activations": done.activations,
        "resumed": done.resumed,
        "seconds": round(time.monotonic() - started, 1),
        "seed": options.seed,
        "by_kind": dict(sorted(done.faults.items())),
        "problems": done.problems,
    }
    if options.json:
        print(json.dumps(document, indent=2))
    else:
        print(
            f"{done.survived} faults survived over {done.runs} runs, {done.lost} results lost, "
            f"{done.doubled} programs run again for nothing"
        )
        for problem in done.problems:
            print(problem)
    return 1 if done.problems or done.lost or done.doubled else 0


if __name__ == "__main__":
    sys.exit(main())
