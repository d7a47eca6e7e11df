#!/bin/sh
# SPDX-License-Identifier: ISC
# tools/demo-fleet.sh: programs record as if on four machines, which were started at other times, as far as
# the kernel lets this user make such clocks. An agent on each sends that to a NATS server. One program
# hangs and one is killed. The recordings are deleted, and thrum why reads the cause from the server.
# BUILD: the build's folder (build); DEMO: the folder for the files.
set -eu
cd "$(dirname "$0")/.."
build=$(realpath "${BUILD:-build}")
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

# Runs a command as on a machine that was started HOURS before this one.
on() { # MACHINE HOURS COMMAND...
	name=$1 ahead=$(($2 * 3600)) boot=$folder/$1.boot
	shift 2
	# shellcheck disable=SC2016,SC2086 # several words; the inner shell expands
	[ -z "$apart" ] || set -- unshare $apart --monotonic $ahead --boottime $ahead \
		sh -c 'mount --bind "$0" /proc/sys/kernel/random/boot_id &&
			hostname "rack-$1" && shift && exec "$@"' "$boot" "$name" "$@"
	cd "$folder/$name"
	exec "$@"
}

command -v nats-server >/dev/null || fail "nats-server is missing (tools/setup programs)."
rm -rf "$folder"
mkdir -p "$folder"
folder=$(realpath "$folder")
apart="--mount --uts --time"
[ "$(id -u)" = 0 ] || apart="--user --map-root-user $apart"
# shellcheck disable=SC2086 # several words
unshare $apart mount --bind /dev/null /proc/sys/kernel/random/boot_id 2>/dev/null || apart=

say "A NATS server with JetStream keeps the recordings of all machines:"
show "nats-server --jetstream"
nats-server --jetstream --store_dir "$folder/nats" -a 127.0.0.1 -p -1 >"$folder/nats.log" 2>&1 &
started=$!
await 20 grep -q 'Server is ready' "$folder/nats.log" || fail "the server doesn't start: $folder/nats.log"
server=nats://$(sed -n 's/.*Listening for client connections on //p' "$folder/nats.log")

say "Four machines record and have an agent each. On three of them web asks stock, and stock asks the \
database, whose backup hangs and holds a table. The fourth is a server that is killed."
show "thrum ship /var/lib/thrum --to nats://trace.example.org      (on each)"
hours=0
begin() { # MACHINE PROGRAM...
	machine=$1
	shift
	mkdir "$folder/$machine"
	cat /proc/sys/kernel/random/uuid >"$folder/$machine.boot"
	hours=$((hours + 30))
	(on "$machine" $hours "$thrum" ship . --to "$server" --host "rack-$machine" --state state) \
		>"$folder/$machine.log" 2>&1 &
	started="$started $!"
	(on "$machine" $hours "$@") >"$folder/$machine.out" 2>&1 &
}
begin other env THRUM_TRACE=server.thrum "$build/examples/server" --seconds 100
victim=$!
await 60 grep -q 'sends it as' "$folder/other.log" || fail "the agent sends nothing: $folder/other.log"
# When nobody has answered it for half a second, the first agent answers those that compare their clocks.
sleep 1
for name in web stock database; do
	begin $name "$build/examples/shop" hang $name "$folder"
done
await 60 grep -q 'its program has ended' "$folder/web.log" || fail "web isn't sent: $folder/web.log"
kill -9 $victim
for name in stock database other; do
	await 60 grep -q 'its program has ended' "$folder/$name.log" || fail "$name isn't sent: $folder/$name.log"
done

clocks="and how far their clocks are apart"
say "The machines are gone with all their files. The server knows what they recorded${apart:+, $clocks}:"
rm -f "$folder"/*/*.thrum
show "thrum fleet list --findings $server"
"$thrum" fleet list --findings "$server" >"$folder/list" || fail "the list fails."
sed 's/^/  /' "$folder/list"
grep -q 'rack-other .*gone' "$folder/list" || fail "the list doesn't tell that the server was killed."

say "thrum follows the request from machine to machine and names the cause:"
show "thrum why $server"
"$thrum" why "$server" >"$folder/why" 2>"$folder/why.log" || [ $? = 1 ] || fail "why fails: $folder/why.log"
sed 's/^/  /' "$folder/why"
grep -q 'of database.*: .*tape' "$folder/why" ||
	fail "why doesn't name the database's tape."
grep -q 'GET /item/5 of web' "$folder/why" ||
	fail "why doesn't name web's request."

say "A picture of the three:"
show "thrum render '$server/rack-[dsw]*' --width=1100 -o $folder/shop-light.svg"
for theme in dark light; do
	"$thrum" render "$server/rack-[dsw]*" --width=1100 --theme=$theme -o "$folder/shop-$theme.svg" \
		2>>"$folder/why.log" || fail "render fails: $folder/why.log"
done
