# Every target sets itself up on a fresh machine: Python 3.11, make and git are enough.
PYTHON ?= python3.11
VENV := .venv
BENCH := .venv-bench
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)

.PHONY: help repro test lint ui bench clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

repro: $(VENV)/ready ## run the pipeline, print the results table
	dvc repro
	@python -m ppac show

test: $(VENV)/ready-to-test ## run every test
	python -m pytest

lint: $(VENV)/ready-to-test ## style and types
	ruff check . && ruff format --check . && mypy

ui: $(VENV)/ready ## open the MLflow UI on the loopback address
	python -m ppac ui

bench: $(BENCH)/ready ## compare with peers; some of it: make bench ARGS="--only neighbours"
	$(BENCH)/bin/python -m bench $(ARGS)

clean: ## remove the environments; results and caches stay
	rm -rf $(VENV) $(BENCH)

$(VENV)/python-made:
	$(PYTHON) -m venv $(VENV) || python3 -m venv $(VENV)
	touch $@

$(VENV)/ready: $(VENV)/python-made requirements.txt constraints.txt pyproject.toml
	pip install --quiet --disable-pip-version-check "$$(grep '^torch==' requirements.txt)"
	pip install --quiet --disable-pip-version-check -r requirements.txt
	pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/ready-to-test: $(VENV)/ready requirements-dev.txt
	pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

$(BENCH)/ready: export PIP_QUIET := 1
$(BENCH)/ready: export PIP_DISABLE_PIP_VERSION_CHECK := 1
$(BENCH)/ready: requirements.txt constraints.txt pyproject.toml $(wildcard bench/requirements*.txt)
	$(PYTHON) -m venv $(BENCH) || python3 -m venv $(BENCH)
	$(BENCH)/bin/pip install "$$(grep '^torch==' requirements.txt)"
	$(BENCH)/bin/pip install -r bench/requirements.txt
	$(BENCH)/bin/pip install --no-deps -r bench/requirements-recbole.txt
	$(BENCH)/bin/pip install --no-deps --no-build-isolation --editable .
	touch $@
