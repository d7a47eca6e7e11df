#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Pipes whose both ends one program has, and that nothing outside of it writes to.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

same early "$programs/inside" early
has early why '^lost wake-up \(possible\)'
has early why 'condition is_ready: Signal lost'
# A handler might write to the pipe.
for case in handler later; do
	same "$case" "$programs/inside" "$case"
	has "$case" why '^no findings'
done
same fine "$programs/inside" fine
has fine why '^no findings'
exit "$failed"
