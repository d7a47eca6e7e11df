#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Connections between relatives: both read first, or one is left open by a process that never used it.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

# hangs NAME PATTERN: it hangs, and thrum tells why.
hangs() {
	hangs_all peers "$@"
}
hangs greet 'process [0-9]* \((primary|replica)\)[^:]*: Waits for .read of process [0-9]* at get'
has greet why '^deadlock'
hangs kept 'other end of socket [0-9]* in process [0-9]* \(server\), started by start_as'
hangs left 'other end of socket [0-9]* in process [0-9]* \(watch\), started by start_as'
has left why '^never resolved .*1 more hangs'
for case in used handed parsed; do
	hangs "$case" '^no findings'
done

for case in greet kept left used handed parsed; do
	same "fine-$case" "$programs/peers" "$case" fine
	has "fine-$case" why '^no findings'
done
exit "$failed"
