#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Programs that hang in GLib's locks, queues and loops, and know nothing of thrum.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"
[[ -x $programs/glib_stuck ]] || {
	echo "skipped: GLib is missing"
	exit 77
}

cases='both twice producer consumer early wrong ticks removed steps started orders unrun default unasked'
# Each of these hangs until its alarm.
# Nor do these end before, but they are healthy.
healthy='acting idle signalled counted limited heard'
for case in $cases $healthy; do
	begin "$case" "$programs/glib_stuck" "$case"
done
for case in $cases late waiting iterated; do
	[[ $case == unasked ]] || soon "fine-$case" "$programs/glib_stuck" "$case" fine
done
all_same
wait 2>/dev/null

has both why '^deadlock \(certain\)'
has both why 'idle (take_both|glib_stuck\+0x).*: Waits for .mutex (second|0x)'
has both why 'Holds .mutex (first|0x)'
has both why 'Holds .mutex (second|0x)'
has twice why '^deadlock \(certain\): .idle (take_twice|glib_stuck\+0x)[^ ]* is in a cycle'
has producer why 'producer: Ends; nobody is left to serve .queue made by (run_producer|main|glib_stuck\+0x)'
has consumer why '^deadlock \(likely\)'
has consumer why 'The only one that serves .queue made by (run_consumer|main|glib_stuck\+0x)'
has early why 'source for the main loop of [^ ]*, quit before it ran by (run_early|main|glib_stuck\+0x)'
has wrong why 'source for the main loop of [^ ]*, while the loop around it was quit by (quit|glib_stuck\+0x)'
has ticks why 'source for the main loop of (on_tick|glib_stuck\+0x)'
ended='which has ended, attached by'
place='(main|run_[a-z]*|glib_stuck\+0x)'
removed='removed by (stop_other|glib_stuck\+0x)'
has removed why "export: Waits for .gone source (finish_job|glib_stuck\+0x)[^ ]*, $removed"
has steps why "export: Waits for .gone source (do_step|glib_stuck\+0x)[^ ]*, $ended $place"
has started why "export: Waits for .gone source (on_step|glib_stuck\+0x)[^ ]*, $ended (start_step|glib_stuck)"
has orders why "Waits for .gone source (tell_done|glib_stuck\+0x)[^ ]*, $ended (take_order|glib_stuck)"
for case in removed steps started orders; do
	has "$case" why '^never resolved \(possible\)'
done
has unasked why '^deadlock \(likely\): .(worker|client). is in a cycle of waits with .(worker|client)'
has unrun why "idle (tell_done|glib_stuck\+0x).*: Waits for .run of a loop of the main context made by $place"
has default why 'idle (tell_done|glib_stuck\+0x).*: Waits for .run of the default main context'
for case in $cases late waiting iterated; do
	[[ $case == unasked ]] || has "fine-$case" why '^no findings'
done
for case in $healthy; do
	has "$case" why '^no findings'
done
exit "$failed"
