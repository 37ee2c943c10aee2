# make demo      set-up, build, and the demo: real programs with offload off and on
# make test      set-up, build, and every usual test
#
# make deps      looks what is missing; as root installs it, otherwise prints the line that would
# make build     build/$(PRESET); PRESET=dev, asan, tsan and fuzz are the others
# make asan      the unit tests and transcripts under the address and undefined-behaviour sanitizers
# make bench     the figures of docs/performance.md
# make nests-long   100,000 random loop nests (make test takes what fits into two minutes)
# make resets-long   random guests for ten minutes: what a pool gives beside what is new
# make planted      plants each of the known bugs and lets the suite look for it for five minutes
# make install   into PREFIX (/usr/local), below DESTDIR where that is set
# make clean     removes build/; the engine's build stays in its cache (see CONTRIBUTING.md)
PRESET ?= release
PREFIX ?= /usr/local
BUILD = build/$(PRESET)
JOBS ?= $(shell nproc)
# Who only wants to see the demo doesn't wait for the tests to be built.
ifeq ($(filter-out demo,$(MAKECMDGOALS)),)
TARGETS = --target tensor-wasm tensor-wasm-compile
endif

.PHONY: demo test deps build asan bench nests-long resets-long planted install clean

demo: build
	@sh scripts/demo.sh $(BUILD)

test: build
	@ctest --test-dir $(BUILD) --output-on-failure -j$(JOBS)

deps:
	@sh scripts/deps.sh

build: deps
	@cmake --preset $(PRESET) >/dev/null || cmake --preset $(PRESET)
	@cmake --build --preset $(PRESET) -j$(JOBS) $(TARGETS)

asan:
	@$(MAKE) --no-print-directory build PRESET=asan TARGETS="--target sanitized"
	@ctest --test-dir build/asan --output-on-failure -j$(JOBS) -R '^(unit|cli|layers|devices/(standin|instances))'

bench: build
	@sh scripts/bench.sh $(BUILD)

nests-long: build
	@$(BUILD)/tests/nests/nests --count 100000 --jobs $(JOBS)

resets-long: build
	@$(BUILD)/tests/resets/resets --seconds 600 --start 1000

planted: deps
	@sh tests/planted/planted.sh . build/planted "--seconds 300"

install: build
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	rm -rf build
