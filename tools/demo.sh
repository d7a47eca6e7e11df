#!/bin/sh
# SPDX-License-Identifier: ISC
# tools/demo.sh: records the example server until it is killed, and shows what the recording holds.
# Checks what it claims. BUILD is the build (build), DEMO where the recording goes (BUILD/demo).
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}
folder=${DEMO:-$build/demo}
thrum=$build/thrum
recording=$folder/server.thrum
tab=$(printf '\t')

fail() {
	echo "demo: $1" >&2
	exit 1
}

say() {
	echo
	echo "$1" | fold -s -w 100 | sed 's/ *$//'
	echo
}

show() {
	echo "  \$ $1"
}

# Rows of an event, with a text if one is given: column NUMBER of the first.
first() { # NUMBER EVENT [TEXT]
	awk -F "$tab" -v column="$1" -v event="$2" -v text="${3:-}" \
		'$3 == event && (text == "" || $7 == text) { print $column; exit }' "$folder/tsv"
}

# What the texts below claim.
check() {
	lookup=$(first 4 label 'lookup user 42')
	request=$(first 4 label 'GET /user/42')
	if [ -z "$lookup" ] || [ -z "$request" ]; then
		fail "the labels of the lookup and the request for user 42 are not in the dump."
	fi
	awk -F "$tab" -v request="$request" -v lookup="$lookup" '
		$3 == "try-read" && $4 == request && $5 == lookup { waits = 1 }
		($3 == "resolve" || $3 == "cancel" || $3 == "fail") && $5 == lookup { ended = 1 }
		END { exit !(waits && !ended) }' "$folder/tsv" ||
		fail "the request for user 42 doesn't wait for a lookup that never ends."

	oldest=$(first 1 switch)
	[ "$oldest" -gt "$(first 1 label 'lookup user 42')" ] ||
		fail "the ring has not wrapped: its oldest event is of $oldest ns."
	lanes=$(awk -F "$tab" '$3 == "switch" { lanes[$2] } END { n = 0; for (l in lanes) n++; print n }' \
		"$folder/tsv")
	[ "$lanes" -ge 3 ] || fail "only $lanes threads recorded."
	grep -q '^state *killed' "$folder/info" || fail "the recording doesn't say that it was killed."
}

for program in "$thrum" "$build/examples/server"; do
	[ -x "$program" ] || fail "$program isn't there; build it first, with 'make'."
done
mkdir -p "$folder"
rm -f "$recording"

say "A web server on libuv: three event loops with eight clients each, and a thread pool. It was \
annotated by hand (examples/server/), has a planted bug, and is killed after three seconds. It \
records into a ring of 1 MiB."
show "thrum record -o $recording --size 1M -- server --threads 3 --seconds 3 --hang --die"
status=0
# The shell's own word on the kill goes to the log.
(
	"$thrum" record -o "$recording" --size 1M -- \
		"$build/examples/server" --threads 3 --seconds 3 --hang --die || exit $?
) >"$folder/log" 2>&1 || status=$?
if [ "$status" != 137 ]; then
	cat "$folder/log" >&2
	fail "the server should have been killed (status 137), but ended with status $status."
fi
[ -f "$recording" ] || fail "there is no recording."

say "It is dead, and what it did last is there:"
show "thrum info $recording"
"$thrum" info "$recording" >"$folder/info" 2>"$folder/log" || {
	cat "$folder/log" >&2
	fail "the recording can't be read."
}
sed 's/^/  /' "$folder/info"

"$thrum" dump --format=text "$recording" >"$folder/dump" 2>>"$folder/log" || fail "dump failed."
"$thrum" dump --format=tsv "$recording" >"$folder/tsv" 2>>"$folder/log" || fail "dump failed."
check
kept=$(awk -v oldest="$oldest" -v last="$(tail -n 1 "$folder/tsv" | cut -f 1)" \
	'BEGIN { printf "%.1f", (last - oldest) / 1e9 }')

say "$lanes threads recorded, and the ring holds the last $kept seconds. The dump tells them event by \
event. Its first lines (~) are remembered: the \
ring has long overwritten these tasks' beginnings, but as long as a task is not resolved, a table \
beside the ring keeps who created it, when, where, its label, and what it waits for."
show "thrum dump $recording | head -n 25"
head -n 25 "$folder/dump" | sed 's/^/  /'

say "The last lines, up to the kill. Each loop runs the tasks that libuv calls back for (switch), says \
what they got (read, resolve) and what they wait for (try-read), and sleeps (suspend)."
show "thrum dump $recording | tail -n 15"
tail -n 15 "$folder/dump" | sed 's/^/  /'

say "And the planted bug. All that was ever recorded of user 42 is overwritten; still we see that a \
request waits for a lookup, and this one for the database, which everybody else got meanwhile."
show "thrum dump $recording | grep 'user[ /]42'"
grep 'user[ /]42' "$folder/dump" | sed 's/^/  /'

say "The recording stays in $recording; 'thrum --help' says what else it can be asked."
