#!/bin/sh
# SPDX-License-Identifier: ISC
# tools/cost.sh: what promises cost: the same program with callbacks and with promises, and the HTTP
# example recorded and not. Programs take turns; figures are medians of the CPU time of their thread.
# BUILD is the build (build), ROUNDS how often (9).
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}
rounds=${ROUNDS:-9}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Lines that are neither empty nor only comment.
lines() {
	cat "$@" | awk '
		/^[ \t]*\/\*/ { comment = 1 }
		!comment && NF { n++ }
		/\*\// { comment = 0 }
		END { print n }'
}

# run NAME PROGRAM ARGUMENT...: notes the time for each request.
run() {
	name=$1
	shift
	"$@" >"$folder/out"
	sed -n 's/.*[: ]\([0-9.]*\) us .*/\1/p' "$folder/out" >>"$folder/$name"
}

median() {
	sort -n "$folder/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

traced() { # NAME PROGRAM ARGUMENT...
	name=$1
	shift
	THRUM_TRACE=$folder/trace THRUM_SIZE=4M run "$name" "$@"
	rm -f "$folder/trace"
}

unset THRUM_TRACE
round=0
while [ "$round" -lt "$rounds" ]; do
	round=$((round + 1))
	run plain "$build/examples/port_plain" --requests 2500
	run promise "$build/examples/port_promise" --requests 2500
	traced traced "$build/examples/port_promise" --requests 2500
	run http-off "$build/examples/http" --rest 0 --requests 500 --seconds 60
	traced http-on "$build/examples/http" --rest 0 --requests 500 --seconds 60
done

text() {
	size "$build/examples/$1" | awk 'NR == 2 { print $1 }'
}

echo "port                     callbacks   promises   promises, recorded"
printf 'lines of code            %9d  %9d\n' \
	"$(lines examples/port_plain/*)" "$(lines examples/port_promise/*)"
printf 'bytes of program text    %9d  %9d\n' "$(text port_plain)" "$(text port_promise)"
printf 'us of CPU for a request  %9.2f  %9.2f  %9.2f\n' \
	"$(median plain)" "$(median promise)" "$(median traced)"
echo
echo "http                           off         on      ratio"
awk -v off="$(median http-off)" -v on="$(median http-on)" 'BEGIN {
	printf "us of CPU for a request  %9.2f  %9.2f  %9.3f\n", off, on, on / off }'
