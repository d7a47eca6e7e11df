#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Descriptors that nobody watches any more though data comes, in programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

# leaves NAME PATTERN PROGRAM...: there a thread waits for an answer for ever, and thrum names the removal.
leaves() {
	told[$1]="Waits for .unread data of socket [0-9]*( while others go on)?, ${2}[^+]"
	begin "$1" "${@:3}"
}

# keeps NAME: all is read. Where the other end asks for that after a while, or many turns of a timer or
# naps of a thread come before, a busy machine may make that so long that it is told until then.
keeps() {
	local name=$1
	has "$name" why '^no findings'
	[[ $name == fine-asked || $name == fine-throttled || $name == fine-polled ]] ||
		! "$THRUM" dump "$name.thrum" | grep -E 'unread data|far unread' || wrong "$name: all is read"
}

# These hang.
for case in pair door ticking beside asked; do
	leaves "$case" 'unwatched since epoll_ctl in watch, called in [a-z_]*' "$programs/removed" "$case"
done
told[throttled]='Waits for .data so far unread of socket [0-9]*, unwatched since epoll_ctl in (watch|throttle)[^+]'
begin throttled "$programs/removed" throttled
told[refuses-all]='Waits for .queued connections of socket [0-9]*, unwatched since epoll_ctl in refuse_more'
begin refuses-all "$programs/refuses" broken
if [[ -x $programs/glib_removed ]]; then
	leaves glib-fd 'left by the removed source on_question' "$programs/glib_removed" fd
	leaves glib-socket 'left by the removed source on_packet' "$programs/glib_removed" socket
	leaves glib-stream 'not read again after callback on_bytes' "$programs/glib_removed" stream
	leaves glib-channel 'left by the removed source on_line' "$programs/glib_removed" channel
fi
if [[ -x $programs/event_removed ]]; then
	leaves event 'left by the removed event on_question' "$programs/event_removed"
	for case in buffer held; do
		leaves "event-$case" 'left since bufferevent_disable in pause_reading' \
			"$programs/event_removed" "$case"
	done
	relayed='while others go on, left since bufferevent_disable in relay'
	told[relay]="Waits for .unread data of socket [0-9]* $relayed"
	begin relay "$programs/event_relay"
	leaves event-never 'not read since bufferevent_setcb in serve' "$programs/event_removed" never
	limits=$programs/event_limits
	leaves limits-timeout 'not read since the time-out told to on_state' "$limits" timeout
	leaves limits-mute 'left by the removed event on_message' "$limits" mute
	leaves limits-full \
		'left in a full buffer by callback on_message, high watermark set in limit_input( in main)?' \
		"$limits" full
	left='left in a full buffer by callback on_m'
	told[limits-beside]="Waits for .unread data of socket [0-9]* while others go on, $left"
	begin limits-beside "$limits" beside
	refused='queued connections of socket [0-9]*, left since evconnlistener_disable in refuse_more'
	for case in refuses refuses-unix; do
		told[$case]="Waits for .${refused}[^+]"
	done
	begin refuses "$programs/event_refuses"
	begin refuses-unix "$programs/event_refuses" unix
fi
[[ ! -x $programs/uv_removed ]] || leaves uv 'left by the removed event on_readable' "$programs/uv_removed"
for case in pair door ticking beside throttled asked handed paused resting child doubled polled; do
	soon "fine-$case" "$programs/removed" "$case" fine
done
for way in fine late handed taken; do
	soon "refuses-all-$way" "$programs/refuses" "$way"
done
if [[ -x $programs/glib_removed ]]; then
	for case in fd channel socket stream paused; do
		soon "fine-glib-$case" "$programs/glib_removed" "$case" fine
	done
fi
if [[ -x $programs/event_removed ]]; then
	soon limits-slow-fine "$programs/event_limits" slow fine
	for case in timeout full beside; do
		for way in fine late; do
			soon "limits-$case-$way" "$programs/event_limits" "$case" "$way"
		done
	done
	for way in fine slow; do
		soon "relay-$way" "$programs/event_relay" "$way"
	done
	soon fine-event "$programs/event_removed" fine
	soon fine-event-buffer "$programs/event_removed" buffer fine
	soon fine-event-held "$programs/event_removed" held fine
	soon fine-event-never "$programs/event_removed" never fine
	for case in fine late; do
		soon "refuses-$case" "$programs/event_refuses" "$case"
		soon "refuses-unix-$case" "$programs/event_refuses" unix "$case"
	done
fi
[[ ! -x $programs/uv_removed ]] || soon fine-uv "$programs/uv_removed" fine
all_same
wait
all_told
# There a function jumped to the last one that it calls, so it is no longer on the stack.
has beside why '^never resolved \(possible\)'
removed='unwatched since epoll_ctl in watch, called in unwatch[^+]'
for case in pair door ticking beside; do
	has "$case" why "unread data of socket [0-9]*( while others go on)?, $removed"
done
for case in pair door ticking beside throttled asked handed paused resting child doubled polled; do
	keeps "fine-$case"
done
for way in fine slow; do
	[[ -x $programs/event_relay ]] || break
	has "relay-$way" why '^no findings'
	"$THRUM" dump "relay-$way.thrum" | grep 'others go on' && wrong "$way: who reads slowly holds up the sender"
done
for way in fine late handed taken; do
	has "refuses-all-$way" why '^no findings'
	"$THRUM" dump "refuses-all-$way.thrum" | grep 'queued conn' && wrong "$way: all are accepted"
done
if [[ -x $programs/uv_removed ]]; then
	keeps fine-uv
fi
if [[ -x $programs/glib_removed ]]; then
	for case in fd channel socket stream paused; do
		keeps "fine-glib-$case"
	done
fi
if [[ -x $programs/event_removed ]]; then
	keeps limits-slow-fine
	for case in timeout full beside; do
		for way in fine late; do
			keeps "limits-$case-$way"
		done
	done
	for case in fine-event fine-event-buffer fine-event-held fine-event-never; do
		keeps "$case"
	done
	for case in refuses refuses-unix; do
		for way in fine late; do
			has "$case-$way" why '^no findings'
			"$THRUM" dump "$case-$way.thrum" | grep 'queued conn' && wrong "$case-$way: all are accepted"
		done
	done
fi
exit "$failed"
