#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Semaphores and conditions that several processes share.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

# hangs NAME PATTERN
hangs() {
	"$THRUM" record -o "$1.thrum" --size=64M -- "$programs/shared_waits" "$1" >out 2>&1 </dev/null
	! grep -q '^done' out || wrong "$1 doesn't hang"
	has "$1" why "$2"
}
for case in semaphore condition; do
	hangs "$case" '^never resolved \(likely\): .wake-up in shared memory, as no other process is left'
done
for case in parent circle; do
	hangs "$case" '^deadlock \(certain\)'
	(($("$THRUM" why "$case.thrum" 2>/dev/null | grep -c '^deadlock') == 1)) || wrong "$case is told twice"
done
has parent why 'process [0-9]* \(waiter\)'
# Conditions that processes share are one, so all are known that signal them.
hangs crash '^never resolved \(possible\): .*crash.[0-9]*/worker. does nothing more'
hangs lone '^never resolved \(possible\): .*lone.[0-9]*/giver. does nothing more'
hangs turns '^deadlock \(likely\)'
has turns why 'turns.[0-9]*/answerer: The only one that serves .condition 0x[0-9a-f]* in shared memory'

# Nothing is wrong.
hangs work '^no findings'
hangs parts '^no findings'
for case in semaphore condition parent circle orphan taken idle named crash turns work lone parts; do
	same "fine-$case" "$programs/shared_waits" "$case" fine
	[[ ! -e fine-$case.thrum ]] || has "fine-$case" why '^no findings'
done
# It would be posted later.
"$THRUM" record -o orphan.thrum -- "$programs/shared_waits" orphan >out 2>&1 </dev/null
! "$THRUM" why orphan.thrum 2>&1 | grep -E 'likely|certain|is left' || wrong 'an orphan is overlooked'
# Workers have nothing to do until a signal comes.
"$THRUM" record -o idle.thrum -- "$programs/shared_waits" idle >idle.out 2>&1 </dev/null &
job=$!
sleep 2.5
read -ra processes <idle.out
kill -KILL "${processes[@]}"
wait "$job" 2>/dev/null
has idle why '^no findings'
for process in "${processes[@]:0:2}"; do
	"$THRUM" dump "idle.thrum.$process" | grep -qE 'suspend +blocked by the outside' ||
		wrong 'others may wake a worker'
done
# It may be posted by others.
"$THRUM" record -o named.thrum -- "$programs/shared_waits" named >out 2>&1 </dev/null
[[ ! -e named.thrum ]] || has named why '^no findings'
exit "$failed"
