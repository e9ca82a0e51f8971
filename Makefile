# The front door. `make setup` once (the other targets do it for you), then `make test`.

VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
NATIVE := $(shell git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh' '*.cmake' '*CMakeLists.txt')
CPP := $(shell git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh')
PYTEST_ARGS ?=

.PHONY: setup build test test-slow quick test-native lint format bench wheel clean

setup: $(STAMP)

$(VENV)/.dependencies: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet $$($(PYTHON) -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb')); \
	  print(*('\"%s\"' % d for d in p['build-system']['requires'] + p['project']['dependencies'] + p['project']['optional-dependencies']['dev']))" | xargs -n1 printf '%s ')
	touch $@

# An editable install: Python files are used where they are, native code is rebuilt when it changed.
$(STAMP): $(VENV)/.dependencies $(NATIVE)
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/pip install --quiet --no-build-isolation --no-deps -e . \
	  --config-settings=cmake.define.ZEROGAMES_WERROR=ON
	touch $@

build: $(STAMP)

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

quick: $(STAMP)
	$(BIN)/python -m pytest -n 2 -x tests/test_registry.py games/classics $(PYTEST_ARGS)

test-slow: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m slow $(PYTEST_ARGS)

# The native tests once more, under the address and undefined-behaviour sanitizers.
test-native: $(VENV)/.dependencies
	PATH="$(abspath $(BIN)):$$PATH" cmake -G Ninja -S . -B build/sanitize -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DZEROGAMES_PYTHON=OFF -DZEROGAMES_TESTS=ON -DZEROGAMES_SANITIZE=ON -DZEROGAMES_WERROR=ON
	PATH="$(abspath $(BIN)):$$PATH" cmake --build build/sanitize
	$(BIN)/ctest --test-dir build/sanitize --output-on-failure

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP)

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

bench: $(STAMP)
	for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

wheel: $(VENV)/.dependencies
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf build dist $(VENV)
