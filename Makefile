PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SAMPLE := src/kdive/samples/data

.PHONY: setup demo test soak lint fuzz bench lab lab-build clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV) || { echo "python3-venv is missing: apt-get install -y python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	$(BIN)/python -m compileall -q src
	touch $@

demo: setup
	$(BIN)/kdive --dump $(SAMPLE)/crash.dmp --isf $(SAMPLE)/isf --offline --batch -c '!analyze -v; k; lm'

test: setup
	sh tools/system_packages.sh
	sh tools/node_packages.sh
	PYTHON=$(PYTHON) sh tools/peer.sh
	$(BIN)/python -m pytest

soak: setup
	sh tools/system_packages.sh
	KDIVE_SOAK=1 $(BIN)/python -m pytest -q --timeout 1800 tests/frontends/mcp/test_races.py tests/lab

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/python -m pytest -q tests/test_layers.py

fuzz: setup
	KDIVE_FUZZ=10 $(BIN)/python -m pytest -q tests/fuzz

bench: setup
	$(BIN)/python bench/dump.py
	$(BIN)/python bench/symbols.py
	$(BIN)/python bench/live.py
	$(BIN)/python bench/mcp_dump.py
	$(BIN)/python bench/mcp_live.py

lab: setup
	sh tools/system_packages.sh
	$(BIN)/python lab/run.py

lab-build:
	$(PYTHON) lab/build.py

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis
