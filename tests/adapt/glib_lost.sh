#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Events that loops of GLib never see: a quit before the run, data of a source in a context that no loop runs,
# the end of a child whose output nobody reads before. The program knows nothing of thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"
[[ -x $programs/glib_lost ]] || {
	echo "skipped: GLib is missing"
	exit 77
}

told[quit]='Waits for .(gone )?source for the main loop of (ask|ask_all|glib_lost\+0x)[^,]*, quit before it ran by '
told[unrun]='Waits for .gone source, whose loop has returned, attached by (subscribe|ask_for_details|glib_lost\+0x)'
told[unread]='Waits for .data so far unread of pipe [0-9]*, awaited by process [0-9]* \(glib_lost\), started by '
for case in quit unrun unread; do
	begin "$case" "$programs/glib_lost" "$case"
	soon "fine-$case" "$programs/glib_lost" "$case" fine
done
all_same
wait 2>/dev/null
all_told
for case in quit unrun unread; do
	has "fine-$case" why '^no findings'
done
exit "$failed"
