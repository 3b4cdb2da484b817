# The front door for people: every target sets up what it needs.
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
TREES := mpich openmpi

.PHONY: all setup demo test bench bench-overlap bench-cluster bench-multi soak soak-random sanitize format lint install deb clean \
  $(TREES)

all: $(TREES)

setup:
	@scripts/setup

$(TREES): setup
	@cmake --preset $@ -DCHOIR_SOAK=OFF > build-$@.log 2>&1 || { cat build-$@.log; rm -f build-$@.log; exit 1; }
	@rm -f build-$@.log
	@cmake --build build/$@ -j $(JOBS)

# What is built is installed; nothing is downloaded.
install:
	@scripts/install $(PREFIX) $(TREES)

# The report page is tested in a real browser.
test: $(TREES)
	@scripts/setup chromium
	@scripts/run-tests $(TREES)

demo: $(TREES)
	@demo/run

bench: $(TREES)
	@bench/run-suite

bench-overlap: $(TREES)
	@bench/overlap/run --results bench/results/overlap
	@bench/overlap/plan-cache --results bench/results/overlap

bench-cluster: $(TREES)
	@bench/cluster/run-all

bench-multi: $(TREES)
	@for tree in $(TREES); do bench/multi/run --mpi $$tree --short --ranks 4 || exit 1; done

soak: $(TREES)
	@scripts/setup debootstrap glusterfs-server
	@scripts/soak

soak-random: $(TREES)
	@scripts/soak random

sanitize: setup
	@JOBS=$(JOBS) scripts/sanitize

format:
	@scripts/setup clang-format
	@git ls-files '*.cpp' '*.hpp' '*.h' '*.c' | xargs clang-format -i

lint: $(TREES)
	@scripts/setup clang-tidy shellcheck
	@scripts/lint

deb: setup
	@scripts/build-deb

clean:
	rm -rf build
