# SPDX-License-Identifier: ISC
# A thin front to meson and ninja; DEVELOPERS.md has a table of the targets. To build elsewhere or
# with another compiler: make BUILD=/tmp/b CC=clang

BUILD = build
FUZZ_SECONDS = 60
OPTIONS =
# Names of tests for `make test` (all by default): make test TESTS='record/fork check/format'
TESTS =

# make's own default is cc, thrum's is gcc. A compiler that the user names counts.
ifeq ($(origin CC),default)
CC = gcc
endif
export CC

all:
	@tools/setup build pictures desktop web
	@tools/web
	@tools/build $(BUILD) $(OPTIONS)

setup:
	@tools/setup all

demo: all
	@BUILD=$(BUILD) sh tools/demo.sh

# Four machines' recordings on a NATS server, which it installs.
demo-fleet: all
	@tools/setup programs
	@BUILD=$(BUILD) sh tools/demo-fleet.sh

test: test-build
	@tools/test $(BUILD) $(TESTS)

test-build:
	@tools/setup build pictures desktop display web test browser
	@tools/web all
	@tools/npm
	@tools/build $(BUILD) $(OPTIONS)

# Boots Xen, a dom0 and a guest in QEMU.
test-xen:
	@tools/setup build programs web
	@tools/web
	@tools/build $(BUILD) $(OPTIONS)
	@tools/test-xen $(BUILD)

# Other processors under QEMU, and musl.
cross:
	@tools/setup build arm64 cross
	@tools/build $(BUILD) $(OPTIONS)
	@BUILD=$(BUILD) OPTIONS="$(OPTIONS)" tools/cross.sh

bench:
	@tools/setup build desktop display bench web browser
	@tools/web all
	@tools/build $(BUILD) $(OPTIONS)
	@tools/bench $(BUILD)

# How often thrum names the cause in programs that it wasn't made for.
unseen:
	@tools/setup build
	@tools/build $(BUILD) $(OPTIONS)
	@THRUM=$(BUILD)/thrum BUILD=$(BUILD) tests/why/unseen.py --run

asan: asan-build
	@tools/test build-asan $(TESTS)

# clang, which can check for NULL everywhere: meson.build says why gcc can't.
asan-build:
	@tools/setup build pictures desktop display test fuzz
	@CC=clang tools/build build-asan -Db_sanitize=address,undefined -Db_lundef=false \
		-Dthrum_debug=3 $(OPTIONS)

tsan: tsan-build
	@tools/test build-tsan $(TESTS)

tsan-build:
	@tools/setup build pictures test fuzz
	@CC=clang tools/build build-tsan -Db_sanitize=thread -Db_lundef=false -Dthrum_debug=1 \
		$(OPTIONS)

fuzz: fuzz-build
	@tools/fuzz build-fuzz $(FUZZ_SECONDS)

fuzz-build:
	@tools/setup build fuzz
	@CC=clang tools/build build-fuzz -Dfuzz=true -Db_sanitize=address,undefined \
		-Db_lundef=false -Dthrum_debug=3 $(OPTIONS)

verify:
	@tools/setup build verify
	@BUILD=$(BUILD) sh tools/verify.sh

# Tests that take hours. STEPS: some of night, kill, live, verify, mutate, first and fuzz.
STEPS =
test-slow: all
	@tools/setup build test verify fuzz packages
	@tools/test-slow $(BUILD) $(STEPS)

format:
	@tools/setup test
	@tools/format

install: all
	@tools/meson install --no-rebuild -C $(BUILD)

# Debian packages, in build-deb/.
deb:
	@tools/setup build pictures desktop web packages
	@tools/web
	@tools/deb build-deb

# Their tests, in a new Debian with nothing else.
deb-test: deb
	@tools/deb-test build-deb

# The command as a static program for each processor, in build-dist/.
dist: all
	@tools/setup arm64 cross
	@BUILD=$(BUILD) tools/dist

# Whether programs that were built for the last tag, or REVISION, still run.
REVISION =
abi:
	@tools/setup build packages
	@tools/abi $(REVISION)

# HTML of the public headers, in $(BUILD)/headers/html/.
headers:
	@tools/setup headers
	@tools/headers $(BUILD)/headers

clean:
	rm -rf build build-*/

.PHONY: all setup demo demo-fleet test test-build test-slow test-xen cross bench unseen asan asan-build \
	tsan tsan-build fuzz fuzz-build verify format install deb deb-test dist abi headers clean
