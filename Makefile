# One set-up path for people and CI: every target first brings .venv up to the lock (no time when it is).
# 'make' alone lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
RUN = $(or $(PYTHON),python3) -m tests.run $(if $(SEED),--seed $(SEED))
PROCESSES ?= 2
export PYTHON

# uv finds the package index where pip does; its address never enters a lock.
UV_LOCK = UV_DEFAULT_INDEX="$${UV_DEFAULT_INDEX:-$$($(BIN)/pip config get global.index-url 2>/dev/null || true)}" \
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-annotate --no-strip-extras --custom-compile-command 'make lock'
DAEMON = pyproject.toml --extra postgresql
SPARK = $(DAEMON) --extra spark

.PHONY: help
help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'

.PHONY: setup
setup: ## Make .venv: every dependency at its locked version and hash, the project editable
	@requirements/python.sh

.PHONY: servers
servers: setup ## Fetch the real servers (Pulsar, ZooKeeper, etcd, PostgreSQL) that tests and demo-pulsar start
	@requirements/java.sh
	@requirements/postgres.sh
	@$(BIN)/python -c 'from deploy.lab.software import etcd_binary, java, java_compiler, postgres_programs, pulsar_home; print(java(), java_compiler(), pulsar_home(), etcd_binary(), postgres_programs(), sep="\n")'

.PHONY: releases
releases: servers ## Assemble the other versions of Pulsar that tests run beside each other (3.0.7, 4.2.4 and 5.0.0-M1; 900 MB)
	@$(BIN)/python -c 'from deploy.lab.releases.assembled import home_of; from deploy.lab.releases.versions import RELEASES; print(*map(home_of, RELEASES), sep="\n")'

.PHONY: browser
browser: setup ## Fetch Chromium, in which a test lays out the page of a comparison
	@requirements/chromium.sh

.PHONY: demo
demo: setup ## Three regions on this machine converge, quarrel, crash and agree again (under a minute)
	@$(BIN)/syncer demo

.PHONY: demo-pulsar
demo-pulsar: servers ## The same story between two real Pulsar clusters, one on ZooKeeper, one on etcd (VERSIONS=5.0.0-M1,4.2.4)
	@$(BIN)/python -m deploy.lab.demo $(if $(VERSIONS),--versions $(VERSIONS))

.PHONY: demo-migration
demo-migration: servers ## Clients at work are moved between two real Pulsar clusters, with care and without (5 minutes)
	@$(BIN)/python -m deploy.lab.migration_demo

.PHONY: check
check: setup ## Format, lint, types, layers, dependencies, and the quickest tests (under two minutes)
	@$(RUN) --target check

.PHONY: test
test: ## Every system with its real servers (15 to 30 minutes; SEED=n: order and random data of another run)
	@$(RUN) --target test

.PHONY: test-all
test-all: ## Every case in its short form, as CI runs it (40 to 75 minutes; SEED=n as above)
	@$(RUN) --target all

.PHONY: test-long
test-long: ## Every case in its long form (hours; SEED=n as above)
	@$(RUN) --target long

.PHONY: proof
proof: setup ## Try to break the rules: schedules of the simulator, the laws, and a check that the proof can fail (25 minutes)
	@$(BIN)/python -m tests.simulation.proof --processes $(PROCESSES)

.PHONY: proof-night
proof-night: setup ## The same with a million schedules
	@$(BIN)/python -m tests.simulation.proof --processes $(PROCESSES) --core 950000 --shell 50000 --start 100000

.PHONY: simulate
simulate: setup ## Hunt from a seed on for some minutes: make simulate SEED=1 MINUTES=5; or MODE=storm SEED=7: tell that one
	@$(BIN)/python -m tests.simulation --processes $(PROCESSES) --seed $(or $(SEED),0) \
		$(if $(MINUTES),--minutes $(MINUTES)) $(if $(MODE),--mode $(MODE)) $(if $(TIER),--tier $(TIER))

.PHONY: proof-long
proof-long: setup ## Fuzz with a million examples, drawn anew each time (hours; FUZZ_EXAMPLES=N: another number)
	@FUZZ_EXAMPLES=$${FUZZ_EXAMPLES:-1000000} $(BIN)/pytest tests/fuzz -n 2 --timeout=0 -q

.PHONY: audit
audit: setup ## Look the locked dependencies up in the databases of known vulnerabilities (needs the network)
	@$(BIN)/uv tool run --python $(BIN)/python pip-audit --strict --require-hashes --disable-pip \
		-r requirements/daemon.lock -r requirements/spark.lock

.PHONY: bench
bench: servers ## Measure against the peer, and another commit: make bench NAME=sync [AGAINST=commit] [PAIRS=5] [QUICK=1]
	@$(BIN)/python -m tests.bench $(or $(NAME),$(error say which one: make bench NAME=sync)) \
		$(if $(AGAINST),--against $(AGAINST)) $(if $(PAIRS),--pairs $(PAIRS)) $(if $(QUICK),--quick)

.PHONY: vectors
vectors: setup ## Compare our load balancing and ledgers with the answers of Java's own classes: make vectors DIR=directory
	@$(BIN)/python -m tests.vectors $(DIR)

.PHONY: faults
faults: servers ## Strike real clusters under load, in minutes: kills, freezes, cut links, a full disk (SEED=n)
	@$(BIN)/python -m tests.faults $(if $(SEED),--seed $(SEED)) --report faults-out

SOAK = $(if $(MINUTES),--minutes $(MINUTES),$(if $(HOURS),--hours $(HOURS),$(error say how long: make soak HOURS=8)))

.PHONY: soak
soak: servers ## The same for as long as wished, with a report: make soak HOURS=8 (or MINUTES=30; SEED=n)
	@$(BIN)/python -m tests.faults $(SOAK) $(if $(SEED),--seed $(SEED)) --report soak-out

.PHONY: hostile
hostile: setup ## Attack a group of three regions in every way that is known, four minutes (LONG=1: on real servers too)
	@$(BIN)/python -m tests.hostile $(if $(LONG),--long)

.PHONY: fmt
fmt: setup ## Format the code and apply the safe fixes of the linter
	@$(BIN)/ruff check --quiet --fix . || true
	@$(BIN)/ruff format .

.PHONY: docs
docs: setup ## Build the documentation; a warning is an error
	@$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

.PHONY: rules
rules: setup ## Write the page of rules anew, after a rule, its code or its test was named otherwise
	@$(BIN)/python -m docs.rules

.PHONY: client
client: setup ## Write the typed client anew, after docs/reference/openapi.json was changed
	@$(BIN)/python -m tests.client

.PHONY: wheel
wheel: setup ## Build the wheel into dist/
	@$(BIN)/python -m build --wheel --no-isolation --outdir dist . >/dev/null
	@ls dist/*.whl

.PHONY: lock
lock: setup ## Resolve the dependencies again, keeping pins that still fit (UPGRADE=1: newest of all)
	@$(UV_LOCK) $(SPARK) --group dev $(if $(UPGRADE),--upgrade) --output-file requirements/dev.lock
	@$(UV_LOCK) $(SPARK) --constraint requirements/dev.lock --output-file requirements/spark.lock
	@$(UV_LOCK) $(DAEMON) --constraint requirements/dev.lock --output-file requirements/daemon.lock
	@$(UV_LOCK) requirements/peers.in --no-deps --output-file requirements/peers.lock
	@$(UV_LOCK) requirements/old-client.in --no-deps --output-file requirements/old-client.lock
	@requirements/python.sh

.PHONY: clean
clean: ## Remove everything that was made here, .venv included
	@rm -rf $(VENV) .setup .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage* build dist docs/_build \
		demo-out bench-out faults-out soak-out
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
