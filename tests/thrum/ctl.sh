#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# `thrum ctl` changes what a running program records: the recording says so, and others stay away.
set -u
here=$(mktemp -d)
trap 'rm -rf "$here"; [[ -z ${pid:-} ]] || kill "$pid" 2>/dev/null' EXIT
cd "$here" || exit 1
failed=0

wrong() {
	echo "$*"
	failed=1
}

ctl() {
	"$THRUM" ctl "$@" 2>err || wrong "ctl $*: status $? $(cat err)"
}

# Waits until a command succeeds.
wait_for() {
	for ((i = 0; i < 1000; i++)); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.01
	done
	return 1
}

# Prints the level of a category.
level() {
	"$THRUM" ctl "$pid" --format=tsv | awk -F '\t' -v name="$1" '$1 == name { print $2 }'
}

# Prints how many events of this type the recording has.
count() {
	"$THRUM" dump --format=tsv "$pid" 2>/dev/null | awk -F '\t' -v type="$1" '$3 == type' | wc -l
}

# shellcheck disable=SC2317 # wait_for calls it
more_than() {
	[[ $(count "$1") -gt $2 ]]
}

start() {
	rm -f ready
	env "$@" THRUM_TRACE="$here/steady.thrum" THRUM_SIZE=1M "$BUILD/tests/thrum/programs/steady" \
		>ready &
	pid=$!
	wait_for test -s ready || wrong 'the program does not begin'
}

finish() {
	kill "$pid"
	wait "$pid"
	pid=
}

# ---- Off and on again ----
start A=1
[[ $(level task) == 3 && $(level log) == 3 ]] || wrong "not all is on: $("$THRUM" ctl "$pid")"
wait_for more_than switch 3 || wrong 'no switches are recorded'
ctl "$pid" --disable switch,log
[[ $(level task) == 2 && $(level switch) == -1 && $(level log) == -1 ]] ||
	wrong "disable: $("$THRUM" ctl "$pid")"
before=$(count switch)
sleep 0.1
# One that was under way may still come.
[[ $(count switch) -le $((before + 1)) ]] || wrong 'switches are recorded though they are off'
ctl steady.thrum --reset
wait_for more_than switch "$before" || wrong 'no switches after --reset'
ctl "$pid" --only net=debug,log=info
[[ $(level task) == 0 && $(level log) == 1 && $(level counter) == -1 && $(level net) == 2 ]] ||
	wrong "only: $("$THRUM" ctl "$pid")"
ctl "$pid" --enable task=off
[[ $(level task) == 0 ]] || wrong 'tasks lost their ids'
"$THRUM" ctl "$pid" --format=json | python3 -c 'import json, sys
rows = [json.loads(line) for line in sys.stdin]
assert {"category": "net", "level": 2, "name": "debug", "unknown": True} in rows' ||
	wrong 'json'
finish
"$THRUM" dump --format=tsv --event=category steady.thrum | tail -n +2 | cut -f 6,7 >categories
printf '2\ttask\n-1\tlog\n3\ttask\n3\tlog\n0\ttask\n-1\tcounter\n1\tlog\n' >expected
cmp -s expected categories || wrong "categories: $(diff expected categories)"

# ---- Errors ----
fails() {
	local status=$1
	shift
	"$THRUM" "$@" >out 2>err
	local got=$?
	[[ $got == "$status" && -s err ]] || wrong "$*: status $got, not $status: $(cat err)"
}
fails 2 ctl steady.thrum --reset
grep -q 'has ended' err || wrong "a recording that has ended: $(cat err)"
fails 2 ctl no-such-file
echo text >text
fails 2 ctl text
fails 64 ctl
fails 64 ctl -
start A=1
fails 64 ctl "$pid" --enable 'net=loud'
fails 64 ctl "$pid" --enable '=2'
fails 64 ctl "$pid" --enable "$(printf 'x%.0s' {1..80})"
[[ $(level task) == 3 ]] || wrong 'a bad list changed something'
chmod 400 steady.thrum
[[ $(id -u) == 0 ]] || fails 2 ctl "$pid" --reset
finish

# ---- Before the start ----
start THRUM_ENABLE=task=info,log=off
[[ $(level task) == 1 && $(level log) == -1 && $(level counter) == 3 ]] ||
	wrong "THRUM_ENABLE: $("$THRUM" ctl "$pid")"
finish
start THRUM_ENABLE=none
sleep 0.05
[[ $("$THRUM" info --format=tsv "$pid" | awk '$1 == "packets" { print $2 }') == 0 ]] ||
	wrong 'there are packets though only counters are kept'
ctl "$pid" --enable new
[[ $(level task) == 0 ]] || wrong 'tags that are new are not recorded'
ctl "$pid" --enable task
wait_for more_than switch 3 || wrong 'turned up, nothing is recorded'
finish

# ---- Hostile words ----
start A=1
python3 - "$here/steady.thrum" <<'END' || wrong 'the words could not be written'
import mmap, os, random, struct, sys, time
path = sys.argv[1]
data = open(path, 'rb').read(4096)
fd = os.open(path, os.O_RDWR)
# The control section's place is in the header: the last section of two pages.
places = [struct.unpack_from('<QQ', data, at) for at in range(0, 1024, 8)]
offset = max(at for at, size in places if size == 8192 and at % 4096 == 0 and 0 < at < 1 << 20)
page = mmap.mmap(fd, 8192, offset=offset)
random.seed(1)
for i in range(3000):
	word = random.choice([0, 1, 2, random.randrange(4, 1024)])
	value = random.getrandbits(64)
	if word == 1:  # The upper half says that the program shares its mask.
		value = value & 0xffffffff | 1 << 32
	struct.pack_into('<Q', page, word * 8, value)
END
kill -0 "$pid" 2>/dev/null || wrong 'hostile words ended the program'
"$THRUM" ctl "$pid" --status >out 2>err || wrong "status after hostile words: $(cat err)"
"$THRUM" ctl "$pid" --reset 2>err || wrong "reset after hostile words: $(cat err)"
"$THRUM" dump "$pid" >/dev/null 2>err || wrong "dump after hostile words: $(cat err)"
"$THRUM" why "$pid" >/dev/null 2>err
[[ $? -le 1 ]] || wrong "why after hostile words: $(cat err)"
kill "$pid"
wait "$pid"
[[ $? -eq 3 ]] || wrong 'the program did not end as it should'
pid=
exit $failed
