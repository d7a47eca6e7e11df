#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# A program that knows nothing of thrum forks while a thread holds a lock, and the child waits for it.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

# These hang. Either process may tell it.
waits='Waits for .left locked by thread [0-9]* \(keeper\) at the fork: lock '
for case in mutex reader writer output own; do
	told[$case]="(process [0-9]* \((forked|keeper)\)|$case\.[0-9]*/forked)[^:]*: $waits"
	soon "$case" "$programs/forked" "$case"
	soon "fine-$case" "$programs/forked" "$case" fine
done
# It is no copy, so the thread may release it.
told[shared]='^no findings'
soon shared "$programs/forked" shared
all_same
all_told

for case in mutex reader writer output own; do
	[[ ! -e fine-$case.thrum ]] || has "fine-$case" why '^no findings'
done
# Where the thread took it.
for case in mutex reader writer output; do
	has "$case" why 'forked\.c:[0-9]* keep_lock'
done
exit "$failed"
