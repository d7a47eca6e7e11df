#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Callbacks of GLib's default context that run the loop of another one, or within that of another callback, or
# that wait for a thread whose own loop needs a source of the default context. They know nothing of thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"
[[ -x $programs/glib_cover ]] || {
	echo "skipped: GLib is missing"
	exit 77
}

# These hang.
place='(wait_for_all|main|glib_cover\+0x[0-9a-f]*)'
for case in task thread; do
	told[$case]="Waits for .source for the main loop of $place, while one waits for that of $place"
	begin "$case" "$programs/glib_cover" "$case"
	soon "fine-$case" "$programs/glib_cover" "$case" fine
done
for case in later timed; do
	soon "fine-$case" "$programs/glib_cover" "$case"
done
told[nested]='timeout (on_more|glib_nested\+0x)[^ ]*: Waits for .main loop, run by '
begin nested "$programs/glib_nested"
soon fine-nested "$programs/glib_nested" fine
told[elsewhere]='^deadlock'
begin elsewhere "$programs/glib_elsewhere"
for case in fine helper free; do
	soon "$case-elsewhere" "$programs/glib_elsewhere" "$case"
done
all_same
wait 2>/dev/null

for case in task thread later timed; do
	has "fine-$case" why '^no findings'
	"$THRUM" dump "fine-$case.thrum" | grep 'source for the main loop' && wrong "$case: the loop is ended"
done
all_told
has nested why 'timeout (on_first|glib_nested\+0x)[^ ]*: Waits for .main loop, run by .*; so it hangs too'
has fine-nested why '^no findings'
has elsewhere why ', attached to the default main context'
has elsewhere why 'watch (on_answer|glib_elsewhere\+0x)[^ ]*: Needs the thread '
has elsewhere why 'timeout (on_refresh|glib_elsewhere\+0x)[^ ]*: Waits for .updates'
for case in fine helper free; do
	has "$case-elsewhere" why '^no findings'
done
exit "$failed"
