#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# The demonstration of many machines: it names the cause across them, and its picture shows it.
set -u
skip() {
	echo "skipped: $*"
	exit 77
}
[[ -x $BUILD/examples/shop ]] || skip "the examples aren't built"
command -v nats-server >/dev/null || skip "nats-server is missing"
built=$("$THRUM" info nats://127.0.0.1:1/web 2>&1)
[[ $built == *"can't be reached"* ]] || skip "$built"
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
failed=0

DEMO=$here/demo sh "$SOURCE/tools/demo-fleet.sh" >"$here/out" 2>&1 || failed=1
has() { # FILE PATTERN...
	local pattern
	for pattern in "${@:2}"; do
		grep -q -- "$pattern" "$here/$1" || {
			echo "$1 lacks $pattern"
			failed=1
		}
	done
}
# Clocks of machines that were started at other times are compared: by CLOCK_REALTIME alone the error is 2 s.
has out 'rack-other .* gone' 'backup of database.*: Waits for “tape”' 'of web.*: Never resolves'
has demo/shop-light.svg 'Waits for “sel' '>web'
if tr '\n' ' ' <"$here/out" | grep -q 'how far their clocks are apart'; then
	has out '± [0-9.]* [µm]s'
else
	echo "not tried: clocks, as this user may make none"
fi
[[ $failed == 0 ]] || cat "$here/out"
exit $failed
