#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Threads that miss what they wait for, in programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

# misses NAME PATTERN: the program hangs, and thrum names what was missed.
misses() {
	told[$1]=$2
	soon "$1" "$programs/missed" "$1"
}
misses children 'Waits for .wait for ended process [0-9]* \(missed\), started by'
misses signalfd 'Waits for .wait for ended process [0-9]* \(missed\), started by'
misses early '.wait for ended process [0-9]* \(missed\), started by .* never resolves'
misses late 'Waits for .wait for ended process [0-9]* \(missed\), started by'
misses suspend 'Waits for .wait for ended process [0-9]* \(missed\), started by'
misses loop 'Waits for .wait for ended process [0-9]* \(missed\), started by'
armed='one-shot watch of socket [0-9]*, read last by take_byte[^+]*, usually armed again by arm'
misses watch "thread (serve|missed\+0x).*Waits for .$armed"
misses answer "thread (ask|missed\+0x).*Waits for .$armed"
misses edge 'Waits for .unread data of edge-triggered socket [0-9]*, left by serve_edges'
misses thief 'end of a child, though none is left; some were taken by wait_for_child[^+]'
misses rounds 'end of a child, though none is left, while other threads nap or wait'
misses door 'Waits for .queued connections of edge-triggered socket [0-9]*, left by open_door[^+]'
# The rest that a loop leaves, while others go on.
beside='socket [0-9]* while others go on'
for case in thread child write sleeper beat; do
	told[rest-$case]="unread (data )?of edge-triggered $beside, left by (take|edges\\+0x)"
done
told[rest-once]="one-shot watch of $beside, read last by (take|edges\\+0x)"
told[rest-removed]="unread data of $beside, unwatched since epoll_ctl in (unwatch|edges\\+0x)"
told[rest-room]="unsent rest for $beside; nobody waits for room since (send_rest|edges\\+0x)"
for case in thread child write once removed room sleeper beat; do
	soon "rest-$case" "$programs/edges" "$case"
	soon "fine-rest-$case" "$programs/edges" "$case" fine
done
for case in worker helper busy late limit ticks doze; do
	soon "fine-rest-$case" "$programs/edges" "$case"
done
# The end of an upload that a loop doesn't answer.
told[end]="answer by $beside, whose end was read by (take|half_closed\\+0x)[^;]*; 5 before were answered"
soon end "$programs/half_closed"
for case in fine worker topic; do
	soon "end-$case" "$programs/half_closed" "$case"
done
soon handler "$programs/missed" handler
# A watch of epoll that was changed, and asks for data no more; and its healthy likes.
told[held-unread]='Waits for .unread data of socket [0-9]+, no longer watched for reading since hold_back[^+]'
told[held-taken]='Waits for .watch of socket [0-9]+, no longer for reading since hold_back[^+]'
told[held-both]='Waits for .watch of socket [0-9]+, no longer for reading or writing since hold_back[^+]'
for case in unread taken both thread timer limit patience mute; do
	soon "held-$case" "$programs/held_back" "$case"
done
for case in children signalfd suspend early late counted loop watch answer edge door thief rounds owner handed; do
	soon "fine-$case" "$programs/missed" "$case" fine
done
all_same
all_told

for case in thread timer limit patience; do
	has "held-$case" why '^no findings'
	"$THRUM" dump "held-$case.thrum" | grep 'no longer' && wrong "held-$case: it is watched again"
done
"$THRUM" dump held-mute.thrum | grep 'no longer' && wrong 'held-mute: it is watched all the time'

for case in thread child write once removed room sleeper beat worker helper busy late limit ticks doze; do
	has "fine-rest-$case" why '^no findings'
	"$THRUM" dump "fine-rest-$case.thrum" | grep 'while others go on' && wrong "fine-rest-$case: it is read"
done

for case in fine worker topic; do
	has "end-$case" why '^no findings'
	"$THRUM" dump "end-$case.thrum" | grep 'answer by' && wrong "end-$case: it is answered"
done

# Such a wait isn't divided.
has handler dump 'label +a signal'
"$THRUM" dump handler.thrum | grep 'wait for ended' && wrong 'a handler may run between two parts of a wait'

for case in children signalfd suspend early late counted loop watch answer edge door thief rounds owner handed; do
	# A single thread whose child lives yet isn't recorded.
	[[ $case == early && ! -e fine-early.thrum ]] && continue
	has "fine-$case" why '^no findings'
	"$THRUM" dump "fine-$case.thrum" |
		grep -E 'wait for ended|one-shot|unread data|queued connections|none is left' &&
		wrong "fine-$case: nothing is missed"
done
exit "$failed"
