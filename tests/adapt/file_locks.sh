#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Processes that wait for each other's locks of files.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

# These hang.
for case in hook anew whole; do
	told[$case]='Waits for .release of file lock lock in this process'
done
told[kept]='release of file lock lock in process [0-9]* \(background\), started by .*never resolves'
own='release of file lock (lock|second) in this process'
told[circle]="lock of process [0-9]* at (lock_file|circle)[^:]*: Waits for .$own"
for case in hook anew whole kept circle; do
	soon "$case" "$programs/file_locks" "$case"
	soon "fine-$case" "$programs/file_locks" "$case" fine
done
all_same
all_told

for case in hook anew whole; do
	has "$case" why '^deadlock \(certain\)'
done
has circle why '^deadlock \(certain\)'
# Either process may tell it.
has circle why 'process [0-9]* \((other|file_locks)\)[^:]*: Waits for .lock of process [0-9]* at (lock_file|circle)'

# The locks are given back after a while.
for case in hook anew whole kept circle; do
	has "fine-$case" why '^no findings'
done

# A child that goes on once its parent was killed doesn't hide that they waited for each other. With a sanitizer it
# may end so late that the run seems to end with it.
if [[ $SANITIZE == none ]]; then
	told[orders]='^deadlock \(certain\)'
	told[slow-orders]='^deadlock \(certain\)'
	soon orders "$programs/orders"
	soon slow-orders "$programs/orders" slow
	soon fine-orders "$programs/orders" fine
	all_same
	has orders why '^deadlock \(certain\)'
	has orders why 'release of the file.s lock|release of file lock'
	for ((i = 0; i < 100; i++)); do
		"$THRUM" info slow-orders.thrum.[0-9]* | grep -q '^ending .*exited' && break
		sleep 0.1
	done
	has slow-orders why '^deadlock \(certain\)'
	has fine-orders why '^no findings'
	[[ $("$THRUM" why orders.thrum 2>&1 | grep -c 'of the same run') == 1 ]] ||
		wrong 'the run is told of once'
fi
has fine-kept dump 'resolve .*lock lock$'
exit "$failed"
