#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Files that are locks, and FIFOs that are opened.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

# These hang. Each runs in a folder of its own, with a lock of its own.
for case in killed late; do
	told[$case]='lock file index.lock, made by killed process [0-9]* \(collector\), started by'
done
told[own]='removal of lock file index.lock, made by this process.*never resolves'
told[crossed]='^deadlock \(possible\): .* is in a cycle of waits'
for case in killed late own slow handed again breaks flag log fifo crossed met shared; do
	soon "$case" "$programs/lock_file" "$case"
done
all_same
all_told
for case in killed late; do
	has "$case" why '^never resolved \(likely\): .removal of lock file'
done

# Somebody removes the lock, or it is none.
for case in slow handed again breaks flag log fifo met shared; do
	grep -q '^done' "same/$case/thrum.out" || wrong "$case hangs: $(cat "same/$case/thrum.err")"
	[[ ! -e $case.thrum ]] || has "$case" why '^no findings'
done
has fifo dump 'wait .*open FIFO pipe to read'
has fifo dump 'resolve .*open FIFO pipe to read'
# Nobody else knows these two. A child may be told of others.
has crossed why 'Waits for .open own FIFO (request|reply) to write'
has shared dump 'wait .*open FIFO (request|reply) to write'
exit "$failed"
