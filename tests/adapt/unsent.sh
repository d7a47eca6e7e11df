#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Writes that fall short, and whose rest nobody sends, in programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

# leaves NAME PLACE PROGRAM...: there a thread waits for the rest for ever, and thrum names the write that fell short.
leaves() {
	told[$1]="Waits for .unsent rest for socket [0-9]*; nobody waits for room since $2[^+]"
	begin "$1" "${@:3}"
}
leaves part send_rest "$programs/unsent" part
leaves line send_rest "$programs/unsent" line
leaves messages answer_all "$programs/unsent" messages
if [[ -x $programs/event_unsent ]]; then
	told[event]='Waits for .unsent rest for socket [0-9]*, not added again: event on_writable'
	begin event "$programs/event_unsent"
fi
[[ -x $programs/uv_tried ]] && leaves uv send_all "$programs/uv_tried"
[[ -x $programs/uv_tried ]] && soon fine-uv "$programs/uv_tried" fine
for case in part line messages log stream later; do
	soon "fine-$case" "$programs/unsent" "$case" fine
done
for case in event later; do
	[[ ! -x $programs/event_unsent ]] || soon "fine-$case-event" "$programs/event_unsent" "$case" fine
done
all_same
wait
all_told
if [[ -x $programs/uv_tried ]]; then
	has fine-uv why '^no findings'
	"$THRUM" dump fine-uv.thrum | grep 'unsent rest' && wrong 'fine-uv: all is sent'
fi

for case in part line messages log stream later; do
	has "fine-$case" why '^no findings'
	"$THRUM" dump "fine-$case.thrum" | grep 'unsent rest' && wrong "fine-$case: all is sent, or not needed"
done
if [[ -x $programs/event_unsent ]]; then
	for case in event later; do
		has "fine-$case-event" why '^no findings'
		"$THRUM" dump "fine-$case-event.thrum" | grep 'unsent rest' && wrong "fine-$case-event: all is sent"
	done
fi
exit "$failed"
