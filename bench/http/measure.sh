#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# bench/http/measure.sh BUILD [ROUNDS]: what a request to the HTTP example costs, clients included:
# alone, recorded, recorded in 1 MiB that is used again and again, with nothing recorded but live tasks,
# and under other tracers: LTTng-UST (the same events, by bench/http/lttng.c), perf trace (system calls),
# uftrace (the functions of the example, compiled with -pg). They take turns. Prints medians of the CPU
# time, the requests per second of one thread that follow from it, and the ratio to a run alone. Tracers
# that are missing are left out.
set -eu
build=$(realpath "$1")
rounds=${2:-9}
source=$(realpath "$(dirname "$0")/../..")
here=$(mktemp -d)
daemon=
session=thrum-http-$$
end() {
	lttng --no-sessiond destroy --no-wait "$session" || true
	[ -z "$daemon" ] || kill "$daemon"
	rm -rf "$here"
} >"$here/end" 2>&1
trap end EXIT

lttng_begin() {
	command -v lttng lttng-sessiond && [ -f "$build/bench/http/libhttp-lttng.so" ] || return
	if ! lttng --no-sessiond list; then
		lttng-sessiond --no-kernel &
		daemon=$!
		for ((i = 0; i < 50; i++)); do
			! lttng --no-sessiond list || break
			sleep 0.1
		done
	fi
	lttng create "$session" --snapshot --output="$here/lttng" &&
		lttng enable-channel -s "$session" -u --buffers-uid --overwrite --subbuf-size=512K --num-subbuf=8 all &&
		lttng enable-event -s "$session" -u -c all 'thrum_http:*' && lttng start "$session"
} >"$here/lttng.log" 2>&1

uftrace_begin() {
	command -v uftrace && gcc -O2 -pg -I"$source/include" -o "$here/http-pg" "$source"/examples/http/*.c \
		-L"$build/src" -Wl,-rpath,"$build/src" -lthrum-promise -lthrum -luv -lpthread
} >"$here/uftrace.log" 2>&1

# run NAME COMMAND...: notes the CPU time of a request.
run() {
	"${@:2}" --rest 0 --requests 500 --seconds 60 >"$here/out" 2>"$here/err" || {
		cat "$here/err" >&2
		exit 1
	}
	sed -n 's/.*requests, \([0-9.]*\) us .*/\1/p' "$here/out" >>"$here/$1.us"
	rm -rf "$here"/recording* "$here/uftrace.data"
}

http=$build/examples/http
export THRUM_TRACE=
have_lttng=false have_perf=false have_uftrace=false
lttng_begin && have_lttng=true
perf trace -o "$here/perf" true >"$here/perf.log" 2>&1 && have_perf=true
uftrace_begin && have_uftrace=true
for ((round = 0; round < rounds; round++)); do
	run 'alone' "$http"
	run 'recorded' env THRUM_TRACE="$here/recording" "$http"
	run 'recorded, 1 MiB' env THRUM_TRACE="$here/recording" THRUM_SIZE=1M "$http"
	run 'live tasks only' env THRUM_TRACE="$here/recording" THRUM_ENABLE=none,task=0 "$http"
	! $have_lttng || run 'LTTng-UST' env LD_PRELOAD="$build/bench/http/libhttp-lttng.so" "$http"
	! $have_perf || run 'perf trace' perf trace -o "$here/perf" "$http"
	! $have_uftrace || run 'uftrace' uftrace record --force -d "$here/uftrace.data" "$here/http-pg"
done
alone=
for name in alone recorded 'recorded, 1 MiB' 'live tasks only' LTTng-UST 'perf trace' uftrace; do
	[ -f "$here/$name.us" ] || continue
	us=$(sort -n "$here/$name.us" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')
	alone=${alone:-$us}
	awk -v name="$name" -v us="$us" -v alone="$alone" \
		'BEGIN { printf "%-16s %8.1f us %8.0f requests/s %6.2f\n", name, us, 1e6 / us, us / alone }'
done
