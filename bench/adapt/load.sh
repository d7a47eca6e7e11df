#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# bench/adapt/load.sh BUILD [RUNS]: what `thrum record` costs redis-server and memcached under load. Both run in turn
# with and without it; prints the medians of the requests per second. A server that is missing is left out.
set -eu
build=$(realpath "$1")
runs=${2:-9}
here=$(mktemp -d)
cd "$here"
trap 'rm -rf "$here"' EXIT

start() {
	case $1 in
	redis) "${@:2}" redis-server --port 0 --unixsocket "$here/redis" --save '' --dir "$here" ;;
	memcached) "${@:2}" memcached -u "$(id -un)" -s "$here/memcached" -t 2 ;;
	esac >server.out 2>&1 &
	pid=$!
	for ((i = 0; i < 100; i++)); do
		[[ ! -S $1 ]] || break
		sleep 0.05
	done
}

# run SERVER RESULTS COMMAND...: starts it with that command before it, adds the requests per second to a file.
run() {
	rm -f "$1" ./*.thrum
	start "$1" "${@:3}"
	"$build/bench/adapt/load" "$here/$1" 'get key' >>"$2"
	# The command passes it on to the server.
	kill "$pid"
	wait "$pid" 2>/dev/null || true
}

median() {
	sort -n "$1" | awk '{a[NR] = $1} END {print a[int((NR + 1) / 2)]}'
}

for server in redis memcached; do
	program=${server/redis/redis-server}
	command -v "$program" >/dev/null || {
		echo "left out: $program is missing"
		continue
	}
	for ((turn = 0; turn < runs; turn++)); do
		run $server $server-plain
		run $server $server-thrum "$build/thrum" record --
	done
	plain=$(median $server-plain) thrum=$(median $server-thrum)
	awk -v s=$server -v p="$plain" -v t="$thrum" \
		'BEGIN {printf "%-10s %7d requests/s   with thrum %7d   %+.1f %%\n", s, p, t, (t / p - 1) * 100}'
done
