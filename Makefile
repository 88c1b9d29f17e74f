# Loopline. `make demo` shows the main job, `make test` proves it; both set up what they need.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
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

$(STAMP): pyproject.toml tests/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Loopline needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "no venv module: install it (Debian: apt install python3-venv)"; exit 2; }
	@echo "installing into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c tests/constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP)
	@$(BIN)/loopline demo

test: $(STAMP)
	@$(BIN)/python -m pytest -q -m "not soak"

check: $(STAMP)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

fmt: $(STAMP)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(STAMP)
	@$(BIN)/loopline bench --out $(OUT)

soak: $(STAMP)
	@$(BIN)/python -m pytest -q -m soak -s

clean:
	rm -rf $(VENV) dist build $(OUT) .cache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
