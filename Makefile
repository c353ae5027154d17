# The two commands are `make run` and `make test`. Each does all of its own set-up: Python 3.11 and make are enough.
# CONTRIBUTING.md lists the rest.

PYTHON ?= python3
BIN := .venv/bin
RIVALS := .venv-rivals
DOCS := .venv-docs
RUN ?= out/study
LOCK := uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links --quiet

.PHONY: run test test-slow torture bench bench-live bench-fleet docs setup check lock browser dashboard-libraries clean

run: setup
	@$(BIN)/gossamer study --out $(RUN)

test: setup check
	$(BIN)/python -m pytest -n 2 -m "not slow" -rs  # says which tests were skipped, and why

test-slow: setup
	$(BIN)/python -m pytest -n 2 -m slow --ignore=tests/live
	# The properties again, with examples that no run has seen before.
	GOSSAMER_HYPOTHESIS=fresh $(BIN)/python -m pytest -n 2 -m "not slow" tests/properties tests/unit/simulator tests/unit/systems tests/unit/workloads
	$(BIN)/python -m pytest -n 0 -m slow tests/live  # fifty processes want the machine to themselves

# Drawn networks with drawn faults in virtual time; hours.
torture: setup
	$(BIN)/gossamer torture --seeds 10000 --minutes 600

bench: setup
	$(BIN)/python -m bench

bench-live: $(RIVALS)/.installed
	$(RIVALS)/bin/python -m bench live

# For example: make bench-fleet FLAGS="--nodes 50 --rate 300 --contenders gossamer,zenoh --busy"
bench-fleet: $(RIVALS)/.installed
	$(RIVALS)/bin/python -m bench fleet $(FLAGS)

# The pages keep their places, so that links between them, which GitHub follows too, stay true. A broken one is an error.
docs: $(DOCS)/.installed
	rm -rf out/docs
	mkdir -p out/docs/source
	cp -r *.md docs deploy examples out/docs/source
	mv out/docs/source/docs/site/*.md out/docs/source
	rm -r out/docs/source/docs/site
	$(DOCS)/bin/python -m sphinx -q -W --keep-going -c docs/site out/docs/source out/docs/site
	@echo "the site is in out/docs/site/index.html"

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

setup: .venv/.installed .venv/.compiled

# Building needs pinned tools first: pyspark comes as source, and --no-build-isolation builds it with these.
.venv/.installed: requirements.lock requirements-build.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Gossamer needs Python 3.11 or newer; set PYTHON=/path/to/it")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-build.lock
	$(BIN)/python -m pip install --quiet --require-hashes --no-build-isolation -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# Compiled once here, so that the first command is not a long silence. The cache is keyed by the hash of all kernel sources
# (src/gossamer/kernels/jit.py), so this only has to run again when one of them changes.
KERNELS := $(shell find src/gossamer/kernels src/gossamer/systems/*/kernel* src/gossamer/systems/*/warm.py -name "*.py") src/gossamer/model/values/draw.py
.venv/.compiled: .venv/.installed $(KERNELS)
	$(BIN)/python -m gossamer.systems
	@touch $@

# libp2p needs an older protobuf than our Spark has, so the rivals live in an environment of their own.
$(RIVALS)/.installed: requirements-rivals.lock requirements-build.lock pyproject.toml
	test -x $(RIVALS)/bin/python || $(PYTHON) -m venv $(RIVALS)
	$(RIVALS)/bin/python -m pip install --quiet --require-hashes -r requirements-build.lock
	$(RIVALS)/bin/python -m pip install --quiet --require-hashes --no-build-isolation -r requirements-rivals.lock
	$(RIVALS)/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(DOCS)/.installed: requirements-docs.lock requirements-build.lock pyproject.toml
	test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --require-hashes -r requirements-build.lock
	$(DOCS)/bin/python -m pip install --quiet --require-hashes --no-build-isolation -r requirements-docs.lock
	$(DOCS)/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# The rivals' list takes every version that it shares from ours, but for protobuf's.
lock:
	$(BIN)/$(LOCK) --extra build -o requirements-build.lock
	$(BIN)/$(LOCK) --extra all --extra dev -o requirements.lock
	grep '==' requirements.lock | grep -v '^protobuf==' | tr -d '\\' \
		| $(BIN)/$(LOCK) --extra rivals -c /dev/stdin -o requirements-rivals.lock
	grep '==' requirements.lock | tr -d '\\' | $(BIN)/$(LOCK) --extra docs -c /dev/stdin -o requirements-docs.lock

# The browser of tests/browser. Without it these tests are skipped, with a message.
browser:
	apt-get install -y --no-install-recommends chromium

# Only after a change of dashboard/package.json: the bundles are in the repository, and running the dashboard needs no Node.js.
dashboard-libraries:
	cd dashboard && npm ci --silent && npm run build --silent

clean:
	rm -rf .venv $(RIVALS) $(DOCS) out dashboard/node_modules
