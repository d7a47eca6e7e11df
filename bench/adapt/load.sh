#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# bench/adapt/load.sh BUILD [RUNS]: what `thrum record` costs redis-server and memcached under load. Both run in turn
# with and without it, in pairs; prints the medians of the requests per second, of the server's CPU time for each, and
# of the pairs' ratios. A server that is missing is left out.
set -eu
build=$(realpath "$1")
runs=${2:-9}
here=$(mktemp -d)
cd "$here"
trap 'rm -rf "$here"' EXIT

# start SERVER COMMAND...: starts it with that command before it.
start() {
	local arguments
	case $1 in
	redis) arguments=(redis-server --port 0 --unixsocket "$here/redis" --save '' --dir "$here") ;;
	memcached) arguments=(memcached -u "$(id -un)" -s "$here/memcached" -t 2) ;;
	esac
	"${@:2}" "${arguments[@]}" >server.out 2>&1 &
	pid=$!
	for ((i = 0; i < 100; i++)); do
		[[ ! -S $1 ]] || break
		sleep 0.05
	done
}

# cpu PID: the CPU time of a process's threads in ns.
cpu() {
	cat /proc/"$1"/task/*/schedstat | awk '{sum += $1} END {printf "%.0f\n", sum}'
}

# run SERVER COMMAND...: starts it likewise, prints the requests in a second and the CPU time for each.
run() {
	local before after requests server
	rm -f "$1" ./*.thrum
	start "$@"
	server=$(pgrep -P "$pid" || echo "$pid")
	before=$(cpu "$server")
	requests=$("$build/bench/adapt/load" "$here/$1" 'get key')
	after=$(cpu "$server")
	# The command passes it on to the server.
	kill "$pid"
	wait "$pid" 2>/dev/null || true
	awk -v n="$requests" -v c=$((after - before)) 'BEGIN {print n, c / n}'
}

median() {
	sort -g | awk '{a[NR] = $1} END {print (a[int((NR + 1) / 2)] + a[int(NR / 2) + 1]) / 2}'
}

for server in redis memcached; do
	program=${server/redis/redis-server}
	command -v "$program" >/dev/null || {
		echo "left out: $program is missing"
		continue
	}
	for ((turn = 0; turn < runs; turn++)); do
		echo "$(run $server) $(run $server "$build/thrum" record --)"
	done >$server.pairs
	echo "$program, $runs pairs"
	for ((column = 1; column <= 2; column++)); do
		plain=$(awk -v c=$column '{print $c}' $server.pairs | median)
		thrum=$(awk -v c=$((column + 2)) '{print $c}' $server.pairs | median)
		ratio=$(awk -v c=$column '{print $(c + 2) / $c}' $server.pairs | median)
		awk -v what=$column -v p="$plain" -v t="$thrum" -v r="$ratio" 'BEGIN {
			printf "  %-22s %9d   with thrum %9d   ratio %.3f\n",
				what == 1 ? "requests/s" : "server ns/request", p, t, r}'
	done
done
