#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Programs that wait by GIO for children which wait for them, and that know nothing of thrum.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"
[[ -x $programs/glib_child ]] || {
	echo "skipped: GLib is missing"
	exit 77
}

for case in wait check slow; do
	begin "$case" "$programs/glib_child" "$case"
done
for case in wait check; do
	soon "fine-$case" "$programs/glib_child" "$case" fine
done
soon late "$programs/glib_child" late
all_same
wait 2>/dev/null

for case in wait check; do
	has "$case" why '^never resolved \(likely\): .reading end of pipe [0-9]+ in this process'
	has "$case" why "process [0-9]+ \(head\), started by (start|glib_child\+0x).*: Waits for .reading end"
done
for case in fine-wait fine-check late slow; do
	has "$case" why '^no findings'
done
exit "$failed"
