# Everything a fresh machine with Python ≥ 3.11, make and a C++20 compiler needs: `make demo`, `make test`.
PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
# Whatever Python compiles, the tests among it, the many processes that follow need not compile again.
export PYTHONDONTWRITEBYTECODE :=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALL := PATH="$(abspath $(BIN)):$$PATH" $(PIP) install --quiet --no-build-isolation
CORE := $(wildcard src/core/*/*.hpp src/core/*/*.cpp)
CPP := $(CORE) $(wildcard tests/cpp/*.hpp tests/cpp/*.cpp)
BUILT_FROM := pyproject.toml CMakeLists.txt $(CORE)

.PHONY: help demo test lint format build docs bench sanitize portable wheel clean

help:
	@echo "make demo      fit a built-in table: which model, how good on unseen rows, a report in demo.gapless"
	@echo "make test      run the tests"
	@echo "make lint      ruff, clang-format, mypy"
	@echo "make format    let ruff and clang-format change the files"
	@echo "make build     compile the core and install the package, editable, with the tools for development"
	@echo "make docs      build the site in build/docs/html; GALLERY=no leaves out the pictures of the gallery"
	@echo "make bench     compare with other libraries; ARGS=--quick for a first look"
	@echo "make sanitize  the core's own tests under the address and undefined-behaviour sanitizers"
	@echo "make portable  the numeric tests as on older processors, and under clang"
	@echo "make wheel     a wheel for this kind of machine and the source distribution in dist, tried where there is no compiler"

demo: $(VENV)/.installed
	$(BIN)/gapless fit breast_cancer --time-limit 30 --out demo.gapless

test: $(VENV)/.developing
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

lint: $(VENV)/.developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $(CPP)
	$(BIN)/mypy --num-workers $(JOBS)

format: $(VENV)/.developing
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

build: $(VENV)/.developing

docs: $(VENV)/.documenting
	$(BIN)/python -m docs.building build/docs/source
	$(BIN)/python -m sphinx -q -W --keep-going -j $(JOBS) -b html -c docs -d build/docs/cache build/docs/source build/docs/html
	@echo "the site is in build/docs/html/index.html"

bench: $(VENV)/.comparing
	$(BIN)/python -m benchmarks.run $(ARGS)
	$(BIN)/python -m benchmarks.paths $(filter --quick,$(ARGS))
	$(BIN)/python -m benchmarks.tuning $(filter --quick,$(ARGS))
	$(BIN)/python -m benchmarks.kernels $(filter --quick,$(ARGS))
	$(BIN)/python -m benchmarks.stochastic $(filter --quick,$(ARGS))
	$(BIN)/python -m benchmarks.networks $(filter --quick,$(ARGS))
	$(BIN)/python -m benchmarks.bayes $(filter --quick,$(ARGS))
	$(BIN)/python -m benchmarks.generalized $(filter --quick,$(ARGS))
	$(BIN)/python -m benchmarks.text $(filter --quick,$(ARGS))
	$(BIN)/python -m benchmarks.trees $(filter --quick,$(ARGS))
	$(BIN)/python -m benchmarks.neighbors $(filter --quick,$(ARGS))
	$(BIN)/python -m benchmarks.linkage $(filter --quick,$(ARGS))
	$(BIN)/python -m benchmarks.linkage --sweep $(filter --quick,$(ARGS))
	$(BIN)/python -m benchmarks.kmeans $(filter --quick,$(ARGS))
	$(BIN)/python -m benchmarks.kmeans --sweep --one-thread $(filter --quick,$(ARGS))
	$(BIN)/python -m benchmarks.kernel_pca $(filter --quick,$(ARGS))
	$(BIN)/python -m benchmarks.pca $(filter --quick,$(ARGS))
	$(BIN)/python -m benchmarks.pca --sweep --one-thread $(filter --quick,$(ARGS))
	$(BIN)/python -m benchmarks.parts $(filter --quick,$(ARGS))
	$(BIN)/python -m benchmarks.tables $(filter --quick,$(ARGS))
	$(BIN)/python -m benchmarks.sweep $(filter --quick,$(ARGS))

sanitize: $(VENV)/.developing
	$(BIN)/cmake -S . -B build/sanitize -DGAPLESS_SANITIZE=ON -DCMAKE_BUILD_TYPE=None
	$(BIN)/cmake --build build/sanitize --parallel $(JOBS)
	$(BIN)/ctest --test-dir build/sanitize --output-on-failure --parallel $(JOBS)

portable: $(VENV)/.developing
	VENV=$(VENV) JOBS=$(JOBS) BRIEFLY=$(BRIEFLY) .ci/portable

wheel: $(VENV)/.releasing
	VENV=$(VENV) .ci/wheel

clean:
	rm -rf build dist $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis demo.gapless demo.png

# Each stamp says what the environment has, and is made again when what it was made from has changed. The tools of the
# build live in the environment too, so that a second build compiles only what changed.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "gapless needs Python 3.11 or newer; say which one to use: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.tools: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet cmake ninja $$($(BIN)/python -c 'import tomllib; \
	  print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])')
	@touch $@

$(VENV)/.installed: $(BUILT_FROM) $(VENV)/.tools
	$(INSTALL) --editable .
	@touch $@

# Bytecode of what is imported is made by the first process that does; of all of it, it takes a minute.
$(VENV)/.developing: $(BUILT_FROM) $(VENV)/.tools
	$(INSTALL) --no-compile --editable '.[test,lint]'
	@touch $@ $(VENV)/.installed

$(VENV)/.documenting: $(BUILT_FROM) $(VENV)/.tools
	$(INSTALL) --editable '.[docs]'
	@touch $@ $(VENV)/.installed

$(VENV)/.releasing: $(BUILT_FROM) $(VENV)/.tools
	$(INSTALL) --editable '.[release]'
	@touch $@ $(VENV)/.installed

$(VENV)/.comparing: $(BUILT_FROM) $(VENV)/.tools
	$(INSTALL) --editable '.[bench]'
	@touch $@ $(VENV)/.installed
