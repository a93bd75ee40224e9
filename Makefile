# The chores of this checkout.  `make` alone lists them.
# Everything runs in .venv, made by tools/make_venv.py with the versions of constraints.txt.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV ?= .venv
PYTHON ?= python3
PY := $(VENV)/bin/python
# cpu or gpu; once the environment is made its stamp remembers the choice.
TORCH ?= $(shell cat $(VENV)/.stamp 2>/dev/null || echo cpu)
# JupyterLab refuses to run as root unless told.
AS_ROOT := $(shell [ "$$(id -u)" != 0 ] || echo --allow-root)
PYX = $(shell find kernels_core -name '*.pyx')

.PHONY: help
help: ## show this list
	@echo "Maskscope: a workbench for grammar-constrained decoding. Targets:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Settings: PYTHON=python3.12 (which Python), TORCH=gpu (CUDA build of PyTorch), ARGS=... (passed on by test, bench)."

$(VENV)/.stamp: pyproject.toml constraints.txt tools/make_venv.py
	@command -v $(PYTHON) >/dev/null || { echo "maskscope: $(PYTHON) not found. Run: apt-get install -y python3 python3-venv python3-dev g++"; exit 1; }
	@$(PYTHON) tools/make_venv.py $(VENV) --torch $(TORCH)

.PHONY: venv
venv: $(VENV)/.stamp ## make the virtual environment and install everything into it

.PHONY: constraints
constraints: ## renew constraints.txt: exact versions of everything that `make venv` installs
	@$(PYTHON) tools/make_venv.py $(VENV) --renew

.PHONY: build
build: $(VENV)/.stamp ## compile the engine in place and bundle the front end (a second when nothing changed)
	@$(PY) setup.py --quiet build_ext --inplace
	@$(PY) tools/build_frontend.py

.PHONY: lab
lab: build ## open JupyterLab on the tour
	$(PY) -m jupyterlab $(AS_ROOT) notebooks/tour.ipynb

.PHONY: tour
tour: build ## run the tour without a browser and write build/tour.html
	$(PY) tools/export_notebook.py notebooks/tour.ipynb build/tour.html

# One worker more than the machine has processors, since tests in browsers wait half of their time; each takes a gigabyte
# of memory.  One worker runs a whole file, since its tests share browsers, servers and models, and some go on from each
# other.  Workers, and the processes that they start, compute with one thread: more would wait for each other.  They keep
# compiled modules, which each would compile anew.
unexport PYTHONDONTWRITEBYTECODE
WORKERS = $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PYTEST = MASKSCOPE_PRESET=smoke OMP_NUM_THREADS=1 $(PY) $(UNDER) -m pytest -n $(WORKERS) --maxprocesses 8 --dist loadfile --no-loadscope-reorder
ALL = --nbmake --nbmake-timeout=300 tests notebooks
ROOM ?= $(shell tools/changed_rooms.sh | sed 's,tests/,,')

.PHONY: check
check: build ## in two minutes: format, style, types, and the tests of what changed (or of ROOM=engine) but those in a browser
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target style types
	$(PYTEST) -q -m "not browser" --hypothesis-profile=check $(ROOM:%=tests/%) $(ARGS)

.PHONY: test
test: build ## run the test suite, notebooks and browser tests included
	$(PYTEST) $(ALL) $(ARGS)

.PHONY: test-front
test-front: $(VENV)/.stamp ## check the front end's types and run its own tests, without a browser
	@$(PY) tools/build_frontend.py types
	@$(PY) tools/build_frontend.py test

.PHONY: test-long
test-long: build test-options test-wheel ## run the test suite with all it leaves out: every variant, new random examples, wheels
	$(PYTEST) --long $(ALL) $(ARGS)

.PHONY: test-options
test-options: build ## run the tests that draw or open a browser without dot and Chromium, with each, with both
	$(PY) tools/test_options.py $(ARGS)

.PHONY: test-wheel
test-wheel: build ## build a wheel, and run the engine's tests on it in an empty environment
	rm -rf build/wheels
	$(PY) -m uv build --quiet --wheel --out-dir build/wheels
	$(PY) tools/test_wheel.py build/wheels/maskscope-*.whl

.PHONY: lint style types pages
lint: style types pages ## check format, style, Cython style, spelling, imports, types, and the links of the pages
style: $(VENV)/.stamp
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	PATH="$(abspath $(VENV))/bin:$$PATH" cython-lint kernels_core
	$(VENV)/bin/codespell
	$(VENV)/bin/lint-imports
types: $(VENV)/.stamp
	$(PY) -m mypy
	$(PY) tools/build_frontend.py types
pages: $(VENV)/.stamp
	$(PY) -m sphinx -EWnq --keep-going -c docs . build/pages

.PHONY: bench
bench: build ## time compiling, masks and token steps beside the peers that are installed
	$(PY) -m workbench experiment run masks --fresh --executor processes:1 --timeout 120 $(ARGS)

.PHONY: docs
docs: build ## write the pages and the API reference to build/docs
	$(PY) tools/build_docs.py build/docs

.PHONY: real-inputs
real-inputs: $(VENV)/.stamp ## write docs/real-inputs.md from the marks of the tests
	$(PY) tools/real_inputs.py

.PHONY: screenshot
screenshot: build ## let the browser tests make the documentation's pictures anew
	$(PY) -m pytest -m browser tests/browser/test_panels.py tests/browser/test_screen.py
	@mkdir -p docs/images
	cp build/screenshots/screen.png docs/images/screen.png
	cp build/screenshots/schema-automaton.png docs/images/explorer.png
	cp build/screenshots/schema-why.png docs/images/why.png
	cp build/screenshots/tags-triggers.png docs/images/triggers.png
	cp build/screenshots/ambiguous-tree.png docs/images/derivation.png
	cp build/screenshots/schema-caches.png docs/images/caches.png

.PHONY: sanitize
sanitize: $(VENV)/.stamp ## run the engine's tests under the address and undefined-behaviour sanitizers
	@tools/sanitize.sh $(PY)

.PHONY: sanitize-threads
sanitize-threads: $(VENV)/.stamp ## run eight threads at shared grammars under the thread sanitizer
	@tools/sanitize.sh $(PY) --threads $(ARGS)

.PHONY: annotate
annotate: $(VENV)/.stamp ## write Cython's annotated sources to build/annotate
	@mkdir -p build/annotate
	@for file in $(PYX); do name=$${file//\//.}; \
	  $(PY) -m cython -3 --cplus -a -o build/annotate/$${name%.pyx}.cpp $$file; done
	@rm -f build/annotate/*.cpp; ls build/annotate/*.html

.PHONY: clean
clean: ## remove everything built, but not the environment
	rm -rf build dist visualizers/bundle frontend/node_modules .import_linter_cache .pytest_cache .mypy_cache .ruff_cache .hypothesis ./*.egg-info
	find kernels_core \( -name '*.so' -o -name '*.cpp' -o -name '*.c' -o -name '*.html' \) -not -path '*/include/*' -delete

.PHONY: distclean
distclean: clean ## remove the environment too
	rm -rf $(VENV)
