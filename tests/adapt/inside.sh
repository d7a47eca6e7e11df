#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Pipes whose both ends one program has, and that nothing outside of it writes to.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

told[early]='^lost wake-up \(possible\)'
same early "$programs/inside" early
has early why "${told[early]}"
has early why 'condition is_ready: Signal lost'
# A handler might write to the pipe.
for case in handler later; do
	told[$case]='^no findings'
	same "$case" "$programs/inside" "$case"
	has "$case" why '^no findings'
done
same fine "$programs/inside" fine
has fine why '^no findings'

# Nobody writes to an eventfd any more.
for case in counted woken; do
	told[$case]='Waits for .eventfd [0-9]+ .6 taken at once.*(take|do_jobs)'
	same "$case" "$programs/counted" "$case"
	has "$case" why "${told[$case]}"
done
same fine-counted "$programs/counted" fine
has fine-counted why '^no findings'
# The kernel might, where it has such requests; status 77: it has not.
same kernel "$programs/counted" kernel
has kernel why '^no findings|^no tasks'
exit "$failed"
