# The two commands: `make demo` (the main job on a bundled workload) and `make test` (lint, types, the whole suite).
# Both create and fill .venv first when needed; a second call skips that at once (see .ci/setup).

export PYTHON ?= python3
export VENV ?= .venv
BIN := $(VENV)/bin
SAMPLE := workloads/samples/sample

FAST := .venv-fast

.PHONY: help site man demo live test clients fast test-compiled wheels lint-packaging release nightly bench decisions changelog unseen clean

help: ## say what there is (default)
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22

demo: ## replay the bundled workload into ./demo and print what happened
	@.ci/setup run
	@$(BIN)/slurmsim run --conf $(SAMPLE).conf --workload $(SAMPLE).parquet --out demo

live: ## start a live cluster, submit a job to it, watch it, account for it, stop
	@.ci/setup run
	@.ci/live

test: ## lint, types and the whole test suite
	@.ci/setup dev clients,browser
	@.ci/checks

site: ## the pages of docs/ as a site in site/, without a network once installed
	@.ci/setup site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

man: ## manual pages of slurmsim and its commands in man1/, from the parser
	@.ci/setup dev
	@$(BIN)/python -m slurmsim.cli.man man1

clients: ## programs other people wrote for Slurm, against a live cluster
	@.ci/setup dev,clients
	@$(BIN)/python -m pytest -q tests/clients

upstream: ## Slurm's own test suite against a live cluster: SLURM_TESTSUITE=the folder `testsuite` of Slurm's sources
	@.ci/setup dev,upstream
	@nice $(BIN)/python -m tests.upstream.run -j 4 -o upstream.json && $(BIN)/python -m tests.upstream.tell upstream.json

fast: ## install the compiled build into .venv-fast (again after an edit) and compare it with pure Python
	@SLURMSIM_COMPILE=$(or $(SLURMSIM_COMPILE),1) VENV=$(FAST) .ci/setup dev
	@$(FAST)/bin/pytest -q tests/differential/test_compiled.py

test-compiled: ## the whole test suite against the compiled build, which is what users install
	@SLURMSIM_COMPILE=$(or $(SLURMSIM_COMPILE),1) VENV=$(FAST) .ci/setup dev
	@PYTHONSAFEPATH=1 $(FAST)/bin/python -m pytest -n "$${JOBS:-2}"

wheels: ## a pure and a compiled wheel into dist, each tried in a clean environment (PYTHON=python3.13)
	@.ci/wheels

lint-packaging: ## workflows, container file and conda recipe, by linters from the package registries (.venv-lint)
	@.ci/packaging/lint

release: ## all that a release needs without a network but for packages: VERSION=…; publishing is the tag's workflow
	@.ci/packaging/release "$(or $(VERSION),$(error say VERSION=…))"

nightly: export SLURMSIM_WILD_COMPILED ?= 200
nightly: test-compiled ## test-compiled; kernels under sanitizers; fuzzers and properties with thousands of examples; daemons killed and stopped 1,000 times; tests beside load
	@.ci/setup dev
	@HYPOTHESIS_PROFILE=nightly .ci/sanitize
	@SLURMSIM_MUTATIONS=100000 SLURMSIM_COMMAND_FILES=500 SLURMSIM_SLIPS=20000 HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -n 2 tests/fuzz
	@HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -n 2 -m hypothesis
	@SLURMSIM_WILD_WORLDS=$(or $(SLURMSIM_WILD_WORLDS),2000) SLURMSIM_WILD_SEED=$(or $(SLURMSIM_WILD_SEED),1000000) $(BIN)/python -m pytest -s tests/properties/test_wild_worlds.py
	@SLURMSIM_SCHEDULES=100000 $(BIN)/python -m pytest -s tests/properties/test_power_schedules.py
	@SLURMSIM_KILLS=1000 $(BIN)/python -m pytest -s tests/live/test_kill.py
	@SLURMSIM_STOPS=1000 $(BIN)/python -m pytest -s tests/live/test_stopping.py
	@SLURMSIM_WAITS=1000 $(BIN)/python -m pytest -s tests/live/test_why_live.py -k same_session
	@.ci/setup dev,notebooks && $(BIN)/python -m pytest -n 2 -m slow
	@.ci/beside-load
	@[ -z "$$SLURM_TESTSUITE" ] || $(MAKE) --no-print-directory upstream
	@$(MAKE) --no-print-directory site lint-packaging

bench: ## the benchmarks, one file a claim of the README (logs: SLURMSIM_DATA=folder)
	@.ci/setup dev
	@PYTHONSAFEPATH=1 $(BIN)/python -m pytest -p no:xdist -s benchmarks

decisions: ## fingerprints of what is decided, to compare before and after a change (SLURMSIM_DATA=folder)
	@.ci/setup dev
	@$(BIN)/python benchmarks/decisions.py

changelog: ## move changelog.d into CHANGELOG.md as a release: VERSION=…
	@.ci/setup dev
	@$(BIN)/towncrier build --yes --version "$(or $(VERSION),$(error say VERSION=…))"

unseen: ## ask real Slurm and slurmsim new questions: SEED=…, PERSONAS=1, SLURMSIM_ORACLE=the oracle kit's folder
	@.ci/setup dev
	@cd tests/differential && $(abspath $(BIN))/python -m unseen all $(if $(PERSONAS),--personas --documents) --seed $(or $(SEED),1) --folder $(CURDIR)/unseen-recordings/$(or $(SEED),1)

clean: ## remove what the commands above left behind, .venv too
	@rm -rf $(VENV) $(FAST) .venv-lint demo build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
