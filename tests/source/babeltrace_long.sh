#!/bin/bash
# SPDX-License-Identifier: ISC
# babeltrace2 reads the same from `thrum convert`'s directory as `thrum dump` from the recording:
# event by event, times in the clock's ticks, all fields.
set -euo pipefail
command -v babeltrace2 >/dev/null || {
	echo "skipped: babeltrace2 is missing"
	exit 77
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
busy=$BUILD/tests/source/programs/busy
kinds=$work/kinds
touch "$kinds"

# compare NAME RECORDING MIN_EVENTS MIN_LANES [--remembered]
compare() {
	local said events lanes
	said=$(python3 "$SOURCE/tests/source/babeltrace/compare.py" "$THRUM" "$2" \
		"$work/ctf-$1" "${@:5}")
	echo "$1: ${said%% kinds=*}"
	events=${said#events=} lanes=${said#*lanes=}
	if [ "${events%% *}" -lt "$3" ] || [ "${lanes%% *}" -lt "$4" ]; then
		echo "too few events or lanes: at least $3 and $4 were recorded"
		exit 1
	fi
	echo "${said##*kinds=}" | tr , '\n' >>"$kinds"
	rm -r "$work/ctf-$1"
}

# record NAME MIN_EVENTS MIN_LANES OPTION...: recordings of 512 KiB wrap as larger ones do.
record() {
	"$busy" "$work/$1.thrum" "${@:4}"
	compare "$1" "$work/$1.thrum" "$2" "$3"
}

record one-round 35 1 rounds=1
record wrapped-often 6000 1 size=512 threads=3 rounds=5000
record discard 6000 2 size=512 threads=3 rounds=3000 discard=1
record gaps 6500 3 threads=3 rounds=70 gaps=1
record gaps-wrapped 6000 1 size=512 threads=3 rounds=3000 gaps=1
record wide 4500 2 threads=2 rounds=50 far=1
record wide-gaps 4500 2 threads=2 rounds=50 far=1 gaps=1
record many-lanes 6000 70 threads=70 rounds=3 size=1024
record many-lanes-wrapped 15000 40 threads=70 rounds=200 size=1024
record handlers 6000 2 size=512 threads=2 rounds=20000 signals=1
record no-switches 8000 2 threads=2 rounds=150 quiet=1
record no-room-for-names 300 1 size=256 names=1 rounds=1
record more-threads-than-packets 500 20 size=256 threads=200 rounds=300

{ "$busy" "$work/killed.thrum" size=512 threads=3 rounds=2000 end=1 || [ $? -eq 137 ]; } 2>/dev/null
compare killed "$work/killed.thrum" 6000 1

"$busy" "$work/live.thrum" size=512 live=1 threads=3 rounds=2000 far=1
compare live-tasks "$work/live.thrum" 6000 1 --remembered

# The recordings above must have every kind of event, or no comparison has tested it.
sed -n 's/^RECORD([0-9]*, [A-Z_]*, "\([a-z_]*\)".*/\1/p' "$SOURCE/src/format/records.def" |
	grep -v '^category$' | sort -u >"$work/all" # older recorders wrote these
sort -u "$kinds" >"$work/seen"
comm -23 "$work/all" "$work/seen" >"$work/missing"
[ ! -s "$work/missing" ] || {
	echo "kinds of records that were not recorded: $(tr '\n' ' ' <"$work/missing")"
	exit 1
}
