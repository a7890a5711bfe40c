"""Parsl with its high-throughput executor: a worker per slot on this machine."""

from __future__ import annotations

import os
import sysconfig
import tempfile
from pathlib import Path

import parsl
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.providers import LocalProvider
from work import WORK, asked, timed


def main() -> None:
    kind, count, slots = asked()
    here = str(Path(__file__).parent)  # where the workers find our functions
    os.environ["PYTHONPATH"] = here
    os.environ["PATH"] = f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as place:
        executor = HighThroughputExecutor(
            address="127.0.0.1",
            loopback_address="127.0.0.1",
            max_workers_per_node=slots,
            provider=LocalProvider(min_blocks=1, init_blocks=1, max_blocks=1),
        )
        config = Config(
            executors=[executor], run_dir=place, initialize_logging=False, usage_tracking=0
        )
        with parsl.load(config):
            warm, app = parsl.python_app(WORK["calls"]), parsl.python_app(WORK[kind])
            for future in [warm(number) for number in range(10)]:
                future.result()
            timed(count, lambda: (each.result() for each in [app(n) for n in range(count)]))


if __name__ == "__main__":
    main()
