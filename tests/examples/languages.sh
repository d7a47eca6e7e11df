#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# The examples in C++, Rust and Python record their coroutines, futures and tasks: when each ran, what
# it waited for, and how it ended.
set -u
[[ $SANITIZE == none ]] || {
	echo "skipped: other languages don't load a library for a sanitizer"
	exit 77
}
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
unset THRUM_TRACE
failed=0

wrong() {
	echo "$*"
	failed=1
}

# holds LINE...: the recording has these events, in this order; spaces are single ones.
holds() {
	local line dump
	dump=$("$THRUM" dump trace.thrum | tr -s ' ' | cut -d ' ' -f 2-)
	for line in "$@"; do
		if [[ $dump != *"$line"* ]]; then
			wrong "no \"$line\" there, or not in this order: $("$THRUM" dump trace.thrum)"
			return
		fi
		dump=${dump#*"$line"}
	done
}

if [[ -x $BUILD/examples/coroutines ]]; then
	"$THRUM" record -o trace.thrum -- "$BUILD/examples/coroutines" >out 2>err || wrong "C++: $(cat out err)"
	holds 'fiber switch' 'GET /one wait #2 answer 1' 'coroutines switch' 'GET /two wait #3 answer 2' \
		'resolve #2 answer 1' 'GET /one read #2 answer 1' 'GET /one resolve #5 GET /one'
	"$THRUM" why trace.thrum >answer
	grep -q 'GET /two: Waits for “answer 2”; so it hangs too' answer || wrong "C++: $(cat answer)"
else
	echo "skipped in part: no C++ compiler with coroutines"
fi

if command -v rustc >/dev/null; then
	rustc --edition 2021 "$SOURCE/examples/future.rs" -L "$BUILD/src" -o future >err 2>&1 ||
		 wrong "rustc: $(cat err)"
	"$THRUM" record --no-preload -o trace.thrum -- ./future >out 2>err || wrong "Rust: $(cat out err)"
	holds 'work switch' 'work wait #2 pause' 'future switch' 'work switch' 'work read #2 pause' \
		'work resolve #3 work'
else
	echo "skipped in part: rustc is missing"
fi

if python3 -c 'import cffi' 2>/dev/null; then
	LIBTHRUM=$BUILD/src/libthrum.so.0 "$THRUM" record --no-preload -o trace.thrum -- \
		python3 "$SOURCE/examples/asyncio_loop.py" >out 2>err || wrong "Python: $(cat out err)"
	holds 'label fetch' 'label fetch' 'fetch switch' 'fetch wait' 'fetch switch' 'resolve' \
		'label wait_for' 'wait_for wait' 'wait_for switch' 'fail'
else
	echo "skipped in part: Python's cffi is missing"
fi
exit $failed
