#!/bin/bash
# SPDX-License-Identifier: ISC
# Recordings that are larger than the memory that a command may take. `large_long.sh FOLDER` does the same with
# 16 GiB in that folder and 2 GiB of memory; that takes minutes and is no part of the tests.
# shellcheck disable=SC2094  # messages about files that are read meanwhile
set -u
export LC_ALL=C
large=$BUILD/bench/large/large
if [ $# -gt 0 ]; then
	folder=$(mktemp -d "$1/large-XXXXXX") mib=16384 memory=2048
else
	folder=$(mktemp -d) mib=24 memory=16
fi
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
status=0

fail() {
	echo "large_long.sh: $*" >&2
	status=1
}

# Runs thrum with little memory. A sanitizer needs more.
little() {
	if [ "$SANITIZE" = none ]; then
		THRUM_MEMORY=${memory}M prlimit --data=$(((memory + 32) << 20)) "$THRUM" "$@"
	else
		THRUM_MEMORY=${memory}M "$THRUM" "$@"
	fi
}

# Fails if both files are not the same, or are too short.
same() {
	cmp -s "$1" "$2" || fail "$3 differs: $(diff "$1" "$2" | head -4)"
	[ "$(wc -l <"$1")" -ge "$4" ] || fail "$3 has only $(wc -l <"$1") lines"
}

"$large" whole "$mib" >records || exit 1
[ "$SANITIZE" != none ] || ! prlimit --data=$(((memory + 32) << 20)) env THRUM_MEMORY=64G "$THRUM" why whole \
	>/dev/null 2>&1 || fail "the whole fits: the test proves nothing"

# The end of the recording, with the request that hangs since its beginning.
little why whole >why 2>message
[ $? -eq 1 ] || fail "why: status $?"
grep -q '“GET /lost” never resolves' why || fail "why: $(cat why)"
grep -q 'Events before .* were not read: of older tasks, only those' why || fail "why: $(cat why)"
grep -q '^thrum: whole: too large to be read whole; read from .* (--start and --duration choose' \
	message || fail "message: $(cat message)"
little stats whole >stats 2>message || fail "stats: $(cat message)"
grep -q 'GET /lost *task *1 *1 *1' stats || fail "stats: $(cat stats)"
grep -q 'gap *not read *1 ' stats || fail "stats: no gap: $(cat stats)"

# A part in the middle: the same tasks, with the same ends and labels, as in the whole.
part=(--start=20ms --duration=100us)
little tasks --format=tsv "${part[@]}" --state=resolved whole >little 2>message ||
	fail "tasks: $(cat message)"
if [ $# -eq 0 ]; then
	"$THRUM" tasks --format=tsv "${part[@]}" --state=resolved whole >much
	same little much tasks 300
fi
little why "${part[@]}" whole >why 2>message
[ $? -eq 1 ] || fail "why of a part: $(cat why message)"
grep -q '#5 GET /lost: nothing like it has ended' why || fail "why of a part: $(cat why)"
little why --at=1ms whole >why 2>message
[ $? -eq 1 ] || fail "why --at: $(cat why message)"
little render --start=20ms --duration=2us -o part.svg whole 2>message || fail "render: $(cat message)"
grep -q 'GET /page' part.svg || fail "render shows no request"
little render --start=5ms -o part.svg whole 2>message || fail "render: $(cat message)"
grep -q 'read from 4\.' message || fail "render from a time on: $(cat message)"

# Nothing is left out of what dump prints, also where packets are read a chunk at a time.
for packet in 16 4096; do
	"$large" chunks "$mib" "$packet" >records || exit 1
	"$THRUM" info --format=tsv chunks >info
	grep -q "^records$(printf '\t')$(cut -d' ' -f1 records)$" info || fail "info: $(cat info records)"
	"$THRUM" dump --format=tsv chunks | awk -F'\t' 'NR == 1 || $1 >= 9000000 && $1 <= 9100000' >all
	little dump --format=tsv --start=9ms --duration=100us chunks >dump 2>message
	same all dump dump 2000
	[ ! -s message ] || fail "dump: $(cat message)"
	[ $# -eq 0 ] || break
done

# Traces of which no part can be chosen forget instead.
"$THRUM" bundle -o both chunks whole 2>message || fail "bundle: $(cat message)"
little stats both >stats 2>message || fail "stats of a bundle: $(cat message)"
grep -q 'GET /lost *task *2 *2 *2' stats || fail "stats of a bundle: $(cat stats)"
grep -q 'too large to be read whole' message || fail "message on a bundle: $(cat message)"
little tasks --format=tsv "${part[@]}" --state=resolved both >little 2>message ||
	fail "tasks of a bundle: $(cat message)"
[ "$(wc -l <little)" -ge 600 ] || fail "tasks of a bundle: $(wc -l <little)"

# With a sanitizer thrum checks the whole model again and again: one format has to do.
formats="perfetto chrome speedscope otlp pprof"
[ "$SANITIZE" = none ] || formats=perfetto
for format in $formats; do
	little convert --to="$format" both out 2>message || fail "convert to $format: $(cat message)"
	[ "$(wc -c <out)" -ge 100000 ] || [ "$format" = pprof ] || fail "$format: $(wc -c <out) bytes"
done

# The variable.
THRUM_MEMORY=lots "$THRUM" stats whole >stats 2>message
[ $? -eq 2 ] || fail "a wrong size: status $?"
grep -q 'THRUM_MEMORY: "lots" is no size of at least 1M' message || fail "a wrong size: $(cat message)"
exit $status
