#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Programs whose pools of GLib's wait for themselves, and that know nothing of thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"
[[ -x $programs/glib_pool ]] || {
	echo "skipped: GLib is missing"
	exit 77
}

# These hang.
for case in parts queue; do
	told[$case]='job [^ ]*: Needs .pool. or 1 more; all of them are blocked'
done
told[free]='timeout (free_pool|glib_pool[^:]*)[^:]*: Waits for .pool (hand_over|glib_pool)'

for case in parts queue free gate timer; do
	begin "$case" "$programs/glib_pool" "$case"
done
for case in parts queue free; do
	soon "fine-$case" "$programs/glib_pool" "$case" fine
done
soon order "$programs/glib_pool" order
all_same
wait 2>/dev/null
all_told

for case in parts queue; do
	has "$case" why '^never resolved \(likely\): .job (work(_by_queue)?|glib_pool\+0x)'
	has "fine-$case" why '^no findings'
done
# The main thread waits for the same condition: that is no finding of its own.
has parts dump 'glib_pool +wait +#[0-9]+ condition'
(($("$THRUM" why parts.thrum | grep -c '^[a-z].*(.*): ') == 1)) ||
	wrong "parts: not one finding: $("$THRUM" why parts.thrum)"
has free why '^deadlock \((certain|likely|possible)\): .*pool (hand_over|glib_pool)'
has fine-free why '^no findings'
has order dump 'cancel +#[0-9]+ job (print|glib_pool)'
has order why '^no findings'
"$THRUM" why gate.thrum | grep 'Needs .pool' && wrong "gate: the pool waits for the main thread"
"$THRUM" why timer.thrum | grep -E 'likely|certain' && wrong "timer: the pool waits for a timer"
exit "$failed"
