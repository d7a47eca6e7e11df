#!/bin/bash
# SPDX-License-Identifier: ISC
# A process goes on while it is recorded: babeltrace2 and `thrum dump` read its snapshots alike, and
# CTF directories that are made from its recording directly. Also tests the wall time that
# babeltrace2 shows.
set -euo pipefail
command -v babeltrace2 >/dev/null || {
	echo "skipped: babeltrace2 is missing"
	exit 77
}

work=$(mktemp -d)
child=
cleanup() {
	[ -z "$child" ] || kill -9 "$child" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT

fail() {
	echo "$1"
	exit 1
}

# compare RECORDING
compare() {
	rm -rf "$work/ctf"
	python3 "$SOURCE/tests/source/babeltrace/compare.py" "$THRUM" "$1" "$work/ctf" \
		>"$work/said" || fail "$(cat "$work/said")"
	sed 's/ kinds=.*//' "$work/said"
}

mkfifo "$work/ready"
"$BUILD/tests/source/programs/busy" "$work/running.thrum" size=512 threads=3 rounds=2000 end=2 \
	>"$work/ready" &
child=$!
read -r _ <"$work/ready"

for i in 1 2 3; do
	"$THRUM" snapshot -o "$work/$i.thrum" "$child" 2>"$work/errors" || fail "$(cat "$work/errors")"
	compare "$work/$i.thrum"
done
"$THRUM" snapshot -o - "$work/running.thrum" >"$work/piped.thrum" 2>"$work/errors" ||
	fail "$(cat "$work/errors")"
compare "$work/piped.thrum"

for i in 1 2 3 4 5 6 7 8 9 10; do
	"$THRUM" convert "$work/running.thrum" "$work/direct-$i" 2>/dev/null
	babeltrace2 -c sink.utils.counter "$work/direct-$i" >"$work/counted" 2>"$work/errors" ||
		fail "babeltrace2 and what was converted while it was written: $(cat "$work/errors")"
	! grep -q ERROR "$work/errors" || fail "$(cat "$work/errors")"
	grep -Eq '[1-9][0-9]* Event messages' "$work/counted" || fail "$(cat "$work/counted")"
done

kill -0 "$child" || fail "the recording process is gone"
kill -9 "$child"
wait "$child" 2>/dev/null || true
child=
compare "$work/running.thrum"

# Both show the first event's wall time alike to a microsecond: babeltrace2 computes with doubles. The event may have
# bytes that are no text.
shown=$("$THRUM" info "$work/running.thrum" | sed -n 's/^start *//p')
ours=$(date -d "$shown" +%s%N)
theirs=$(babeltrace2 --clock-seconds "$work/ctf" 2>/dev/null | LC_ALL=C sed -n '1s/^\[\([0-9.]*\)\].*/\1/p')
theirs=${theirs/./}
difference=$((ours - theirs))
[ "${difference#-}" -lt 1000 ] || fail "the first event is at $ours or at $theirs"
