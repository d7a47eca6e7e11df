#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# The example that follows a program: it goes on until the program ends, and sees its last event.
set -u
here=$(mktemp -d)
trap 'rm -rf "$here"; [[ -z ${pid:-} ]] || kill "$pid" 2>/dev/null' EXIT
cd "$here" || exit 1

# Waits until a file has a line that matches.
wait_for() {
	for ((i = 0; i < 3000; i++)); do
		! grep -q "$1" "$2" 2>/dev/null || return 0
		sleep 0.01
	done
	echo "no $1 in $2"
	exit 1
}

THRUM_TRACE=$here/steady.thrum THRUM_SIZE=1M "$BUILD/tests/thrum/programs/steady" >ready &
pid=$!
wait_for ready ready
"$BUILD/examples/follow" $pid >out 2>err &
follower=$!
# It sleeps on the recording's header.
wait_for steady.thrum /proc/$follower/maps
kill $pid
wait $pid
pid=
wait $follower || {
	echo "status $?: $(cat err)"
	exit 1
}
grep -q ': resolve$' out || {
	echo "it missed the end: $(cat out)"
	exit 1
}
if "$BUILD/examples/follow" 2>err || ! grep -q usage err; then
	echo "without a process: $(cat err)"
	exit 1
fi
