#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# A program that runs under the adapters starts to record when it is asked to, again after a stop, and
# has then the names of locks and threads that it had before.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

coproc "$THRUM" record --later -- "$programs/later" 2>err
record=$COPROC_PID
read -rN 1 <&"${COPROC[0]}"
pid=$(cat "/proc/$record/task/$record/children")
pid=${pid% }
turn() {
	printf e >&"${COPROC[1]}"
	read -rN 1 <&"${COPROC[0]}"
}

# asked OPTION...: thrum attach, while the program makes events.
asked() {
	"$THRUM" attach "$pid" --wait=60s "$@" 2>said &
	local asking=$!
	while kill -0 $asking 2>/dev/null; do
		turn
	done
	wait $asking || wrong "attach $*: $(cat said)"
}

turn
for name in first second; do
	asked --start -o "$here/$name.thrum" --size=1M
	turn
	turn
	asked --stop
	has "$name" dump 'label +later$'
	has "$name" dump 'wait .* mutex (table_lock|later\+0x)'
	has "$name" dump 'lock .* mutex (table_lock|later\+0x)'
	! "$THRUM" dump "$name.thrum" | grep 'mutex starting' || wrong "$name has a lock of the recorder's"
done
eval "exec ${COPROC[1]}>&-"
wait "$record" || wrong "the program's status is $?"
[[ ! -s err ]] || wrong "messages: $(cat err)"
exit "$failed"
