#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Descriptors that nobody watches any more though data comes, in programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

# leaves NAME PATTERN: in the recording of that name, a thread waits for an answer for ever, and thrum names the
# removal.
leaves() {
	has "$1" why "Waits for .unread data of socket [0-9]*, ${2}[^+]"
}

# keeps NAME: all is read.
keeps() {
	local name=$1
	has "$name" why '^no findings'
	"$THRUM" dump "$name.thrum" | grep -E 'unread data|far unread' && wrong "$name: all is read"
}

# Each of these hangs until its alarm.
for case in pair door ticking throttled asked; do
	begin "$case" "$programs/removed" "$case"
done
begin refuses-all "$programs/refuses" broken
if [[ -x $programs/glib_removed ]]; then
	begin glib-fd "$programs/glib_removed" fd
	begin glib-channel "$programs/glib_removed" channel
fi
if [[ -x $programs/event_removed ]]; then
	begin event "$programs/event_removed"
	begin event-buffer "$programs/event_removed" buffer
	begin event-held "$programs/event_removed" held
	begin refuses "$programs/event_refuses"
	begin refuses-unix "$programs/event_refuses" unix
fi
for case in pair door ticking throttled asked handed paused resting child doubled; do
	soon "fine-$case" "$programs/removed" "$case" fine
done
for way in fine late handed taken; do
	soon "refuses-all-$way" "$programs/refuses" "$way"
done
if [[ -x $programs/glib_removed ]]; then
	for case in fd channel paused; do
		soon "fine-glib-$case" "$programs/glib_removed" "$case" fine
	done
fi
if [[ -x $programs/event_removed ]]; then
	soon fine-event "$programs/event_removed" fine
	soon fine-event-buffer "$programs/event_removed" buffer fine
	soon fine-event-held "$programs/event_removed" held fine
	for case in fine late; do
		soon "refuses-$case" "$programs/event_refuses" "$case"
		soon "refuses-unix-$case" "$programs/event_refuses" unix "$case"
	done
fi
all_same
wait
for case in pair door ticking asked; do
	leaves "$case" 'unwatched since epoll_ctl in watch, called in [a-z_]*[^+]'
done
# There a function jumped to the last one that it calls, so it is no longer on the stack.
for case in pair door ticking; do
	leaves "$case" 'unwatched since epoll_ctl in watch, called in unwatch'
done
has throttled why 'Waits for .data so far unread of socket [0-9]*, unwatched since epoll_ctl in (watch|throttle)[^+]'
for case in pair door ticking throttled asked handed paused resting child doubled; do
	keeps "fine-$case"
done
has refuses-all why 'Waits for .queued connections of socket [0-9]*, unwatched since epoll_ctl in refuse_more'
for way in fine late handed taken; do
	has "refuses-all-$way" why '^no findings'
	"$THRUM" dump "refuses-all-$way.thrum" | grep 'queued conn' && wrong "$way: all are accepted"
done
if [[ -x $programs/glib_removed ]]; then
	leaves glib-fd 'left by the removed source on_question'
	leaves glib-channel 'left by the removed source on_line'
	for case in fd channel paused; do
		keeps "fine-glib-$case"
	done
fi
if [[ -x $programs/event_removed ]]; then
	leaves event 'left by the removed event on_question'
	keeps fine-event
	leaves event-buffer 'left since bufferevent_disable in pause_reading'
	keeps fine-event-buffer
	leaves event-held 'left since bufferevent_disable in pause_reading'
	keeps fine-event-held
	refused='queued connections of socket [0-9]*, left since evconnlistener_disable in refuse_more'
	for case in refuses refuses-unix; do
		has "$case" why "Waits for .${refused}[^+]"
		for way in fine late; do
			has "$case-$way" why '^no findings'
			"$THRUM" dump "$case-$way.thrum" | grep 'queued conn' && wrong "$case-$way: all are accepted"
		done
	done
fi
exit "$failed"
