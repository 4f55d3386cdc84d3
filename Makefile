# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
RUNS := .venv/.runs
READY := .venv/.ready

.PHONY: help setup demo test test-starting test-others test-slow test-dashboard test-faults test-soak lint format types contracts docs ci lock clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: $(READY) ## Create .venv and install what the two lock files name

# Install what a lock file names: with uv, if it is there, and else with pip. pip works on one core, so two
# of them share the lines. (With xargs: Ctrl-C ends what it started, and not what sh started with &.) torch
# always comes with pip, whose configuration says which build is wanted: uv would fetch that for CUDA.
# With the project itself pip then installs what the lock does not name: what another build of torch or
# another Python asks for.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
WITH_UV := uv pip install --quiet --no-deps --python $(BIN)/python --requirement -
WITH_PIP := $(PIP) --no-deps --requirement /dev/stdin
define install
	@echo "Installing the packages of $(1) into .venv, which takes about a minute ..."
	@command -v uv >/dev/null && grep -v '^torch==' $(1) | $(WITH_UV) \
	  || printf '0\n1\n' | xargs -P 2 -I PART sh -c "awk '(NR % 2) == PART' $(1) | $(WITH_PIP)"
endef

# What is installed is compiled on all cores, which pip would do on one, and without what no study imports:
# Python compiles that when something does.
NOT_COMPILED := /tests?/|/ray/(data|llm|rllib|serve|train|tune)/|/torch/(testing/_internal|_inductor/(codegen|fx_passes|kernel))/|/(apprise|networkx)/|/pygments/lexers/
COMPILE = echo "Compiling them ..."; $(BIN)/python -m compileall -qq -j 0 -x '$(NOT_COMPILED)' .venv/lib || true

$(RUNS): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Tolstoy needs Python 3.11 or newer; found " + sys.version.split()[0] + ". Set PYTHON=python3.x") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(call install,requirements.lock)
	$(PIP) --constraint requirements.lock --no-build-isolation -e .
	@$(COMPILE)
	@touch $@

$(READY): $(RUNS) requirements-dev.lock
	$(call install,requirements-dev.lock)
	@$(COMPILE)
	@touch $@

demo: $(RUNS) ## Run the small study from training to report
	$(BIN)/tolstoy run smoke

# In two processes that take about as long: tests that start processes and those of models, whose output
# make prints when they have ended, and all others, which print as they run (the + has make not hold it).
STARTING := tests/flows tests/campaign tests/soak tests/infra tests/models $(wildcard tests/test_*.py)
HELD := $(if $(filter output-sync,$(.FEATURES)),--output-sync)
test: $(READY) ## The test suite
	@$(MAKE) --no-print-directory --jobs=2 $(HELD) test-others test-starting

test-starting:
	@$(BIN)/python -m pytest $(STARTING)

test-others:
	+@$(BIN)/python -m pytest tests $(STARTING:%=--ignore=%)

test-slow: $(READY) ## The tests that take minutes
	$(BIN)/python -m pytest -m slow

test-dashboard: $(READY) ## A browser starts a study, watches it and reads reports (needs Chromium)
	$(BIN)/python -m pytest -m slow tests/flows/dashboard/test_in_a_browser.py tests/tasks/report/test_in_a_browser.py

test-faults: $(READY) ## A study survives faults (needs PostgreSQL); TOLSTOY_INJECTIONS=30 TOLSTOY_SEED=...
	$(BIN)/python -m pytest -m faults -s tests/campaign

test-soak: $(READY) ## Half an hour with faults: memory stays flat; TOLSTOY_SOAK_MODELS=2000 TOLSTOY_SOAK_MINUTES=30
	$(BIN)/python -m pytest -m soak -s tests/soak

lint: $(READY) ## Style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY) ## Format the files and mend what the linter can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(READY) ## mypy, strict
	$(BIN)/mypy

contracts: $(READY) ## Check that imports point one way
	$(BIN)/lint-imports

docs: $(READY) ## Write the pages that are made from code
	$(BIN)/python -m infra.tables > docs/tables.md
	$(BIN)/python -m tasks.explain > docs/metrics.md

ci: lint types contracts test demo ## All that must pass before a change is merged

# The label of torch's build is removed, and so is what only the CUDA build needs: one lock serves
# every build, and pip adds what the installed build requires. Developers' tools have a lock of their own.
FREEZE = .venv-lock/bin/python -m pip freeze --all --exclude tolstoy --exclude pip \
  | sed -E 's/\+cpu$$//' | grep -vE '^(nvidia-|cuda-|triton==)'
lock: ## Write requirements.lock and requirements-dev.lock
	rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check . 'setuptools>=80'
	$(FREEZE) > requirements.lock
	.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check -c requirements.lock '.[dev]'
	$(FREEZE) | grep -vxFf requirements.lock > requirements-dev.lock
	rm -rf .venv-lock build *.egg-info

clean: ## Remove what can be created again (never a store)
	rm -rf .venv .venv-lock build *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
