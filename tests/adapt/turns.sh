#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Threads that wait for another one's turn when the program is killed, and those whose turn never comes.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

for case in poll timer notice handler child ring; do
	told[$case]='^no findings'
	told[never-$case]='^(never resolved|lost wake-up|waits for the outside)'
	begin "$case" "$programs/turns" "$case"
	begin "never-$case" "$programs/turns" "$case" never
done
wait
all_told
has poll dump 'suspend +wait for work for a time: poll in wait_for_turn'
has timer dump 'suspend +wait for work for a time: poll in wait_for_turn'
exit "$failed"
