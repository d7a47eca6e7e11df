#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Signals that a program misses: a relative sent them before the wait, or another thread took them.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

same lost "$programs/paused" lost
has lost why '^never resolved \(possible\): .SIGUSR1 that came before the wait, from process [0-9]* \(helper\)'

# Nothing is wrong, or another signal may come: again after the wait was told of; by another sender.
same stolen "$programs/paused" stolen
has stolen why 'SIGUSR1, which another thread took by the handler on_signal'

for case in again idle held others kept; do
	same "$case" "$programs/paused" "$case"
	has "$case" why '^no findings'
done
exit "$failed"
