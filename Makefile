# `make` lists the targets. Everything runs in a virtual environment made from requirements.lock.

PYTHON ?= 3.10
VENV := .venv$(if $(filter-out 3.10,$(PYTHON)),-$(PYTHON))
READY := $(VENV)/.ready
RUN := $(VENV)/bin/python
SET ?=
AUDIT ?=

# Importing TFX without compiled bytecode takes 20 s longer, in every process.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/.cache/pycache

.DEFAULT_GOAL := help
.PHONY: help setup run smoke report serve doctor tensorboard verify test test-browser bench fuzz audit licences lint lock clean

help:  ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done
	@printf '\n  PYTHON=3.13 chooses the second stack; SET="train.epochs=3" changes settings.\n'

setup: $(READY)  ## Make the virtual environment

$(READY): requirements.lock tools/setup.sh tools/uv.lock.txt
	@tools/setup.sh $(PYTHON) $(VENV)
	@touch $@

run: $(READY)  ## Run the whole pipeline on MNIST
	@$(RUN) -m pipeline run $(foreach pair,$(SET),--set $(pair))

smoke: $(READY)  ## Run the pipeline on a small part of the data
	@$(RUN) -m pipeline run --config smoke $(foreach pair,$(SET),--set $(pair))

report: $(READY)  ## Make the report of the last run anew
	@$(RUN) -m pipeline report $(foreach pair,$(SET),--set $(pair))

serve: $(READY)  ## Draw digits for the pushed model, in a browser
	@$(RUN) -m pipeline serve $(foreach pair,$(SET),--set $(pair))

doctor: $(READY)  ## Check this machine
	@$(RUN) -m pipeline doctor

tensorboard: $(READY)  ## Look at the training curves of all runs
	@$(VENV)/bin/tensorboard --logdir runs --host 127.0.0.1

verify: $(READY)  ## Compare the weights on 1, 2, 4 and 8 replicas
	@$(RUN) -m pipeline verify-replicas

test: $(READY) lint  ## Check the style and run all tests
	@$(RUN) -m pytest

test-browser: $(READY)  ## Run the tests that need Chromium and ChromeDriver
	@$(RUN) -m pytest -m browser

bench: $(READY)  ## Measure, and write benchmarks/RESULTS.md (TORCH=python: PyTorch too)
	@$(RUN) -m benchmarks $(if $(TORCH),--torch $(TORCH))

fuzz: $(READY)  ## Read 10,000 damaged IDX files
	@FUZZ_EXAMPLES=10000 $(RUN) -m pytest -k fuzz tests/components/test_idx.py

audit: $(READY) .tools/audit/.ready  ## Look for known vulnerabilities of the locked packages
	@$(RUN) -m tools.audit $(AUDIT)

.tools/audit/.ready: tools/audit.lock.txt
	@uv=$$(command -v uv || echo .tools/uv/bin/uv) && \
		$$uv venv --quiet --allow-existing --python $(RUN) .tools/audit && \
		$$uv pip sync --quiet --require-hashes --python .tools/audit/bin/python $<
	@touch $@

licences: $(READY)  ## List the licences of all installed packages
	@$(RUN) -m tools.licences

lint: $(READY)  ## Check the style
	@$(VENV)/bin/ruff check --quiet .
	@$(VENV)/bin/ruff format --check --quiet .

lock: $(READY)  ## Resolve the dependencies anew into requirements.lock
	@uv=$$(command -v uv || echo .tools/uv/bin/uv) && $$uv pip compile pyproject.toml --group dev \
		--universal --python-version 3.10 --generate-hashes --quiet --output-file requirements.lock

clean:  ## Remove the environment and the caches; data, runs and pushed models stay
	rm -rf .venv .venv-* .tools .cache
