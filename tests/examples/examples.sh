#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# The examples on promises: each does what it is there for, records, and can be drawn.
set -u
[[ -x $BUILD/examples/arp ]] || {
	echo "skipped: the examples aren't built (libuv is missing)"
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

# prints STATUS PATTERN PROGRAM ARGUMENT...: runs an example, recorded as trace.thrum.
prints() {
	local status=$1 pattern=$2 got
	shift 2
	rm -f trace.thrum
	THRUM_TRACE=$here/trace.thrum "$BUILD/examples/$1" "${@:2}" >out 2>&1 </dev/null
	got=$?
	[[ $got -eq $status ]] || wrong "$*: status $got instead of $status: $(cat out)"
	[[ $(sort out) =~ ^$pattern$ ]] || wrong "$*: prints $(sort out), not $pattern"
	[[ $("$THRUM" info --format=tsv trace.thrum | awk '$1 == "damaged" { print $2 }') == 0 ]] ||
		wrong "$*: what it recorded is damaged"
	"$THRUM" render trace.thrum -o trace.svg 2>err || wrong "$*: can't be drawn: $(cat err)"
}

# labels STATE: the labels of the trace's tasks in that state, in one line.
labels() {
	"$THRUM" tasks --format=tsv --state="$1" trace.thrum | awk -F '\t' '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "label") column = i; next }
		{ print $column }' | sort | tr '\n' ' '
}

# The seed alone decides what happens.
hello=$'arp: done in [0-9]+ ms\narp: the echo is "hello"'
for seed in 1 2 3 4 5 6 7 8; do
	prints 0 "$hello" arp --fixed-order --seed $seed
	mv out order
	prints 0 "$hello" arp --fixed-promise --seed $seed
	cmp -s out order || wrong "arp: seed $seed isn't the same for the two fixes"
	if [[ $seed == [37] ]]; then
		prints 1 'arp: giving up: main is still waiting' arp --bug --seed $seed
		[[ $(labels stuck) == 'main ' ]] || wrong "arp: stuck are $(labels stuck)"
		grep -q 'Signal lost' trace.svg || wrong "arp: the picture doesn't show the lost signal"
	else
		prints 0 "$hello" arp --bug --seed $seed
		[[ $(labels stuck) == '' ]] || wrong "arp: in a good run stuck are $(labels stuck)"
	fi
done

# Two share a lookup, one finds it in the cache; one who gives up takes it from nobody.
prints 0 $'(127.0.0.1: 127.0.0.1\n){3}asked 3 times, looked up 1 times' resolver 127.0.0.1
prints 0 $'127.0.0.1: 127.0.0.1\n(127.0.0.1: connection timed out\n){2}asked 3 times, looked up 1 times' \
	resolver --slow 300 --timeout 20 127.0.0.1
prints 0 $'(127.0.0.1: 127.0.0.1\n){3}(::1: ::1\n){3}asked 6 times, looked up 2 times' resolver 127.0.0.1 ::1

prints 0 'http: answered [0-9]+ requests, [0-9.]+ us of CPU each' http --requests 20 --threads 2 --seconds 30
for label in 'GET /' 'GET /user/#' 'GET /report/#' 'lookup user #' 'report #' 'client #'; do
	[[ -n $("$THRUM" tasks --format=tsv --label="$label" trace.thrum | sed 1d) ]] ||
		wrong "http: no task is called $label"
done
prints 0 'http: answered .*' http --hang --seconds 1
[[ $(labels stuck) == *'GET /user/42 '*'lookup user 42 '* ]] || wrong "http --hang: stuck are $(labels stuck)"

# The port does what the original does.
replies='port: 800 replies, 0 wrong, [0-9]+ lookups, [0-9]+ hits, [0-9]+ retries'
"$BUILD/examples/port_plain" >out || wrong "port_plain: status $?"
[[ $(cat out) =~ ^$replies ]] || wrong "port_plain: prints $(cat out)"
prints 0 $'cpu: .*\n'"$replies" port_promise
exit $failed
