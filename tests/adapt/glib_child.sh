#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Programs that wait by GIO for children which wait for them, and that know nothing of thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"
[[ -x $programs/glib_child ]] || {
	echo "skipped: GLib is missing"
	exit 77
}

for case in wait check; do
	told[$case]='^never resolved \(likely\): .reading end of pipe [0-9]+ in this process'
done
for case in full input open leak; do
	told[$case]='^deadlock \(certain\)'
done
for case in wait check slow full input open leak asleep; do
	begin "$case" "$programs/glib_child" "$case"
done
for case in wait check full input open leak; do
	soon "fine-$case" "$programs/glib_child" "$case" fine
done
for case in late helper later; do
	soon "$case" "$programs/glib_child" "$case"
done
all_same
wait 2>/dev/null
all_told

for case in wait check; do
	has "$case" why "process [0-9]+ \(head\), started by (start|glib_child\+0x).*: Waits for .reading end"
done
place='\[.*(main|run_[a-z]*|glib_child\+0x)'
has full why "end of a child: Waits for .process [0-9]+ \(head\), started by .*$place"
has full why 'process [0-9]+ \(head\).*: Waits for .reading end of pipe [0-9]+ in this process'
has input why 'process [0-9]+ \(cat\).*: Waits for .writing end of pipe [0-9]+ in this process'
has open why "data of pipe [0-9]+: Waits for .writing end of pipe [0-9]+ in this process.*$place"
has leak why "data of pipe [0-9]+: Waits for .process [0-9]+ \(cat\).*$place"
for case in fine-{wait,check,full,input,open,leak} late slow asleep helper later; do
	has "$case" why '^no findings'
done
exit "$failed"
