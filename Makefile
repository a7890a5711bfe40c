# SciCumulus-RL: `make demo` shows it, `make test` checks it. Everything is installed into .venv.
# Paths are relative on purpose: the directory's name may contain spaces.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint types bench lock clean

help: ## show this list
	@grep -hE '^[a-z]+:.*##' Makefile | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

setup: $(STAMP) ## create .venv with everything in it

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"Python 3.11 or newer is needed, {sys.executable} is {sys.version.split()[0]}; try: make PYTHON=/path/to/python3.11 setup")'
	@echo "Setting up .venv (once, about a minute) ..."
	@$(PYTHON) -m venv .venv || { echo "python3 -m venv failed; on Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	@touch $(STAMP)

demo: $(STAMP) ## a sky mosaic: learn a plan, run it under mpirun, draw it, ask its provenance
	@$(BIN)/python workflows/demo.py

test: $(STAMP) ## linters, strict types, all tests
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/python -m pytest -q --numprocesses 4 --dist loadfile --no-loadscope-reorder  # most tests wait, the longest come first

bench: $(STAMP) ## activations per second through the whole stack
	$(BIN)/python bench/throughput.py

lock: ## pin what .venv holds now into constraints.txt
	$(BIN)/python -m pip freeze --exclude-editable > constraints.txt

clean: ## remove .venv and caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
