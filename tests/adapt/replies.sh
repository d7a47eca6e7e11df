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
hanging=()
for case in hang later news; do
	begin "$case" "$programs/uv_replies" "$case"
	hanging+=($!)
done
same fine "$programs/uv_replies" fine
# A loop counts as at rest after a second.
sleep 4
for job in "${hanging[@]}"; do
	pkill -KILL -P "$job"
done
wait
turn='(on_question|uv_replies\+0x[0-9a-f]+)'
has hang why '^never resolved \(possible\): .thread (ask|uv_replies\+0x[0-9a-f]+)'
has hang why "read $turn: Runs once without a signal for .receive from socket [0-9]+"
# A timer may answer, or sends what nobody asked for.
for case in later news; do
	"$THRUM" why "$case.thrum" | grep 'without a signal' && wrong "$case: the answer may come"
done
has fine why '^no findings'
exit "$failed"
