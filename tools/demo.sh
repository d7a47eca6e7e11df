#!/bin/sh
# SPDX-License-Identifier: ISC
# tools/demo.sh: records the HTTP example until it is killed, and shows the recording. It checks the
# claims of its texts. BUILD: the build's folder (build); DEMO: the recording's folder (BUILD/demo).
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}
folder=${DEMO:-$build/demo}
thrum=$build/thrum
recording=$folder/http.thrum
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

# Prints column NUMBER of the first row of an event, with this text if one is given.
first() { # NUMBER EVENT [TEXT]
	awk -F "$tab" -v column="$1" -v event="$2" -v text="${3:-}" \
		'$3 == event && (text == "" || $7 == text) { print $column; exit }' "$folder/tsv"
}

# Checks the claims of the texts below.
check() {
	lookup=$(first 4 label 'lookup user 42')
	request=$(first 4 label 'GET /user/42')
	if [ -z "$lookup" ] || [ -z "$request" ]; then
		fail "the labels of the lookup and the request for user 42 are not in the dump."
	fi
	# A chain of waits leads from the request to the lookup.
	awk -F "$tab" -v request="$request" -v lookup="$lookup" '
		$3 == "wait" { waits[$4] = waits[$4] " " $5 }
		$3 == "become" { waits[$4] = waits[$4] " " $5 }
		($3 == "resolve" || $3 == "cancel" || $3 == "fail") && $5 == lookup { ended = 1 }
		function reaches(task, depth, next_ones, n, i) {
			if (task == lookup)
				return 1
			if (depth == 0)
				return 0
			n = split(waits[task], next_ones, " ")
			for (i = 1; i <= n; i++)
				if (reaches(next_ones[i], depth - 1))
					return 1
			return 0
		}
		END { exit ended || !reaches(request, 8) }' "$folder/tsv" ||
		fail "the request for user 42 doesn't wait for a lookup that never ends."

	oldest=$(first 1 switch)
	[ "$oldest" -gt "$(first 1 label 'lookup user 42')" ] ||
		fail "the ring has not wrapped: its oldest event is at $oldest ns."
	lanes=$(awk -F "$tab" '$3 == "switch" { lanes[$2] } END { n = 0; for (l in lanes) n++; print n }' \
		"$folder/tsv")
	[ "$lanes" -ge 3 ] || fail "the recording has only $lanes threads."
	grep -q '^state *killed' "$folder/info" || fail "the recording doesn't say that it was killed."
}

for program in "$thrum" "$build/examples/http"; do
	[ -x "$program" ] || fail "$program isn't there; build it first with 'make'."
done
mkdir -p "$folder"
rm -f "$recording"

say "A web server on promises (examples/http/): three event loops with eight clients each, and a \
thread pool. The program has no annotations: its promises record themselves. It has a planted bug, and \
is killed after three seconds. It records into a ring of 1 MiB."
show "thrum record -o $recording --size 1M -- http --threads 3 --seconds 3 --hang --die"
status=0
# The shell's message about the kill goes to the log.
(
	"$thrum" record -o "$recording" --size 1M -- \
		"$build/examples/http" --threads 3 --seconds 3 --hang --die || exit $?
) >"$folder/log" 2>&1 || status=$?
if [ "$status" != 137 ]; then
	cat "$folder/log" >&2
	fail "the server should have been killed (status 137), but ended with status $status."
fi
[ -f "$recording" ] || fail "there is no recording."

say "The server is dead, but its recording is there:"
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

say "$lanes threads recorded, and the ring holds the last $kept seconds. The dump prints them event by \
event. Its first lines (~) are remembered: the ring has long overwritten the first events of these \
tasks, but a table beside the ring keeps the creator, time, call site, label and wait of each task \
until it is resolved."
show "thrum dump $recording | head -n 25"
head -n 25 "$folder/dump" | sed 's/^/  /'

say "The last lines, up to the kill. Each loop runs the tasks for which libuv calls back (switch). \
These get results (read, resolve) and wait for other tasks (wait). Then the loop sleeps (suspend)."
show "thrum dump $recording | tail -n 15"
tail -n 15 "$folder/dump" | sed 's/^/  /'

say "Now the planted bug. The ring has overwritten all events of user 42, but the table still has a \
request and a lookup for it, pending since the first milliseconds, and the tasks that wait for them."
show "thrum dump $recording | grep 'user[ /]42'"
grep 'user[ /]42' "$folder/dump" | sed 's/^/  /'

say "thrum explains this:"
show "thrum why $recording"
"$thrum" why "$recording" >"$folder/why" 2>>"$folder/log" || [ $? = 1 ] || fail "why failed."
grep -q 'user 42' "$folder/why" || fail "why doesn't name the task that hangs."
head -n 12 "$folder/why" | sed 's/^/  /'

say "A picture of the whole recording:"
show "thrum render $recording -o $folder/http.svg --strip --legend"
"$thrum" render "$recording" -o "$folder/http.svg" --strip --legend 2>>"$folder/log" || fail "render failed."

# Without the page's tools (tools/web), thrum is built without its page.
if "$thrum" html "$recording" -o "$folder/demo.html" 2>"$folder/html"; then
	say "The same to explore, as one file for any browser:"
	show "thrum html $recording -o $folder/demo.html"
	echo "  file://$(realpath "$folder/demo.html")"
else
	grep -q 'built without' "$folder/html" || fail "html failed."
	sed 's/^/  /' "$folder/html"
fi

if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && [ -x "$build/thrum-gtk" ]; then
	say "A window with the recording opens now; press ? in it for the keys."
	show "thrum view $recording"
	# The window stays after the demo.
	setsid "$thrum" view "$recording" </dev/null >"$folder/view" 2>&1 &
fi

say "The recording stays in $recording; 'thrum --help' lists the commands that read it."
