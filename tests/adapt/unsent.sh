#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Writes that fall short, and whose rest nobody sends, in programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

# leaves NAME PLACE: a thread waits for the rest for ever, and thrum names the write that fell short.
leaves() {
	has "$1" why "Waits for .unsent rest for socket [0-9]*; nobody waits for room since $2[^+]"
}
# The first ones hang until their alarms.
for case in part line messages; do
	begin "$case" "$programs/unsent" "$case"
done
[[ -x $programs/event_unsent ]] && begin event "$programs/event_unsent"
for case in part line messages log stream later; do
	soon "fine-$case" "$programs/unsent" "$case" fine
done
for case in event later; do
	[[ ! -x $programs/event_unsent ]] || soon "fine-$case-event" "$programs/event_unsent" "$case" fine
done
all_same
wait
leaves part send_rest
leaves line send_rest
leaves messages answer_all

for case in part line messages log stream later; do
	has "fine-$case" why '^no findings'
	"$THRUM" dump "fine-$case.thrum" | grep 'unsent rest' && wrong "fine-$case: all is sent, or not needed"
done
if [[ -x $programs/event_unsent ]]; then
	has event why 'Waits for .unsent rest for socket [0-9]*, not added again: event on_writable'
	for case in event later; do
		has "fine-$case-event" why '^no findings'
		"$THRUM" dump "fine-$case-event.thrum" | grep 'unsent rest' && wrong "fine-$case-event: all is sent"
	done
fi
exit "$failed"
