#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Signals that a program misses: a relative sent them before the wait, or another thread took them.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

for case in lost stolen again idle held others kept; do
	soon "$case" "$programs/paused" "$case"
done
all_same

has lost why '^never resolved \(possible\): .SIGUSR1 that came before the wait, from process [0-9]* \(helper\)'

# Nothing is wrong, or another signal may come: again after the wait was told of; by another sender.
has stolen why 'SIGUSR1, which another thread took by the handler on_signal'

for case in again idle held others kept; do
	# A single thread that waits for a moment isn't recorded.
	[[ $case == held && ! -e held.thrum ]] && continue
	has "$case" why '^no findings'
done
exit "$failed"
