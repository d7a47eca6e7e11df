#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Programs that hang in GLib's locks, in what they do once and in handlers of a cancellable, and that know
# nothing of thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"
[[ -x $programs/glib_locks ]] || {
	echo "skipped: GLib is missing"
	exit 77
}

certain='again before reader early upgrade itself once both cancelled disconnected reset'
told[forgotten]='^never resolved \(likely\): .* ends without releasing .once (first|glib_locks\+0x)'
for case in $certain forgotten; do
	[[ $case == forgotten ]] || told[$case]='^deadlock \(certain\)'
	begin "$case" "$programs/glib_locks" "$case"
	soon "fine-$case" "$programs/glib_locks" "$case" fine
done
soon fine-handed "$programs/glib_locks" handed
all_same
wait 2>/dev/null
all_told

for case in again before; do
	has "$case" why 'Waits for .mutex (mutex|glib_locks\+0x)'
done
has reader why 'Holds .rwlock 0x.*(run_reader|glib_locks\+0x)'
has reader why 'writer: Waits for .rwlock 0x.*(write_table|glib_locks\+0x)'
has early why 'Holds .rwlock 0x.*(run_early|glib_locks\+0x)'
has early why 'writer: Waits for .rwlock 0x.*(write_table|glib_locks\+0x)'
has upgrade why 'glib_locks: Waits for .rwlock 0x.*(run_upgrade|glib_locks\+0x)'
for case in itself both; do
	has "$case" why 'Holds .once (first|glib_locks\+0x)'
done
has both why 'Holds .once (second|glib_locks\+0x)'
has once why 'Waits for .once (global|glib_locks\+0x)'
has cancelled why 'Waits for .cancellable (cancellable|0x|glib_locks\+0x)'
has disconnected why 'Waits for .mutex'
has disconnected why 'other: Waits for .cancellable'
has reset why 'Waits for .cancellable'
for case in $certain forgotten handed; do
	has "fine-$case" why '^no findings'
done
exit "$failed"
