#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# libuv in programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"
[[ -x $programs/uv ]] || {
	echo "skipped: libuv is missing"
	exit 77
}

same uv "$programs/uv"
# libuv, loaded for a module alone, and unloaded with it.
same reload "$programs/reload" "$programs/reload_module.so"
has reload dump 'label +timer (reload_tick|reload_module)'
# Two copies of a library: each module calls its own.
same copies "$programs/copies" "$programs/copy1.so" "$programs/copy2.so"
[[ $(sort -u same/copies/thrum.out) == $'copy 1\ncopy 2' ]] || wrong "copies: $(cat same/copies/thrum.out)"
for label in 'file stat /' 'file open /no/such/file' 'connect 127.0.0.1:[0-9]+' 'write 5 bytes' shutdown \
	'spawn sh' 'getaddrinfo 127.0.0.1' random 'timer (ticked|uv\+0x)' 'listen (connected_to|uv\+0x)' \
	'read (peer_read|uv\+0x)' 'work (send_wake|uv\+0x)' 'async (woken|uv\+0x)'; do
	has uv dump "label +$label"
done
has uv dump 'span-begin +uv_fs_stat'
has uv dump 'fail .*open /no/such/file.*: ENOENT'
# A timer that repeats is due again, until it is stopped.
has uv dump 'timer (ticked|uv\+0x).* due +in 1 ms'
has uv dump 'timer (ticked|uv\+0x).* due +never'
[[ $("$THRUM" dump uv.thrum | grep -cE 'due +in 1 ms') == 4 ]] || wrong 'a timer repeats without being due'
has uv dump 'log +exit status 3'
has uv dump 'work .* ready .*async'
has uv dump 'suspend +wait for work'
# Each handle is one task, and each process ends once.
"$THRUM" dump uv.thrum | grep 'create .*uv\.def' && wrong 'a handle has two tasks'
text=$("$THRUM" dump uv.thrum)
[[ $(grep -cE 'resolve .*spawn sh' <<<"$text") == $(grep -cE 'label +spawn sh' <<<"$text") ]] ||
	wrong 'a process ends more than once'
"$THRUM" why uv.thrum >why.out 2>&1 || wrong "a healthy program: $(cat why.out)"

# Streams that nobody reads any more, and others whose reading begins again.
told[stopped]='unread data of socket [0-9]*, reading stopped by .* never resolves'
told[inner]='unread data of socket [0-9]*, reading stopped by hold_back.* never resolves'
soon stopped "$programs/uv_stop" hang
for case in inner timer work user late reset; do
	soon "$case" "$programs/uv_stop" "$case"
done
told[own-stopped]='write [0-9]* bytes: Waits for .unread data of .*, reading stopped by (take|uv_stop_tcp\+0x)'
soon own-stopped "$programs/uv_stop_tcp" hang
soon own-timer "$programs/uv_stop_tcp" timer
# A stream that is stopped while a write is under way, and others go on.
told[relay]='unread data of socket [0-9]* while others go on, reading stopped by (relay|uv_relay\+0x)'
soon relay "$programs/uv_relay" hang
for case in fine timer thread; do
	soon "relay-$case" "$programs/uv_relay" "$case"
done
# So too where the others have requests of their own.
told[jobs]='unread data of socket [0-9]* while others go on, reading stopped by (on_question|uv_jobs\+0x)'
soon jobs "$programs/uv_jobs" hang
for case in fine slow later; do
	soon "jobs-$case" "$programs/uv_jobs" "$case"
done
missing='data so far unread of socket [0-9]*, reading stopped by (on_question|uv_pauses\+0x)'
told[asked]="read (on_answer|uv_pauses\+0x)[^:]*: Waits for .$missing"
soon asked "$programs/uv_pauses" hang
for case in ticks timer fine; do
	soon "asked-$case" "$programs/uv_pauses" "$case"
done
told[refused]='queued connections of socket [0-9]*, not accepted by the callback (on_client|uv_accept\+0x)'
soon refused "$programs/uv_accept" hang
for case in end timer thread user; do
	soon "accept-$case" "$programs/uv_accept" "$case"
done
all_same
has stopped why 'hold_back'
has stopped why '(give|uv_stop\+0x).*Waits for .unread data of socket'
for case in own-timer asked-ticks asked-timer asked-fine; do
	has "$case" why '^no findings'
done
for case in fine slow later; do
	has "jobs-$case" why '^no findings'
	"$THRUM" dump "jobs-$case.thrum" | grep 'while others go on' && wrong "jobs-$case: it is read later"
done
for case in fine timer thread; do
	has "relay-$case" why '^no findings'
	"$THRUM" dump "relay-$case.thrum" | grep 'while others go on' && wrong "relay-$case: it is read later"
done
for case in timer work user late; do
	has "$case" why '^no findings'
	"$THRUM" dump "$case.thrum" | grep 'unread data' && wrong "$case: it is read later"
done
"$THRUM" dump reset.thrum | grep 'unread data' && wrong 'a closed stream counts as stopped'

# A listener whose callback doesn't accept a connection. Later something may.
has refused why 'read from socket [0-9]*: Waits for .queued connections of socket'
for case in end timer thread user; do
	has "accept-$case" why '^no findings'
	"$THRUM" dump "accept-$case.thrum" | grep 'queued connections' && wrong "$case: it is accepted later"
done

# An accepted stream that nobody reads, and a socket for datagrams that receives no more. Later something may.
told[unread-stream]='unread data of socket [0-9]*, not read since uv_accept in (on_client|uv_unread\+0x)'
told[unread-packet]='unread data of socket [0-9]*, receiving stopped by (hold_back|uv_unread\+0x)'
for sort in stream packet; do
	soon "unread-$sort" "$programs/uv_unread" "$sort"
	for case in fine thread user; do
		soon "$sort-$case" "$programs/uv_unread" "$sort" "$case"
	done
done
all_same
for sort in stream packet; do
	has "unread-$sort" why '(read|receive) from socket [0-9]*: Waits for .unread data of socket'
	for case in fine thread user; do
		has "$sort-$case" why '^no findings'
		"$THRUM" dump "$sort-$case.thrum" | grep 'unread data' && wrong "$sort-$case: it is read later"
	done
done

# A client has ended its request and waits for the answer. One that may still come isn't missed.
missing='answer by socket [0-9]+, whose end was read by (on_request|uv_ended\+0x[0-9a-f]+)'
told[deaf]="^never resolved .*$missing"
soon deaf "$programs/uv_ended" deaf
for case in blocked halves fine timer work thread user; do
	soon "ended-$case" "$programs/uv_ended" "$case"
done
all_same
has deaf why "thread (ask|uv_ended\+0x[0-9a-f]+): Waits for .$missing"
for case in blocked halves fine timer work thread user; do
	"$THRUM" dump "ended-$case.thrum" | grep 'answer by' && wrong "$case: an answer is missed"
	[[ $case == blocked || $case == halves ]] || has "ended-$case" why '^no findings'
done

# A loop that has nothing left to do, while a thread needs it.
beat='(on_beat|uv_left\+0x[0-9a-f]+)'
told[left-stopped]='socket [0-9]+ to [0-9]+, reading stopped by (on_bytes|uv_left\+0x)'
told[left-timer]="timer $beat, stopped before it came by (on_answer|uv_left\+0x)"
told[left-again]="Waits for .timer $beat, without a repeat when started again in $beat"
told[left-ticking]="Waits for .stopped timer $beat, without a repeat when started again in $beat"
for case in stopped timer again ticking; do
	soon "left-$case" "$programs/uv_left" "$case"
	soon "fine-left-$case" "$programs/uv_left" "$case" fine
done
soon left-counting "$programs/uv_left" counting
all_same
for case in stopped timer again ticking; do
	has "fine-left-$case" why '^no findings'
done
has left-ticking why '^never resolved \(possible\)'
has left-counting why '^no findings'

# The callback of works that were cancelled doesn't count them. Later something may.
place='(take_back|uv_works\+0x[0-9a-f]+)'
missing="outcome of works with callback (work_is_done|uv_works\+0x[0-9a-f]+), [0-9]+ cancelled in $place"
for case in loop asked; do
	told[works-$case]="^never resolved \(possible\): .$missing"
	soon "works-$case" "$programs/uv_works" "$case"
	soon "works-$case-fine" "$programs/uv_works" "$case" fine
done
for case in later each; do
	soon "works-$case" "$programs/uv_works" "$case"
done
all_same
has works-loop why "uv_works: Waits for .$missing"
has works-asked why "(ask|uv_works\+0x[0-9a-f]+|read from socket)[^:]*: Waits for .$missing"
for case in loop-fine asked-fine later each; do
	[[ $case == each ]] || has "works-$case" why '^no findings'
	"$THRUM" dump "works-$case.thrum" | grep 'outcome of' && wrong "works-$case: all are counted, or none"
done

# All threads of the pool open a FIFO, until somebody comes.
told[pool]='^never resolved \(likely\): .free thread of libuv.s pool: all 4 open FIFOs'
soon pool "$programs/uv_fifos"
soon fine-pool "$programs/uv_fifos" fine
all_same
has pool why 'stat \.[^:]*: Waits for .free thread of libuv.s pool'
has fine-pool why '^no findings'
has fine-pool dump 'resolve .*free thread of libuv'

# Several sends make one run, and the loop waits in vain for another send.
told[one]='Waits for .eventfd [0-9]+ \(3 sends, 1 run\) of async (on_jobs|uv_async\+0x)'
told[several]='eventfd [0-9]+ \(2 handles; the latest has 3 sends, 1 run\) of async (on_jobs|uv_async\+0x)'
told[left]='^never resolved \(possible\)'
# A thread asks a loop that has ended.
left='run of a loop, as uv_run has returned in (run_out|uv_async\+0x)'
told[over]="async (on_question|uv_async\+0x[0-9a-f]+): Waits for .$left"
left='run of a loop, as uv_run has returned in (run_loop|uv_async\+0x)'
told[once]="async (on_order|uv_async\+0x[0-9a-f]+): Waits for .$left"
for case in one several all late left closed over once anew steps; do
	soon "$case" "$programs/uv_async" "$case"
done
all_same
all_told
for case in all late closed anew steps; do
	has "$case" why '^no findings'
done
# Once it is sent, a name with numbers is over.
"$THRUM" dump late.thrum | grep -oE 'label +eventfd [0-9]+.*' | tail -1 | grep 'send' &&
	wrong "late: old numbers in a name: $("$THRUM" dump late.thrum | grep 'label.*eventfd')"

# All handles of one place but one were closed: that keeps the loop. libuv's idle pool doesn't.
open='of 1 open handle async (on_progress|uv_async\+0x[0-9a-f]+)'
has left why "eventfd [0-9]+.* $open, 5 like it closed by (close_progress|uv_async\+0x)"
"$THRUM" why left.thrum | grep 'deadlock\|libuv.so[^ ]* *: Waits' &&
	wrong 'left: an idle thread of the pool is part of a finding'
"$THRUM" dump steps.thrum | grep 'run of a loop' && wrong 'steps: a loop that runs is told to be left'

# Only a timer goes on: that is told, but is no finding. A server may be idle.
for case in client server; do
	soon "ticks-$case" "$programs/uv_ticks" "$case"
done
soon answers "$programs/uv_answers" fine
soon missing "$programs/uv_answers" missing
soon news "$programs/uv_answers" news
all_same
for case in client server; do
	has "ticks-$case" why '^no findings'
	has "ticks-$case" why 'ran nothing but .*timer (tick|uv_ticks\+0x[0-9a-f]+) for the last second or longer'
	has "ticks-$case" why '^ +[0-9. ]+  #[0-9]+ work '
done

# A thread gets no answer from a loop of the program: the request that ended last for it is told, unless the
# thread waits for news.
has answers why '^no findings'
has missing why '^never resolved \(possible\)'
has missing why 'open /missing, then (on_open|uv_answers\+0x[0-9a-f]+): Fails, and begins nothing; .ENOENT'
has missing why 'thread (ask|uv_answers\+0x[0-9a-f]+): Waits for'
has news why '^no findings'

# Nobody reads a child's output, so that it never exits. Later something may.
unread='data so far unread of socket [0-9]+, not read since uv_spawn in (start_child|uv_spawned\+0x[0-9a-f]+)'
told[spawned-hang]="^never resolved \(possible\).*$unread"
for case in hang early timer thread; do
	soon "spawned-$case" "$programs/uv_spawned" "$case"
done
all_same
has spawned-hang why "spawn head: Waits for .$unread"
for case in early timer thread; do
	has "spawned-$case" why '^no findings'
	"$THRUM" dump "spawned-$case.thrum" | grep 'unread of' && wrong "spawned-$case: it is read later"
done

# Nothing of libuv without its adapter.
"$THRUM" record -o less.thrum --without=uv -- "$programs/uv" >/dev/null 2>&1
"$THRUM" dump less.thrum | grep -q 'timer' && wrong "--without=uv records libuv"
exit "$failed"
