#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Signals that a relative sent before a program waited for them.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

same lost "$programs/paused" lost
has lost why '^never resolved \(possible\): .SIGUSR1 that came before the wait, from process [0-9]* \(helper\)'

# Nothing is wrong, or another signal may come: again after the wait was told of; by another sender.
for case in again idle held others; do
	same "$case" "$programs/paused" "$case"
	has "$case" why '^no findings'
done
exit "$failed"
