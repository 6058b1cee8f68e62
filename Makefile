# Needs make, and Python 3.11 or newer with venv. Everything else is installed into $(VENV).

PYTHON ?= python3
VENV ?= .venv
DATA ?= samples
PORT ?=
WORKERS ?= 2
SHARE ?=
EDITS ?= 20000

PHOTOS := $(filter samples,$(DATA)) $(if $(filter shapes/%,$(DATA)),shapes)
BIN := $(abspath $(VENV))/bin
FRONTEND := workbench/ui/frontend
SOURCES := pyproject.toml hatch_build.py $(shell find $(FRONTEND) -mindepth 1 \
	-name node_modules -prune -o -name '*.tsbuildinfo' -prune -o -print 2>/dev/null)

# Compiled locally for the installed TensorFlow. Its version must equal DALI's.
TENSORFLOW_PLUGIN = "$(BIN)/pip" install --disable-pip-version-check --no-build-isolation --no-deps \
	nvidia-dali-tf-plugin-cuda120==$$("$(BIN)/python" -c \
	'from importlib.metadata import version; print(version("nvidia-dali-cuda120"))')

# Write .pyc files even if the shell disables it. Otherwise pytest and each process that it starts
# would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help app lab test test-all soak targets lint perf clean chromium

help: ## show this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /  make \1\t/p' Makefile | expand -t 16

app: $(VENV)/.installed $(PHOTOS) ## start the web app on 127.0.0.1:5006 and open it (DATA=folder, PORT=number)
	@"$(BIN)/workbench" app --data "$(DATA)" $(if $(PORT),--port $(PORT)) $(ARGS)

lab: $(VENV)/.installed $(PHOTOS) ## open JupyterLab with the quickstart notebook (PORT=number)
	@"$(BIN)/workbench" lab $(if $(PORT),--port $(PORT))

# The notebooks start first, because one of them takes a minute to measure.
NOTEBOOKS = --nbmake --nbmake-timeout=600 $(wildcard notebooks)
PYTEST = "$(BIN)/pytest" -n $(WORKERS) --dist loadgroup --timeout=600

test: $(VENV)/.installed-test chromium ## run the tests: 10 minutes of CPU, 7 on two cores (WORKERS=number)
	@$(PYTEST) -p no:nbmake tests $(ARGS)

test-all: $(VENV)/.installed-test chromium ## also run the thorough tests, up to 70 minutes (SHARE=1/7: one part of the tests that test skips)
	@$(PYTEST) --hypothesis-profile=thorough --timeout=1800 \
		$(if $(SHARE),--share $(SHARE),--thorough) $(NOTEBOOKS) tests $(ARGS)

soak: $(VENV)/.installed-test ## run for hours: random edits (EDITS=number), every fault in every host, new random examples
	@"$(BIN)/pytest" --soak -m soak tests -s $(ARGS)
	@"$(BIN)/pytest" benchmarks/test_soak.py -s --edits $(EDITS) $(ARGS)
	@$(PYTEST) --thorough --hypothesis-profile=soak --timeout=0 -m hypothesis tests $(ARGS)
	@cat "$${OUT:-build}/faults.txt"

targets: $(VENV)/.installed-test ## install the libraries that exported programs need (3 GB), so that make test runs them
	"$(BIN)/pip" install --disable-pip-version-check --editable '.[test,targets]'
	@$(TENSORFLOW_PLUGIN) || echo "The TensorFlow export is not tested: DALI's plugin for TensorFlow could not be built."

lint: $(VENV)/.installed-test ## run ruff, mypy, tsc and the check of wording
	"$(BIN)/ruff" check .
	"$(BIN)/ruff" format --check .
	"$(BIN)/mypy"
	"$(BIN)/python" -m tests.wording
	PATH="$(BIN):$$PATH" npm --prefix $(FRONTEND) run typecheck

perf: $(VENV)/.installed-test ## run the benchmarks and print their table
	@"$(BIN)/pytest" --thorough benchmarks -s $(ARGS)

clean: ## remove everything that was installed or built here, except samples/ and shapes/
	rm -rf "$(VENV)" $(FRONTEND)/node_modules workbench/ui/static build dist
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find workbench tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.version_info >= (3, 11) or sys.exit("$(PYTHON) is Python " + v + ", but 3.11 or newer is needed. Select another: make PYTHON=python3.12")'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "Python's venv is missing. Install it: apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv "$(VENV)"

$(VENV)/.installed: $(SOURCES) | $(BIN)/pip
	"$(BIN)/pip" install --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-test: $(SOURCES) | $(BIN)/pip
	"$(BIN)/pip" install --disable-pip-version-check --editable '.[test]'
	@touch $@ $(VENV)/.installed

samples: | $(VENV)/.installed
	"$(BIN)/workbench" samples samples

shapes: | $(VENV)/.installed
	"$(BIN)/workbench" samples shapes --annotations

# The browser tests need Debian's chromium. Without it they are skipped with a message.
chromium:
	@if command -v chromium >/dev/null || [ -n "$$CHROMIUM" ]; then exit 0; fi; \
	skip() { echo "The browser tests are skipped: $$1"; exit 0; }; \
	command -v apt-get >/dev/null || skip "chromium is missing, and apt-get is not available."; \
	if [ "$$(id -u)" = 0 ]; then as_root="env"; \
	elif sudo -n true 2>/dev/null; then as_root="sudo env"; \
	else skip "chromium is missing; install it: sudo apt-get install chromium"; fi; \
	echo "Installing chromium for the browser tests"; \
	$$as_root DEBIAN_FRONTEND=noninteractive apt-get update -qq && \
	$$as_root DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		chromium >/dev/null || skip "apt-get could not install chromium."
