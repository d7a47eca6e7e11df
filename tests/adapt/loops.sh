#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Loops of programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

# These hang.
told[closed]='Waits for .eventfd [0-9]+.*run_loop'
told[players]='Waits for .data of socket [0-9]+ or unarmed timerfd [0-9]+.'
told[bell]='data of (pipe [0-9]+ or )?eventfd [0-9]+, 3 taken at once by (answer_bell|bell\+0x)'
for case in loop polling; do
	told[asked-$case]='data of socket [0-9]+,.*: Waits for .thread (ask|asked\+0x)'
done
told[asked-worker]='thread (work|asked\+0x[0-9a-f]+): Waits for .condition '
for case in eventfd pipe; do
	told[$case-drained]='Waits for .data of (eventfd|pipe) [0-9]+.*(drain|drained\+0x)'
done
for name in timer read-timer; do
	told[$name]='thread run_steps: Waits for .arming of timerfd [0-9]+, last armed by (run_steps|arm|timer)'
	told[$name-never]='thread run_steps: Waits for .arming of timerfd [0-9]+.;'
done
for case in zero first; do
	told[disarmed-$case]='or arming of timerfd [0-9]+, disarmed by (set_timer|disarmed\+0x)'
done
told[rearm]='Waits for .arming of timerfd [0-9]+, last armed by (arm|collect|rearm\+0x)'
for name in hang_up hang_up-poll; do
	told[$name]='run_loop|hang-up of socket [0-9]+, told again and again'
done
told[lines]='taking the line that a stream has read from pipe [0-9]+'

soon loops "$programs/loops"
soon leave "$programs/leave"
soon closed "$programs/own_loop"
soon open "$programs/own_loop" open
soon later "$programs/own_loop" later
soon players "$programs/players"
for case in armed visitor thinks handler kernel ended; do
	[[ $case == ended ]] || told[$case]='^no findings|^no tasks'
	soon "$case" "$programs/players" "$case"
done
soon bell "$programs/bell"
soon fine-bell "$programs/bell" fine
for case in loop worker fine; do
	soon "asked-$case" "$programs/asked" "$case"
done
soon asked-polling "$programs/asked" loop poll
soon polled-fine "$programs/asked" fine poll
for case in eventfd pipe fine late looks; do
	soon "$case-drained" "$programs/drained" "$case"
done
soon timer "$programs/timer"
for case in never armed other child; do
	soon "timer-$case" "$programs/timer" "$case"
	soon "read-timer-$case" "$programs/timer" "$case" read
done
soon read-timer "$programs/timer" "" read
for case in clock far; do
	soon "timer-$case" "$programs/timer" "$case"
	soon "read-timer-$case" "$programs/timer" "$case" read
done
for case in zero first fine cancels locked helper; do
	soon "disarmed-$case" "$programs/disarmed" "$case"
done
soon rearm "$programs/rearm"
for case in fine slow socket early; do
	soon "rearm-$case" "$programs/rearm" "$case"
done
soon hang_up "$programs/hang_up"
for case in soon late drains; do
	soon "hang_up-$case" "$programs/hang_up" "$case"
done
all_same # each of these needs a processor of its own
soon hang_up-poll "$programs/hang_up" "" poll
for case in late drains; do
	soon "hang_up-poll-$case" "$programs/hang_up" "$case" poll
done
all_same
soon lines "$programs/lines"
for case in part late plain; do
	soon "lines-$case" "$programs/lines" "$case"
done
all_same

all_told

[[ $("$THRUM" dump loops.thrum | grep -c 'suspend .*wait for work') -eq 10 ]] ||
	wrong "not ten waits: $("$THRUM" dump loops.thrum)"
[[ $("$THRUM" dump loops.thrum | grep -c 'woken by descriptor = [0-9]') -eq 4 ]] ||
	wrong "not woken four times: $("$THRUM" dump loops.thrum)"
for call in poll ppoll select pselect; do
	has loops dump "suspend +wait for work( outside)?( for a time)?: $call in main\$"
done
"$THRUM" record -o none.thrum --without=loop -- "$programs/loops" >/dev/null 2>err
grep -q 'loops recorded nothing' err || wrong "--without=loop: $(cat err)"

# A jump out of a wait ends it.
for event in 'suspend .*wait for work' 'suspend .*blocked' 'resume' 'wait .*semaphore' 'read .*semaphore' \
	'read .*mutex' 'read .*pipe [0-9]* to'; do
	has leave dump "$event"
done
text=$("$THRUM" dump leave.thrum | grep -v 'blocked for a time')
[[ $(grep -c ' suspend ' <<<"$text") == 4 && $(grep -c ' resume ' <<<"$text") == 4 ]] ||
	wrong "a wait that was left goes on: $text"

# A loop of whose descriptors only the program has the other ends waits for the program.
has closed dump 'wait .*eventfd [0-9]+ .*in run_loop'
"$THRUM" dump open.thrum | grep -q 'wait .*eventfd' && wrong "open: $("$THRUM" dump open.thrum)"
"$THRUM" why open.thrum | grep -q '^no findings' || wrong "open: $("$THRUM" why open.thrum)"
has later dump 'wait .*eventfd [0-9]'
(($("$THRUM" dump later.thrum | grep -c 'signal .*eventfd [0-9]*, waiting: 0') == 3)) ||
	wrong "later: a wait didn't end: $("$THRUM" dump later.thrum)"

# One that waits for several ends, and a timer that isn't armed, may wait for nobody else either.
has players why '^deadlock \(likely\)'
has ended why '^no findings|^no tasks'

# One read took several from an eventfd, and perhaps less was done.
has fine-bell why '^no findings|^no tasks'

# One that was told of work that was asked for should answer. Else the one that works should tell.
for case in loop polling; do
	has "asked-$case" why 'Waits for .data of socket [0-9]+, read last by (take_question|asked\+0x)'
done
has asked-worker dump 'data of eventfd [0-9]+'
has asked-fine why '^no findings|^no tasks'
has polled-fine why '^no findings|^no tasks'

# One that polls such a pipe waits for the thread that wrote to it before, once all wait for each other.
for case in eventfd pipe; do
	has "$case-drained" why '^deadlock \(certain\): .data of (eventfd|pipe) [0-9]+. is in a cycle'
done
for case in fine late looks; do
	has "$case-drained" why '^no findings|^no tasks'
	"$THRUM" dump "$case-drained.thrum" | grep 'data of' && wrong "$case: the wait has an end"
done

# One that waits for nothing but such a timer, or reads from it, waits for somebody who arms it.
for case in armed other child; do
	has "timer-$case" why '^no findings'
	has "read-timer-$case" why '^no findings'
	"$THRUM" dump "timer-$case.thrum" | grep 'arming of' && wrong "$case: the timer is armed"
	"$THRUM" dump "read-timer-$case.thrum" | grep 'arming of' && wrong "$case: the timer is armed, and read"
done
# One that waits for more, too, may wait for a timer that was disarmed though it wasn't armed.
for case in zero first; do
	has "disarmed-$case" why \
		'Waits for .data of eventfd [0-9]+ or arming of timerfd [0-9]+, disarmed by (set_timer|disarmed\+0x)'
done
for case in fine cancels locked helper; do
	"$THRUM" dump "disarmed-$case.thrum" | grep 'arming of' && wrong "$case: the timer isn't missed"
done
for case in fine helper; do
	has "disarmed-$case" why '^no findings'
done

# One that is set by another clock comes decades too late. Perhaps one that is set for a century should.
for name in timer read-timer; do
	has "$name-clock" why \
		'expiry of timerfd [0-9]+, [0-9]+ s too late, by another clock, set by (arm_far|run_steps|timer\+0x)'
	! "$THRUM" dump "$name-far.thrum" | grep 'too late' || wrong "$name-far: nobody knows that it is too late"
done

# Those that wait for what comes in the turns of a timer wait for somebody who arms it again.
for case in fine slow socket early; do
	"$THRUM" dump "rearm-$case.thrum" | grep 'arming of' && wrong "rearm $case: the timer isn't missed"
done
has rearm-fine why '^no findings'

# A hang-up of which epoll, or poll, tells for ever is told once.
for name in hang_up hang_up-poll; do
	(($("$THRUM" dump "$name.thrum" | wc -l) < 5000)) || wrong "$name: all turns of a spin are recorded"
	for case in late drains; do
		has "$name-$case" why '^no findings'
	done
	has "$name-late" dump 'resolve .*hang-up of socket'
done

has hang_up-soon why '^no findings'

# poll() doesn't know of a line that a stream has read already.
for case in part late plain; do
	has "lines-$case" why '^no findings|^no tasks'
done
exit "$failed"
