# Every target sets up what it needs: `make demo` and `make test` work on a fresh clone.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup demo fast test hostile long sample check lint types layers format bench bench-search bench-context bench-agent lock clean

VENV := .venv
BIN := $(VENV)/bin
SERVERS := .servers
DEMO := .demo
PYTEST := $(BIN)/python -m pytest --retry-alone

help: ## Show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.ready $(SERVERS)/.ready $(SERVERS)/agentdojo/.ready ## Create .venv and install the real servers that tests use

$(VENV)/.ready: requirements/dev.txt scripts/setup
	@scripts/setup environment $(VENV) requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# Two at a time: each is one process that waits for the network, then for the disk.
$(SERVERS)/.ready: $(wildcard requirements/servers-*.txt requirements/clients-*.txt requirements/mem0.txt requirements/*node/package-lock.json) scripts/setup | $(VENV)/.ready
	@printf '%s\n' \
	  'environment $(SERVERS)/clients-modern requirements/clients-modern.txt' \
	  'environment $(SERVERS)/clients-legacy requirements/clients-legacy.txt' \
	  'environment $(SERVERS)/modern requirements/servers-modern.txt' \
	  'environment $(SERVERS)/legacy requirements/servers-legacy.txt' \
	  'environment $(SERVERS)/mem0 requirements/mem0.txt' \
	  'node $(SERVERS)/clients-node requirements/clients-node' \
	  'node $(SERVERS)/node requirements/node' | xargs -P 2 -L 1 scripts/setup
	@scripts/setup postgresql
	@touch $@

# Without the clients of models that it asks for: tests/agentdojo/host.py stands in for them.
$(SERVERS)/agentdojo/.ready: requirements/agentdojo.txt | $(SERVERS)/.ready
	@PIP_NO_DEPS=1 scripts/setup environment $(SERVERS)/agentdojo requirements/agentdojo.txt
	@touch $@

$(SERVERS)/peers/.ready: requirements/bench.txt scripts/setup
	@scripts/setup environment $(SERVERS)/peers requirements/bench.txt
	@touch $@

# No tools for development and no servers but the examples: a newcomer waits for this.
$(DEMO)/.ready: requirements/demo.txt scripts/setup
	@echo 'demo: preparing $(DEMO), with Satchel, the packages it needs, Deno and a tokenizer; only the first time' >&2
	@scripts/setup environment $(DEMO) requirements/demo.txt
	@echo 'demo: installing Satchel itself' >&2
	@$(DEMO)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(DEMO)/.ready ## Run the main job on the example servers
	@PATH="$(CURDIR)/$(DEMO)/bin:$$PATH" examples/demo.sh

# These tests compute and wait for little: more workers would only collect them more often.
fast: $(VENV)/.ready ## Run the fast tests only (under a minute)
	@$(PYTEST) -q -n 3 -m 'not slow and not e2e and not long'

test: setup ## Run all tests except the attacks on the sandbox and the long tests
	@$(PYTEST) -m 'not long' --ignore tests/sandbox/hostile

hostile: setup ## Run the attacks on the sandbox, each in two of the ways to make a box
	@SATCHEL_TEST_EVERY_WAY=1 $(PYTEST) -m 'not long' --dist load tests/sandbox/hostile

long: setup ## Run soaks and kill loops at their full size, and the attacks in all other ways
	@SATCHEL_TEST_FULL=1 $(PYTEST) -m long

sample: setup ## Run a sample of the long tests
	@$(PYTEST) -m long

check: setup lint types layers fast ## Lint, types, layers and the fast tests

lint: $(VENV)/.ready
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(VENV)/.ready
	@$(BIN)/basedpyright

layers: $(VENV)/.ready
	@$(BIN)/lint-imports

format: $(VENV)/.ready ## Format the code and fix what lint can fix
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: setup $(SERVERS)/peers/.ready ## Measure; prints a table of ratios taken side by side
	@$(BIN)/python -m bench

bench-search: setup $(SERVERS)/peers/.ready ## Measure tool search beside others; fails if it became worse
	@$(BIN)/python -m bench.search
	@$(BIN)/python -m bench.search --check

bench-context: setup ## Measure and record how much a model reads and waits; fails if a limit is missed
	@$(BIN)/python -m bench.context --record

bench-agent: setup ## Have an agent do the tasks of bench-context, by a script or by MODEL=PROVIDER:NAME
	@$(BIN)/python -m bench.agent $(if $(MODEL),--model '$(MODEL)',--record)

lock: ## Update the lock files from pyproject.toml and requirements/*.in
	@scripts/setup lock
	@uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  --no-deps requirements/agentdojo.in -o requirements/agentdojo.txt

clean: ## Remove everything that these targets made
	rm -rf $(VENV) $(SERVERS) $(DEMO) dist build .pytest_cache .ruff_cache .import_linter_cache .hypothesis
