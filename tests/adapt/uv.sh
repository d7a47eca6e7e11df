#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# libuv in programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2154
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
same stopped "$programs/uv_stop" hang
has stopped why 'unread data of socket [0-9]*, reading stopped by .* never resolves'
has stopped why 'hold_back'
has stopped why '(give|uv_stop\+0x).*Waits for .unread data of socket'
same inner "$programs/uv_stop" inner
has inner why 'unread data of socket [0-9]*, reading stopped by hold_back.* never resolves'
for case in timer work user late; do
	same "$case" "$programs/uv_stop" "$case"
	has "$case" why '^no findings'
	"$THRUM" dump "$case.thrum" | grep 'unread data' && wrong "$case: it is read later"
done
same reset "$programs/uv_stop" reset
"$THRUM" dump reset.thrum | grep 'unread data' && wrong 'a closed stream counts as stopped'

# A listener whose callback doesn't accept a connection. Later something may.
same refused "$programs/uv_accept" hang
has refused why 'queued connections of socket [0-9]*, not accepted by the callback (on_client|uv_accept\+0x)'
has refused why 'read from socket [0-9]*: Waits for .queued connections of socket'
for case in end timer thread user; do
	same "accept-$case" "$programs/uv_accept" "$case"
	has "accept-$case" why '^no findings'
	"$THRUM" dump "accept-$case.thrum" | grep 'queued connections' && wrong "$case: it is accepted later"
done

# A client has ended its request and waits for the answer. One that may still come isn't missed.
missing='answer by socket [0-9]+, whose end was read by (on_request|uv_ended\+0x[0-9a-f]+)'
same deaf "$programs/uv_ended" deaf
has deaf why "^never resolved .*$missing"
has deaf why "thread (ask|uv_ended\+0x[0-9a-f]+): Waits for .$missing"
for case in blocked halves fine timer work thread user; do
	same "ended-$case" "$programs/uv_ended" "$case"
	"$THRUM" dump "ended-$case.thrum" | grep 'answer by' && wrong "$case: an answer is missed"
	[[ $case == blocked || $case == halves ]] || has "ended-$case" why '^no findings'
done

# A loop that has nothing left to do, while a thread needs it.
for case in stopped timer again ticking; do
	same "left-$case" "$programs/uv_left" "$case"
	same "fine-left-$case" "$programs/uv_left" "$case" fine
	has "fine-left-$case" why '^no findings'
done
has left-stopped why 'socket [0-9]+ to [0-9]+, reading stopped by (on_bytes|uv_left\+0x)'
has left-timer why 'timer (on_beat|uv_left\+0x[0-9a-f]+), stopped before it came by (on_answer|uv_left\+0x)'
beat='(on_beat|uv_left\+0x[0-9a-f]+)'
has left-again why "Waits for .timer $beat, without a repeat when started again in $beat"
has left-ticking why '^never resolved \(possible\)'
has left-ticking why "Waits for .stopped timer $beat, without a repeat when started again in $beat"
same left-counting "$programs/uv_left" counting
has left-counting why '^no findings'

# All threads of the pool open a FIFO, until somebody comes.
same pool "$programs/uv_fifos"
has pool why '^never resolved \(likely\): .free thread of libuv.s pool: all 4 open FIFOs'
has pool why 'stat \.[^:]*: Waits for .free thread of libuv.s pool'
same fine-pool "$programs/uv_fifos" fine
has fine-pool why '^no findings'
has fine-pool dump 'resolve .*free thread of libuv'

# Several sends make one run, and the loop waits in vain for another send.
same one "$programs/uv_async" one
has one why 'Waits for .eventfd [0-9]+ \(3 sends, 1 run\) of async (on_jobs|uv_async\+0x)'
same several "$programs/uv_async" several
has several why 'eventfd [0-9]+ \(2 handles; the latest has 3 sends, 1 run\) of async (on_jobs|uv_async\+0x)'
same all "$programs/uv_async" all
has all why '^no findings'
same late "$programs/uv_async" late
has late why '^no findings'
# Once it is sent, a name with numbers is over.
"$THRUM" dump late.thrum | grep -oE 'label +eventfd [0-9]+.*' | tail -1 | grep 'send' &&
	wrong "late: old numbers in a name: $("$THRUM" dump late.thrum | grep 'label.*eventfd')"

# All handles of one place but one were closed: that keeps the loop. libuv's idle pool doesn't.
same left "$programs/uv_async" left
has left why '^never resolved \(possible\)'
open='of 1 open handle async (on_progress|uv_async\+0x[0-9a-f]+)'
has left why "eventfd [0-9]+.* $open, 5 like it closed by (close_progress|uv_async\+0x)"
"$THRUM" why left.thrum | grep 'deadlock\|libuv.so[^ ]* *: Waits' &&
	wrong 'left: an idle thread of the pool is part of a finding'
same closed "$programs/uv_async" closed
has closed why '^no findings'

# A thread asks a loop that has ended.
same over "$programs/uv_async" over
left='run of a loop, as uv_run has returned in (run_out|uv_async\+0x)'
has over why "async (on_question|uv_async\+0x[0-9a-f]+): Waits for .$left"
same once "$programs/uv_async" once
left='run of a loop, as uv_run has returned in (run_loop|uv_async\+0x)'
has once why "async (on_order|uv_async\+0x[0-9a-f]+): Waits for .$left"
same anew "$programs/uv_async" anew
has anew why '^no findings'
same steps "$programs/uv_async" steps
has steps why '^no findings'
"$THRUM" dump steps.thrum | grep 'run of a loop' && wrong 'steps: a loop that runs is told to be left'

# Only a timer goes on: that is told, but is no finding. A server may be idle.
for case in client server; do
	same "ticks-$case" "$programs/uv_ticks" "$case"
	has "ticks-$case" why '^no findings'
	has "ticks-$case" why 'ran nothing but .*timer (tick|uv_ticks\+0x[0-9a-f]+) for the last second or longer'
	has "ticks-$case" why '^ +[0-9. ]+  #[0-9]+ work '
done

# A thread gets no answer from a loop of the program: the request that ended last for it is told, unless the
# thread waits for news.
same answers "$programs/uv_answers" fine
has answers why '^no findings'
same missing "$programs/uv_answers" missing
has missing why '^never resolved \(possible\)'
has missing why 'open /missing, then (on_open|uv_answers\+0x[0-9a-f]+): Fails, and begins nothing; .ENOENT'
has missing why 'thread (ask|uv_answers\+0x[0-9a-f]+): Waits for'
same news "$programs/uv_answers" news
has news why '^no findings'

# Nothing of libuv without its adapter.
"$THRUM" record -o less.thrum --without=uv -- "$programs/uv" >/dev/null 2>&1
"$THRUM" dump less.thrum | grep -q 'timer' && wrong "--without=uv records libuv"
exit "$failed"
