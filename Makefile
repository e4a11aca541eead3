# Everything happens inside this checkout: .venv (or VENV=…), demo/. Only the jars go to ~/.cache/sparquet (SPARQUET_HOME).
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/bash
PYTHON ?= python3
VENV ?= .venv
BIN := $(if $(filter /%,$(VENV)),,$$PWD/)$(VENV)/bin
# Programs that start others (Airflow starts spark-submit) find them in PATH. Spark gets its Python by name, for its own
# script fails on a path with blanks.
RUN := PATH="$(BIN):$$PATH" PYSPARK_PYTHON=python PYSPARK_DRIVER_PYTHON=python
PYTEST := $(RUN) python -m pytest -m "" --durations=30 -p no:cacheprovider
# Two runs of pytest, the second also when a test of the first has failed.
both = $(PYTEST) $(1); first=$$?; $(PYTEST) $(2) && exit $$first
INPUTS := pyproject.toml constraints/tested.txt scripts/setup.sh

.PHONY: help demo test test-core test-airflow quick campaign bench lint docs clean setup setup-dev

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

demo: $(VENV)/.demo-ready ## run the example DAG customer_revenue on a local Spark
	@$(RUN) python scripts/demo.py

test: $(VENV)/.dev-ready ## run all tests, in two halves side by side
	@$(MAKE) --no-print-directory --jobs=2 test-core test-airflow

test-core: $(VENV)/.dev-ready
	@$(call both,--ignore=tests/core/test_connect.py tests/core,tests/core/test_connect.py -k language)

test-airflow: $(VENV)/.dev-ready
	@$(call both,--ignore=tests/core tests,tests/core/test_connect.py -k tables)

quick: $(VENV)/.dev-ready ## run the tests that start no spark-submit and no server
	$(RUN) python -m pytest

campaign: $(VENV)/.dev-ready ## compare the quality rules with the oracle, long (FRAMES=500, SEED=… repeats a run)
	SPARQUET_CAMPAIGN=$(or $(FRAMES),500) SPARQUET_SEED=$(or $(SEED),0) $(RUN) python -m pytest -m "" -s tests/core/quality/test_differential.py

bench: $(VENV)/.dev-ready ## measure (ARGS=… are passed on)
	$(RUN) python -m benchmarks $(ARGS)

lint: $(VENV)/.dev-ready ## ruff, mypy, import contracts
	$(RUN) ruff check .
	$(RUN) mypy
	$(RUN) lint-imports

docs: $(VENV)/.dev-ready ## write the reference and the JSON Schema anew
	$(RUN) python scripts/reference.py

setup: $(VENV)/.demo-ready ## make the virtual environment of the demo
setup-dev: $(VENV)/.dev-ready ## make the virtual environment with the tools of development

clean: ## remove what the other targets made, but not the cache of jars
	rm -rf .venv demo build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(VENV)/.demo-ready: $(INPUTS)
	@PYTHON="$(PYTHON)" bash scripts/setup.sh "$(VENV)" spark,delta
	@touch "$@"

$(VENV)/.dev-ready: $(INPUTS)
	@PYTHON="$(PYTHON)" bash scripts/setup.sh "$(VENV)" dev
	@touch "$@" "$(VENV)/.demo-ready"
