#!/bin/sh
# SPDX-License-Identifier: ISC
# bench/promise/instructions.sh [BUILD]: counts the instructions of a promise that is created, bound,
# resolved and freed while nothing is recorded, with the loop and the callback. Needs valgrind, and no
# quiet machine. It counts twice, and the difference is that of the additional rounds.
set -eu
build=${1:-build}
count() {
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$build/bench/promise/promise" "$1" 2>&1 |
		sed -n 's/.*Collected : //p'
}
few=$(count 1000) many=$(count 3000)
[ -n "$few" ] && [ -n "$many" ] || {
	echo "instructions.sh: valgrind counted nothing" >&2
	exit 2
}
echo $(((many - few + 1000) / 2000))
