# make demo    set-up, build, and the demo: real programs with offload off and on
# make test    set-up, build, and every usual test
# Other targets: deps build asan bench install clean
PRESET ?= release
BUILD = build/$(PRESET)

.PHONY: demo test deps build asan bench install clean

deps:
	@sh scripts/deps.sh

build: deps
	@cmake --preset $(PRESET) >/dev/null || cmake --preset $(PRESET)
	@cmake --build --preset $(PRESET)

test: build
	@ctest --test-dir $(BUILD) --output-on-failure -j2

install: build
	@cmake --install $(BUILD)

clean:
	rm -rf build
