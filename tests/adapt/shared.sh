#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Mutexes that several processes share.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

for case in end keep often give single-end single sibling sibling-end sibling-keep orphan; do
	soon "$case" "$programs/shared" "$case"
done
all_same
has end why 'child process [0-9]*.*: Ends, but still holds .mutex'
has single-end why 'child process [0-9]*.*: Ends, but still holds .mutex'
has single why '^no findings'
has single dump 'process [0-9]* \(holder\),[^,]* unlock '
has sibling-end why 'process [0-9]*.*: Ends, but still holds .mutex.* start_holder'
for case in sibling sibling-keep; do
	has "$case" why '^no findings'
done
has keep why '^no findings'
for case in keep often; do
	has "$case" dump 'process [0-9]* \(holder\),[^,]* lock '
done
has give why '^no findings'
has give dump 'process [0-9]* \(holder\),[^,]* unlock '
(($("$THRUM" dump give.thrum | grep -c 'create .*process') <= 2)) || wrong 'each thread tells of the holder'
# The recording is the child's, which outlives the program; nobody notes when it ends.
sleep 2
for pattern in 'process [0-9]* +lock ' 'resolve .*process [0-9]*$'; do
	"$THRUM" dump orphan.thrum.* 2>&1 | grep -qE "$pattern" ||
		wrong "orphan has no \"$pattern\": $("$THRUM" dump orphan.thrum.* 2>&1)"
done
exit "$failed"
