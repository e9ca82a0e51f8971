# The front door: every target sets up what it needs.

VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
WITH_BIN := PATH="$(abspath $(BIN)):$$PATH"
STAMP := $(VENV)/.installed
NATIVE := $(shell git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh' '*.cmake' '*CMakeLists.txt')
PACKAGES := $(shell git ls-files '*/__init__.py')
CPP := $(filter %.cpp %.hpp %.cu %.cuh,$(NATIVE))
PYTEST_ARGS ?=
GAME ?= chess
ARGS ?=

.PHONY: web selfplay setup build test test-slow quick test-native fuzz fuzz-files fuzz-engines lint format bench wheel clean

# make selfplay GAME=go:size=9 ARGS="--minutes 5"
selfplay: $(STAMP)
	$(BIN)/zerogames selfplay --game $(GAME) $(ARGS)

# make web GAME=go:size=9
web: $(STAMP)
	$(BIN)/zerogames web --game $(GAME) $(ARGS)

setup: $(STAMP)

$(VENV)/.build-tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --group build
	touch $@

# An editable install: Python files are used where they are, native code is rebuilt when it changed.
# It keeps a list of the modules, which is wrong when one becomes a package.
$(STAMP): $(VENV)/.build-tools $(NATIVE) $(PACKAGES)
	$(WITH_BIN) $(BIN)/pip install --quiet --no-build-isolation --editable '.[dev]' \
	  --config-settings=cmake.define.ZEROGAMES_WERROR=ON
	touch $@

build: $(STAMP)

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadgroup $(PYTEST_ARGS)

# What changes most often, in under a minute: for the inner loop.
quick: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadgroup -x tests games/classics $(PYTEST_ARGS)

test-slow: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m slow $(PYTEST_ARGS)

# The native tests under the address and undefined-behaviour sanitizers.
test-native: $(VENV)/.build-tools
	$(WITH_BIN) cmake -G Ninja -S . -B build/sanitize -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DZEROGAMES_PYTHON=OFF -DZEROGAMES_TESTS=ON -DZEROGAMES_SANITIZE=ON -DZEROGAMES_WERROR=ON
	$(WITH_BIN) cmake --build build/sanitize
	$(WITH_BIN) ctest --test-dir build/sanitize --output-on-failure

# Every native parser under libFuzzer and the sanitizers (needs clang++), then every Python one (by
# coverage if atheris is installed), FUZZ_SECONDS each; libFuzzer takes 0 for no limit. What they
# learn stays in build/fuzz/corpus, so that a later run goes deeper.
FUZZ_SECONDS ?= 60
CLANGXX ?= clang++
fuzz: $(STAMP)
	$(WITH_BIN) cmake -G Ninja -S . -B build/fuzz -DCMAKE_CXX_COMPILER=$(CLANGXX) \
	  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DZEROGAMES_PYTHON=OFF -DZEROGAMES_FUZZ=ON \
	  -DZEROGAMES_SANITIZE=ON
	$(WITH_BIN) cmake --build build/fuzz
	@for target in $$(find build/fuzz -name 'fuzz_*' -type f -executable | sort); do \
	  name=$${target##*/fuzz_}; mkdir -p build/fuzz/corpus/$$name; echo "fuzzing $$name"; \
	  $$target -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 -verbosity=0 -max_len=60000 \
	    -artifact_prefix=build/fuzz/finding-$$name- build/fuzz/corpus/$$name \
	    tests/fuzz/corpus/$$name 2>&1 | grep -E 'number_of_executed|ERROR|SUMMARY|finding'; \
	  ls build/fuzz/finding-$$name-* 2>/dev/null && exit 1; done; exit 0
	$(BIN)/python tests/fuzz/run_python.py --seconds $(FUZZ_SECONDS)

# Damaged files of every kind that commands read: read, or refused in one line.
FUZZ_FILES ?= 100000
fuzz-files: $(STAMP)
	$(BIN)/python tests/fuzz/sweep.py --files $(FUZZ_FILES)

# A million random lines to each engine; every answer is checked, every move by two sets of rules.
FUZZ_LINES ?= 1000000
fuzz-engines: $(STAMP)
	@for engine in uci uci-nnue usi gtp gtp-analysis; do \
	  $(BIN)/python tests/fuzz/protocols.py $$engine --lines $(FUZZ_LINES) || exit 1; done

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP)

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

# One JSON line per measurement; peers are measured where they are installed.
bench: $(STAMP)
	for script in $(filter-out %/measure.py %/patterns.py %/strength.py %/chaos.py,\
	    $(wildcard benchmarks/*.py)); do \
	  $(BIN)/python $$script || exit 1; done

wheel: $(VENV)/.build-tools
	$(WITH_BIN) $(BIN)/pip wheel --quiet --no-build-isolation --no-deps --wheel-dir dist .

clean:
	rm -rf build dist $(VENV)
