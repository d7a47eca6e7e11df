#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# System calls that no adapter sees, in programs that know nothing of thrum: `thrum record` looks at them from outside.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

for case in lock fifo free rest; do
	"$THRUM" record -o "$case.thrum" -- "$programs/hung_call" "$case" 2>"$case.said" &
done
wait 2>/dev/null
# A machine may forbid to look at other processes.
"$THRUM" dump lock.thrum | grep -q 'system calls' || {
	echo "skipped: /proc tells nothing of another process's system calls"
	exit 77
}
asked() {
	"$THRUM" why "$1.thrum" >"$1.why" 2>&1
	grep -q "$2" "$1.why" || { wrong "$1: not told: $2"; cat "$1.why"; }
}
asked lock '^never resolved (possible): .*waits for “flock([0-9]*) on .*/counts.lock”'
asked fifo '^never resolved (possible): .*waits for “openat on counts.fifo”'
asked fifo 'Reads no more; though “pipe .*” is for it'
asked free '^no findings'
asked rest '^no findings'
asked rest ' is in the system call read([0-9]*) on pipe'
"$THRUM" dump rest.thrum | grep -q 'read([0-9]*) on pipe' || wrong "rest: the call isn't told"
"$THRUM" dump free.thrum | grep -q 'flock' && wrong "free: a call that was over is told"
exit "$failed"
