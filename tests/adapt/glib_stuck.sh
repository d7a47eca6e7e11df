#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Programs that hang in GLib's locks, queues and loops, and know nothing of thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"
[[ -x $programs/glib_stuck ]] || {
	echo "skipped: GLib is missing"
	exit 77
}

# These hang.
ended='which has ended, attached by'
place='(main|run_[a-z]*|glib_stuck\+0x)'
removed='removed by (stop_other|glib_stuck\+0x)'
told[twice]='^deadlock \(certain\): .idle (take_twice|glib_stuck\+0x)[^ ]* waits for itself'
told[both]='idle (take_both|glib_stuck\+0x).*: Waits for .mutex (second|0x)'
told[producer]='producer: Ends; nobody is left to serve .queue made by (run_producer|main|glib_stuck\+0x)'
told[consumer]='The only one that serves .queue made by (run_consumer|main|glib_stuck\+0x)'
told[early]='source for the main loop of [^ ]*, quit before it ran by (run_early|main|glib_stuck\+0x)'
told[wrong]='source for the main loop of [^ ]*, while the loop around it was quit by (quit|glib_stuck\+0x)'
told[ticks]='source for the main loop of (on_tick|glib_stuck\+0x)'
told[removed]="export: Waits for .gone source (finish_job|glib_stuck\+0x)[^ ]*, $removed"
told[steps]="export: Waits for .gone source (do_step|glib_stuck\+0x)[^ ]*, $ended $place"
told[started]="export: Waits for .gone source (on_step|glib_stuck\+0x)[^ ]*, $ended (start_step|glib_stuck)"
told[orders]="Waits for .gone source (tell_done|glib_stuck\+0x)[^ ]*, $ended (take_order|glib_stuck)"
told[quick]="Waits for .gone source (return_quickly|glib_stuck\+0x)[^ ]*, $ended (start_quick|glib_stuck)"
told[unasked]='^deadlock \(likely\): .(worker|client). is in a cycle of waits with .(worker|client)'
told[unrun]="idle (tell_done|glib_stuck\+0x).*: Waits for .run of a loop of the main context made by $place"
told[default]='idle (tell_done|glib_stuck\+0x).*: Waits for .run of the default main context'

cases='both twice producer consumer early wrong ticks removed steps started orders quick unrun default unasked'
# These wait until their alarms, but they are healthy.
healthy='acting evicting idle signalled counted limited heard'
for case in $cases $healthy; do
	begin "$case" "$programs/glib_stuck" "$case"
done
for case in $cases late waiting iterated; do
	[[ $case == unasked ]] || soon "fine-$case" "$programs/glib_stuck" "$case" fine
done
all_same
wait 2>/dev/null
all_told

has both why '^deadlock \(certain\)'
has both why 'Holds .mutex (first|0x)'
has both why 'Holds .mutex (second|0x)'
has consumer why '^deadlock \(likely\)'
for case in removed steps started orders quick; do
	has "$case" why '^never resolved \(possible\)'
done
for case in $cases late waiting iterated; do
	[[ $case == unasked ]] || has "fine-$case" why '^no findings'
done
# A busy machine may end one before its recording has begun.
for case in $healthy; do
	[[ ! -e $case.thrum ]] || has "$case" why '^no findings'
done
exit "$failed"
