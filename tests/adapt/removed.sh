#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Descriptors that nobody watches any more though data comes, in programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

# leaves NAME PATTERN PROGRAM ARGUMENTS...: a thread waits for an answer for ever, and thrum names the removal.
leaves() {
	local name=$1 pattern=$2
	shift 2
	"$THRUM" record -o "$name.thrum" --size=64M -- "$@" 2>/dev/null # until its alarm
	has "$name" why "Waits for .unread data of socket [0-9]*, ${pattern}[^+]"
}

# keeps NAME PROGRAM ARGUMENTS...: all is read.
keeps() {
	local name=$1
	shift
	same "$name" "$@"
	has "$name" why '^no findings'
	"$THRUM" dump "$name.thrum" | grep 'unread data' && wrong "$name: all is read"
}

for case in pair door ticking; do
	leaves "$case" 'unwatched since epoll_ctl in watch' "$programs/removed" "$case"
done
for case in pair door ticking handed paused resting child doubled; do
	keeps "fine-$case" "$programs/removed" "$case" fine
done
if [[ -x $programs/glib_removed ]]; then
	leaves glib-fd 'left by the removed source on_question' "$programs/glib_removed" fd
	leaves glib-channel 'left by the removed source on_line' "$programs/glib_removed" channel
	for case in fd channel paused; do
		keeps "fine-glib-$case" "$programs/glib_removed" "$case" fine
	done
fi
if [[ -x $programs/event_removed ]]; then
	leaves event 'left by the removed event on_question' "$programs/event_removed"
	keeps fine-event "$programs/event_removed" fine
	leaves event-buffer 'left since bufferevent_disable in pause_reading' "$programs/event_removed" buffer
	keeps fine-event-buffer "$programs/event_removed" buffer fine
fi
exit "$failed"
