# Every target sets itself up on a fresh machine: Python 3.11, make and git are enough.
PYTHON ?= python3.11
VENV := .venv
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)

.PHONY: help repro test lint ui clean

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

clean: ## remove the environment; results and caches stay
	rm -rf $(VENV)

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
