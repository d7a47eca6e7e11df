#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Semaphores and conditions that several processes share.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

# hangs NAME PATTERN [WHILE]: it hangs, and thrum tells why, and before it ends says WHILE, if that is another one.
declare -A whys=()
hangs() {
	told[$1]=${3-$2}
	whys[$1]=$2
	begin "$1" "$programs/shared_waits" "$1"
}
# all_hang: those that `hangs` began do so.
all_hang() {
	local name
	wait 2>/dev/null
	for name in "${!whys[@]}"; do
		! grep -q '^done' "$name.out" || wrong "$name doesn't hang"
		has "$name" why "${whys[$name]}"
	done
}
for case in semaphore condition; do
	hangs "$case" '^never resolved \(likely\): .wake-up in shared memory, as no other process is left'
done
for case in parent circle; do
	hangs "$case" '^deadlock \(certain\)'
done
# Conditions that processes share are one, so all are known that signal them.
# While the program lives, its child may, too, as far as is known.
hangs crash '^never resolved \(possible\): .*crash.[0-9]*/worker. does nothing more' \
	'shared_waits waits for .* condition'
all_hang
hangs lone '^never resolved \(possible\): .*lone.[0-9]*/giver. does nothing more'
hangs turns '^deadlock \(likely\)'
# Either all tell it, or the parent, which looked at both children.
hangs ring '^deadlock \((likely|certain)\): .(shared semaphore 0x|process [0-9]* \(adder\))'
# These are healthy.
for case in work parts helped; do
	hangs "$case" '^no findings'
done
all_hang
for case in parent circle ring; do
	(($("$THRUM" why "$case.thrum" 2>/dev/null | grep -c '^deadlock') == 1)) || wrong "$case is told twice"
done
has parent why 'process [0-9]* \(waiter\)'
has turns why 'turns.[0-9]*/answerer: The only one that serves .condition 0x[0-9a-f]* in shared memory'
has ring why '[Ww]aits for .process [0-9]* \(adder\), (which posted it at add|started by start)'

# Nothing is wrong.
for case in semaphore condition parent circle orphan taken idle named crash turns work lone parts ring \
	helped; do
	soon "fine-$case" "$programs/shared_waits" "$case" fine
done
all_same
for case in semaphore condition parent circle orphan taken idle named crash turns work lone parts ring \
	helped; do
	[[ ! -e fine-$case.thrum ]] || has "fine-$case" why '^no findings'
done
# It would be posted later.
"$THRUM" record -o orphan.thrum -- "$programs/shared_waits" orphan >out 2>&1 </dev/null
! "$THRUM" why orphan.thrum 2>&1 | grep -E 'likely|certain|is left' || wrong 'an orphan is overlooked'
# Workers have nothing to do until a signal comes.
"$THRUM" record -o idle.thrum -- "$programs/shared_waits" idle >idle.out 2>&1 </dev/null &
job=$!
comes test -s idle.out
read -ra processes <idle.out
# waits_outside PROCESS: it is recorded that the worker waits, and others may wake it.
# shellcheck disable=SC2317 # `comes` calls it
waits_outside() {
	"$THRUM" dump "idle.thrum.$1" 2>&1 | grep -qE 'suspend +blocked by the outside'
}
for process in "${processes[@]:0:2}"; do
	comes waits_outside "$process" || wrong 'others may wake a worker'
done
sleep 1.5 # they are idle for far longer than before
kill -KILL "${processes[@]}"
wait "$job" 2>/dev/null
has idle why '^no findings'
# It may be posted by others.
"$THRUM" record -o named.thrum -- "$programs/shared_waits" named >out 2>&1 </dev/null
[[ ! -e named.thrum ]] || has named why '^no findings'
exit "$failed"
