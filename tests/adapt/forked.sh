#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# A program that knows nothing of thrum forks while a thread holds a lock, and the child waits for it.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

waits='Waits for .left locked by thread [0-9]* \(keeper\) at the fork: lock '
for case in mutex reader writer output own; do
	soon "$case" "$programs/forked" "$case"
	soon "fine-$case" "$programs/forked" "$case" fine
done
soon shared "$programs/forked" shared
all_same

for case in mutex reader writer output own; do
	has "$case" why "process [0-9]* \((forked|keeper)\)[^:]*: $waits"
	[[ ! -e fine-$case.thrum ]] || has "fine-$case" why '^no findings'
done
# Where the thread took it.
for case in mutex reader writer output; do
	has "$case" why 'forked\.c:[0-9]* keep_lock'
done
# It is no copy, so the thread may release it.
has shared why '^no findings'
exit "$failed"
