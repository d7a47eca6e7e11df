#!/bin/sh
# SPDX-License-Identifier: ISC
# tools/demo-fleet.sh: programs record as if on four machines; an agent for each sends that to a NATS
# server. One hangs and one is killed. The recordings are deleted, and thrum why reads the cause from
# the server. BUILD: the build's folder (build); DEMO: the folder for the files.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}
folder=${DEMO:-$build/demo-fleet}
thrum=$build/thrum
started=

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

finish() {
	for pid in $started; do
		kill "$pid" 2>/dev/null || true
	done
	wait
}
trap finish EXIT

# Waits until a command succeeds.
await() { # SECONDS COMMAND...
	left=$(($1 * 10))
	shift
	until "$@" >/dev/null 2>&1; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.1
	done
}

command -v nats-server >/dev/null || fail "nats-server is missing (tools/setup programs)."
rm -rf "$folder"
mkdir -p "$folder"
folder=$(realpath "$folder")

say "A NATS server with JetStream keeps the recordings of all machines:"
port=$((20000 + $$ % 20000))
show "nats-server --jetstream"
nats-server --jetstream --store_dir "$folder/nats" -a 127.0.0.1 -p $port >"$folder/nats.log" 2>&1 &
started=$!
server=nats://127.0.0.1:$port
await 20 grep -q 'Server is ready' "$folder/nats.log" || fail "the server doesn't start: $folder/nats.log"

say "Four machines record and have an agent each. On three of them web asks stock, and stock asks the \
database, whose backup hangs and holds a table. The fourth is a server that is killed."
show "thrum ship /var/lib/thrum --to nats://trace.example.org      (on each)"
for name in web stock database other; do
	mkdir "$folder/$name"
	"$thrum" ship "$folder/$name" --to "$server" --host "rack-$name" --state "$folder/$name/state" \
		>"$folder/$name.log" 2>&1 &
	started="$started $!"
done
mkdir "$folder/run"
shop=$(realpath "$build/examples/shop")
THRUM_TRACE=$folder/other/server.thrum "$build/examples/server" --seconds 100 >/dev/null 2>&1 &
victim=$!
(cd "$folder/run" && "$shop" hang) >"$folder/shop.log" 2>&1 || fail "the example fails: $folder/shop.log"
for name in web stock database; do
	mv "$folder/run/$name.thrum" "$folder/$name/"
done
await 60 grep -q 'sends it as' "$folder/other.log" || fail "the agent sends nothing: $folder/other.log"
kill -9 $victim
for name in web stock database other; do
	await 60 grep -q 'its program has ended' "$folder/$name.log" || fail "$name isn't sent: $folder/$name.log"
done

say "The machines are gone with all their files. The server knows what they recorded:"
rm -f "$folder"/*/*.thrum
show "thrum fleet list $server"
"$thrum" fleet list "$server" >"$folder/list" || fail "the list fails."
sed 's/^/  /' "$folder/list"
grep -q 'rack-other .*gone' "$folder/list" || fail "the list doesn't tell that the server was killed."

say "thrum follows the request from machine to machine and names the cause:"
show "thrum why $server"
"$thrum" why "$server" >"$folder/why" 2>"$folder/why.log" || [ $? = 1 ] || fail "why fails: $folder/why.log"
sed 's/^/  /' "$folder/why"
grep -q 'of database: .*tape' "$folder/why" ||
	fail "why doesn't name the database's tape."
grep -q 'GET /item/5 of web' "$folder/why" ||
	fail "why doesn't name web's request."

say "A picture of the three:"
show "thrum render '$server/rack-[dsw]*' -o $folder/shop.svg"
"$thrum" render "$server/rack-[dsw]*" -o "$folder/shop.svg" 2>>"$folder/why.log" || fail "render fails: $folder/why.log"
