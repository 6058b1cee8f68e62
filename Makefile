# Needs Python 3.11 or newer with venv, and make. All else is installed into $(VENV).

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

# Compiled here, against the TensorFlow that is installed; it must be of DALI's own version.
TENSORFLOW_PLUGIN = "$(BIN)/pip" install --disable-pip-version-check --no-build-isolation --no-deps \
	nvidia-dali-tf-plugin-cuda120==$$("$(BIN)/python" -c \
	'from importlib.metadata import version; print(version("nvidia-dali-cuda120"))')

# Compiled modules are kept, whatever the shell says: pytest and each process that it starts would
# compile all of them anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help app lab test test-all soak targets lint perf clean chromium

help: ## show this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /  make \1\t/p' Makefile | expand -t 16

app: $(VENV)/.installed $(PHOTOS) ## serve the web app on 127.0.0.1:5006 and open its link (DATA=folder, PORT=number)
	@"$(BIN)/workbench" app --data "$(DATA)" $(if $(PORT),--port $(PORT)) $(ARGS)

lab: $(VENV)/.installed $(PHOTOS) ## open JupyterLab on the quickstart notebook (PORT=number)
	@"$(BIN)/workbench" lab $(if $(PORT),--port $(PORT))

# The notebooks come first: they measure for a minute, with which no run should end.
NOTEBOOKS = --nbmake --nbmake-timeout=600 $(wildcard notebooks)
PYTEST = "$(BIN)/pytest" -n $(WORKERS) --dist loadgroup --timeout=600

test: $(VENV)/.installed-test chromium ## run the tests: 10 minutes of CPU, 7 on two cores (WORKERS=number)
	@$(PYTEST) -p no:nbmake tests $(ARGS)

test-all: $(VENV)/.installed-test chromium ## run the thorough tests too, in up to 70 minutes (SHARE=1/7: a part of what test leaves out)
	@$(PYTEST) --hypothesis-profile=thorough --timeout=1800 \
		$(if $(SHARE),--share $(SHARE),--thorough) $(NOTEBOOKS) tests $(ARGS)

soak: $(VENV)/.installed-test ## for hours: random edits (EDITS=number), every fault in every host, and examples that nobody has tried yet
	@"$(BIN)/pytest" --soak -m soak tests -s $(ARGS)
	@"$(BIN)/pytest" benchmarks/test_soak.py -s --edits $(EDITS) $(ARGS)
	@$(PYTEST) --thorough --hypothesis-profile=soak --timeout=0 -m hypothesis tests $(ARGS)
	@cat "$${OUT:-build}/faults.txt"

targets: $(VENV)/.installed-test ## install what exported programs need (3 GB), so that make test runs them
	"$(BIN)/pip" install --disable-pip-version-check --editable '.[test,targets]'
	@$(TENSORFLOW_PLUGIN) || echo "The TensorFlow export is not executed: DALI's plugin for it was not built."

lint: $(VENV)/.installed-test ## run ruff, mypy, tsc and the check of wording
	"$(BIN)/ruff" check .
	"$(BIN)/ruff" format --check .
	"$(BIN)/mypy"
	"$(BIN)/python" -m tests.wording
	PATH="$(BIN):$$PATH" npm --prefix $(FRONTEND) run typecheck

perf: $(VENV)/.installed-test ## run the benchmarks and print their table
	@"$(BIN)/pytest" --thorough benchmarks -s $(ARGS)

clean: ## remove all that was installed or built here (keeps samples/ and shapes/)
	rm -rf "$(VENV)" $(FRONTEND)/node_modules workbench/ui/static build dist
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find workbench tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed; $(PYTHON) is " + v + ". Name another: make PYTHON=python3.12")'
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
	"$(BIN)/workbench" samples shapes --targets

# The browser tests need Debian's chromium; without it they are skipped and say so.
chromium:
	@if command -v chromium >/dev/null || [ -n "$$CHROMIUM" ]; then exit 0; fi; \
	skip() { echo "The browser tests are skipped: $$1"; exit 0; }; \
	command -v apt-get >/dev/null || skip "chromium is missing and there is no apt-get here."; \
	if [ "$$(id -u)" = 0 ]; then as_root="env"; \
	elif sudo -n true 2>/dev/null; then as_root="sudo env"; \
	else skip "chromium is missing; install it: sudo apt-get install chromium"; fi; \
	echo "Installing chromium for the browser tests"; \
	$$as_root DEBIAN_FRONTEND=noninteractive apt-get update -qq && \
	$$as_root DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		chromium >/dev/null || skip "apt-get could not install chromium."
