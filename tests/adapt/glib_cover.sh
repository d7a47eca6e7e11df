#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Callbacks of GLib's default context that run the loop of another one, and know nothing of thrum.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"
[[ -x $programs/glib_cover ]] || {
	echo "skipped: GLib is missing"
	exit 77
}

# Each of these hangs until its alarm.
for case in task thread; do
	begin "$case" "$programs/glib_cover" "$case"
	soon "fine-$case" "$programs/glib_cover" "$case" fine
done
for case in later timed; do
	soon "fine-$case" "$programs/glib_cover" "$case"
done
all_same
wait 2>/dev/null

place='(wait_for_all|main|glib_cover\+0x[0-9a-f]*)'
for case in task thread; do
	has "$case" why "Waits for .source for the main loop of $place, while one waits for that of $place"
done
for case in task thread later timed; do
	has "fine-$case" why '^no findings'
	"$THRUM" dump "fine-$case.thrum" | grep 'source for the main loop' && wrong "$case: the loop is ended"
done
exit "$failed"
