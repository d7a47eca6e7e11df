#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# `thrum doctor` names the libraries that are seen, and the reason where nothing can be seen.
set -u
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
failed=0

# says STATUS PATTERN ARGUMENT: the status, and what it prints on either stream.
says() {
	local got text
	text=$("$THRUM" doctor "$3" 2>&1)
	got=$?
	[[ $got -eq $1 && $text =~ $2 ]] || {
		echo "thrum doctor $3: status $got instead of $1, or not \"$2\": $text"
		failed=1
	}
}

every=$BUILD/tests/thrum/programs/every
if [[ $SANITIZE == none ]]; then
	says 0 'every is linked dynamically.*libthrum.so.*libc.so.*only waits of threads that tell nothing' "$every"
else
	says 0 'built for a sanitizer.*the tasks that it records itself' "$every"
fi
says 0 'Try: thrum record -- sh' sh

printf '#!/bin/sh\n' >script
printf '#! /usr/bin/env -S sh -e\n' >script-env
printf '#!%s/circle\n' "$here" >circle
chmod +x script script-env circle
says 0 'script is a script. Its interpreter runs:.*/sh is linked dynamically' ./script
says 0 'script-env is a script.*/sh is linked dynamically' ./script-env
says 2 'circle: ' ./circle

says 1 'neither an ELF program nor a script' /etc/passwd
says 2 'missing: No such file' ./missing
says 2 'no such program in PATH' there-is-no-such-program
says 2 'Is a directory' "$here"


# The first 200 bytes of a program; then each byte of its header in turn is 255.
head -c 200 "$every" >short
says 1 'short is linked statically' ./short
for ((i = 0; i < 64; i += 3)); do
	{ head -c $i "$every"; printf '\xff'; tail -c +$((i + 2)) "$every"; } >broken
	"$THRUM" doctor ./broken >out 2>&1
	[[ $? -le 2 ]] || {
		echo "a program with a wrong byte $i: $(cat out)"
		failed=1
	}
done

# A process: its libraries are those that it has mapped.
sleep 100 &
for _ in {1..1200}; do
	grep -q libc.so "/proc/$!/maps" && break
	sleep 0.05
done
says 0 'sleep is linked dynamically.*libc.so.*start it under thrum record, with --later' $!
"$THRUM" attach $! >out 2>&1
status=$?
[[ $status == 1 && $(tr '\n' ' ' <out) == *'records nothing'*'start it under thrum record'* ]] || {
	echo "thrum attach to a process that doesn't record: $(cat out)"
	failed=1
}
kill $!
if [[ $SANITIZE == none ]]; then
	mkfifo orders
	exec 3<>orders
	"$BUILD/tests/thrum/programs/asleep" <&3 >/dev/null &
	for _ in {1..1200}; do
		grep -q libthrum.so "/proc/$!/maps" && break
		sleep 0.05
	done
	says 0 "Try: thrum attach --start $!" $!
	kill $!

	# Under the adapters a process has libthrum, though it records no tasks of its own.
	"$THRUM" record -o sleep.thrum -- sleep 100 >out 2>&1 &
	for _ in {1..1200}; do
		pid=$(pgrep -P $!) && grep -q libthrum-adapt.so "/proc/$pid/maps" && break
		sleep 0.05
	done
	text=$("$THRUM" doctor "$pid" 2>&1)
	[[ $text == *'sleep is linked dynamically'* && $text != *'its own tasks'* ]] || {
		echo "thrum doctor on a process under the adapters: $text"
		failed=1
	}
	kill "$pid"
	wait $!
fi
says 2 'No such process' 4194304
exit $failed
