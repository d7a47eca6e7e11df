#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Descriptors that a thread closes twice, in programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

# Each of these hangs until its alarm.
# The helper may know by an atomic that the number is another's.
for case in timer eventfd; do
	told[$case]='^never resolved \(possible\)'
done
for case in timer eventfd lock semaphore pipe loop doubled unarmed; do
	begin "$case" "$programs/twice" "$case"
done
wait
all_told
for case in timer eventfd; do
	has "$case" why \
		"Waits for .+fd [0-9]+, whose number was closed by close_first, then by close_again"
done
for case in lock semaphore pipe loop doubled unarmed; do
	has "$case" dump 'condition forever'
	"$THRUM" dump "$case.thrum" | grep 'whose number' && wrong "$case: nothing is closed twice"
done
exit "$failed"
