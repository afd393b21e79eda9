# The one list of tasks: people, hooks and CI all call these. `make` alone explains them.
SHELL := bash
.DEFAULT_GOAL := help
ARGS ?=
BIN := .venv/bin

.PHONY: help setup demo test test-unit test-bare bench check lint types imports format docs jars browser wheel lock hooks clean

help: ## what there is to do (this list)
	@echo "make TASK [ARGS=\"...\"]: tasks set up what they need by themselves."
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## .venv from the hashed lock, command at .venv/bin/comporta; nothing when already done
	@bash scripts/setup.sh

demo: setup ## Kafka, PostgreSQL, simulator, line and page for a minute (ARGS="--for 10m --keep")
	$(BIN)/comporta demo $(ARGS)

test: setup jars browser ## every test: unit, on real services, in the browser, from the wheel (ARGS="-k lag")
	$(BIN)/python -m pytest tests $(ARGS)

test-unit: setup ## the tests that need no service, in under 30 s
	$(BIN)/python -m pytest tests/unit $(ARGS)

test-bare: ## make demo and make test in a fresh clone: empty HOME and cache, no Java on PATH
	bash tests/bare/run.sh

bench: setup jars ## measures the drain and writes docs/benchmarks.md (ARGS="--messages 300000")
	$(BIN)/python bench/drain.py $(ARGS)

check: lint types imports ## lint, types, imports, and that documents and locks are fresh
	$(BIN)/python -m pytest tests/unit/project

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports --no-logo

format: setup ## what ruff can mend by itself
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: setup ## writes the generated pages again: docs/architecture.md, docs/cli.md
	$(BIN)/python scripts/write_docs.py

jars: setup ## the jars of Kafka and Spark into your cache folder, verified; nothing when already there
	@$(BIN)/python scripts/fetch_jars.py

browser: ## Chromium for the browser tests, by apt-get where it is missing
	@bash scripts/browser.sh

wheel: setup ## dist/comporta-*.whl
	$(BIN)/python -m hatchling build --target wheel

lock: setup ## pins and hashes again from pyproject.toml (ARGS=--upgrade for newer versions)
	bash scripts/lock.sh $(ARGS)

hooks: setup ## git hooks that call this list
	$(BIN)/pre-commit install --hook-type pre-commit --hook-type pre-push

clean: ## removes the environment and what tasks left; the data in .comporta stays
	rm -rf .venv .tools dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
