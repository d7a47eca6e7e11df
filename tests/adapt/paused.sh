#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Signals that a program misses: a relative sent them before the wait, or another thread took them.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

told[lost]='^never resolved \(possible\): .SIGUSR1 that came before the wait, from process [0-9]* \(helper\)'
told[stolen]='SIGUSR1, which another thread took by the handler on_signal'
for case in lost stolen again idle held others kept; do
	soon "$case" "$programs/paused" "$case"
done
all_same

# Nothing is wrong, or another signal may come: again after the wait was told of; by another sender.
for case in again idle held others kept; do
	# A single thread that waits for a moment isn't recorded.
	[[ $case == held && ! -e held.thrum ]] && continue
	has "$case" why '^no findings'
done

# A handler took the last child before the wait, or two signals became one before sigwait() took them.
told[reap]='^never resolved \(possible\): .SIGCHLD that came before the wait, as the last child was taken by on_child'
said='SIGUSR1 that came twice before it was taken, then from process [0-9]* \(reaped\)'
told[merge]="^never resolved \(possible\): .$said"
for case in reap merge; do
	soon "$case" "$programs/reaped" "$case"
	soon "fine-$case" "$programs/reaped" "$case" fine
done
all_same
all_told
for case in reap merge; do
	has "fine-$case" why '^no findings'
done
exit "$failed"
