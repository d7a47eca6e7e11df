#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Threads and forked children that all wait for each other.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

# hangs NAME PATTERN: the program hangs, and thrum names the cause. All its processes are killed at once: what one
# closes as it ends would wake another.
hangs() {
	local recorder program i
	"$THRUM" record -o "$1.thrum" --size=64M -- "$programs/relatives" "$1" >/dev/null 2>&1 </dev/null &
	recorder=$!
	sleep 2
	program=$(pgrep -P "$recorder")
	# On a busy machine those that look seem to run for longer.
	for ((i = 0; i < 20; i++)); do
		"$THRUM" why "$1.thrum" 2>&1 | grep -qE -- "$2" && break
		sleep 0.3
	done
	kill -KILL -- "-${program:-1000000}" || wrong "$1 doesn't hang"
	wait "$recorder"
	has "$1" why "$2"
}
hangs half 'read of process [0-9]* at [a-z_]*[^:]*: Waits for .other end of socket [0-9]* in this process'
hangs lock 'Waits for .release of the file.s lock for process [0-9]* \(relatives\)'
hangs slots 'other end of socket [0-9]* in this process[^:]*: Waits for .slots[^ ]*/relatives'
hangs ring 'read of process [0-9]* at [a-z_]*[^:]*: Waits for .process [0-9]* \(parser\)'
has ring why 'process [0-9]* \(checker\)[^:]*: Waits for .read of process [0-9]* at (get|filter)'
hangs broker 'Waits for .process [0-9]* \(stock\)'
hangs session 'read of process [0-9]* at serve_sessions[^:]*: Waits for .other end of socket [0-9]* in this process'
hangs pool 'process [0-9]* \((relatives|worker)\).*: Waits for .*process [0-9]* \((relatives|worker)\)'
has pool why "process [0-9]*( .worker.)?, killed by SIGKILL"
hangs parser 'Waits for .data of socket [0-9]*, read last by (take_requests|relatives\+0x[0-9a-f]*).'
for case in half lock slots ring broker session pool parser; do
	has "$case" why '^deadlock \(certain\)'
done
hangs handler 'reading end of pipe [0-9]* in this process. never resolves'
hangs limit 'EMFILE: all 24 are open\); 1[0-9] made by limit'

# Nothing is wrong: another thread sends later, or others only seem to wait.
for case in half lock slots handler limit late turns ring broker session expiry pool parser; do
	same "fine-$case" "$programs/relatives" "$case" fine
	has "fine-$case" why '^no findings'
done
# None of the short writes has waited.
if "$THRUM" dump fine-handler.thrum | grep -qE 'wait .*pipe'; then
	wrong "a short write to a pipe counts as a wait"
fi
# A server that waits for a session gives it up in time.
if "$THRUM" dump fine-expiry.thrum | grep -q 'other end of socket'; then
	wrong "a read with a time limit counts as one without"
fi
exit "$failed"
