#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Questions over TCP to a loop of the same program, of which one has no answer.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

[[ -x $programs/uv_replies ]] || {
	echo "skipped: libuv is missing"
	exit 77
}
for case in hang later news ticks counts; do
	begin "$case" "$programs/uv_replies" "$case"
done
# Its late answer is one at once beside a wait that is twenty times as long.
{
	comes grep -q '^hangs' counts.out
	sleep 3
	pkill -KILL -P "${recorders[counts]}"
} &
kill_at_rest hang later news ticks
same fine "$programs/uv_replies" fine
turn='(on_question|uv_replies\+0x[0-9a-f]+)'
has hang why '^never resolved \(possible\): .thread (ask|uv_replies\+0x[0-9a-f]+)'
has hang why "read $turn: Runs once without a signal for .receive from socket [0-9]+"
has ticks why "read $turn: Runs once without a signal for .receive from socket [0-9]+"
# A timer may answer, or sends what nobody asked for.
for case in later news counts; do
	"$THRUM" why "$case.thrum" | grep 'without a signal' && wrong "$case: the answer may come"
done
has fine why '^no findings'
exit "$failed"
