#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# A process that records: found by its number, followed, copied and converted while it goes on.
set -u
here=$(mktemp -d)
trap 'rm -rf "$here"; [[ -z ${pid:-} ]] || kill "$pid" 2>/dev/null' EXIT
cd "$here" || exit 1
failed=0

wrong() {
	echo "$*"
	failed=1
}

THRUM_TRACE=$here/steady.thrum THRUM_SIZE=1M "$BUILD/tests/thrum/programs/steady" >ready &
pid=$!
for ((i = 0; i < 6000; i++)); do
	[[ ! -s ready ]] || break
	sleep 0.01
done

"$THRUM" dump --format=tsv $pid >dumped 2>err || wrong "dump PID: $(cat err)"
grep -q $'create\t.*\ttask\t$' dumped || wrong "dump PID shows no task"
[[ $("$THRUM" info --format=tsv $pid | awk '$1 == "state" { print $2 }') == recording ]] ||
	wrong "info PID: it is not being recorded"

# A file of that name comes first.
cp steady.thrum copy
echo text >$pid
"$THRUM" dump $pid >/dev/null 2>err && wrong "the process was preferred to the file of its name"
rm $pid

# Followed until the program ends, or as long as somebody reads.
"$THRUM" dump --follow --format=tsv $pid >followed 2>err &
follower=$!
"$THRUM" dump --follow --format=tsv steady.thrum 2>err2 | head -n 20 >few
[[ ${PIPESTATUS[0]} -eq 0 && $(wc -l <few) -eq 20 ]] || wrong "dump --follow | head: $(cat err2)"

for name in steady.thrum ./steady.thrum; do
	"$THRUM" snapshot steady.thrum -o $name 2>err && wrong "a snapshot replaces its recording"
	grep -q "$name: this is the recording itself" err || wrong "snapshot over itself: $(cat err)"
done
"$THRUM" snapshot copy -o steady.thrum 2>err && wrong "a snapshot replaces a live recording"
grep -q "steady.thrum: a process records to this file" err || wrong "over a live one: $(cat err)"
"$THRUM" snapshot $pid -o now.thrum 2>err || wrong "snapshot PID: $(cat err)"
[[ $("$THRUM" info --format=tsv now.thrum | awk '$1 == "state" { print $2 }') == snapshot ]] ||
	wrong "the snapshot isn't one"
for name in steady-snapshot.thrum steady-snapshot-2.thrum; do
	"$THRUM" snapshot $pid 2>err || wrong "snapshot PID: $(cat err)"
	[[ -f $name ]] || wrong "no $name"
done
"$THRUM" snapshot -o now.thrum steady.thrum 2>err || wrong "over a snapshot: $(cat err)"
"$THRUM" snapshot -o - $pid 2>err | "$THRUM" dump --format=tsv - >piped 2>err || wrong "$(cat err)"
grep -q $'\tlabel\t.*\tsteady\t$' piped || wrong "the piped snapshot lost the label"
[[ $(stat -c %a now.thrum) == 600 ]] || wrong "others may read the snapshot"

"$THRUM" attach $pid -o attached.thrum 2>err || wrong "attach PID: $(cat err)"
"$THRUM" info attached.thrum >/dev/null || wrong 'attach PID: no recording'
"$THRUM" convert $pid ctf 2>err || wrong "convert PID: $(cat err)"
[[ -s ctf/metadata ]] || wrong "convert PID: no metadata"
"$THRUM" convert $pid ctf 2>err && wrong "convert writes into a folder that isn't empty"

kill $pid
wait $pid
pid=
wait $follower || wrong "dump --follow: status $? $(cat err)"
"$THRUM" dump --format=tsv steady.thrum >whole
# Times are a little more exact when the recording has ended.
cmp <(cut -f 2- followed) <(cut -f 2- whole) || wrong "what was followed is not what there was"
"$THRUM" dump --format=tsv - < <(cat steady.thrum) | cmp - whole ||
	wrong "a pipe shows other events"
exit $failed
