#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Threads and forked children that all wait for each other.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

# hangs NAME PATTERN: it hangs, and thrum tells why.
hangs() {
	hangs_all relatives "$@"
}
hangs half 'read of process [0-9]* at [a-z_]*[^:]*: Waits for .other end of socket [0-9]* in this process'
hangs lock 'Waits for .release of the file.s lock for process [0-9]* \(relatives\)'
hangs slots 'other end of socket [0-9]* in this process[^:]*: Waits for .slots[^ ]*/relatives'
hangs ring 'read of process [0-9]* at [a-z_]*[^:]*: Waits for .process [0-9]* \(parser\)'
has ring why 'process [0-9]* \(checker\)[^:]*: Waits for .read of process [0-9]* at (get|filter)'
hangs broker 'Waits for .process [0-9]* \(stock\)'
hangs session 'read of process [0-9]* at serve_sessions[^:]*: Waits for .other end of socket [0-9]* in this process'
hangs pool 'process [0-9]* \((relatives|worker)\).*: Waits for .*process [0-9]* \((relatives|worker)\)'
has pool why "process [0-9]*( .worker.)?, killed by SIGKILL"
hangs parser 'Waits for .data of socket [0-9]*, read last by (take_requests|relatives\+0x[0-9a-f]*).'
hangs feeder 'write of process [0-9]* at double_pieces[^:]*: Waits for .reading end of pipe [0-9]* in this process'
has feeder why 'write to pipe [0-9]*[^:]*: Waits for .process [0-9]* \(doubler\).* feed\]'
for case in half lock slots ring broker session pool parser feeder; do
	has "$case" why '^deadlock \(certain\)'
done
hangs handler 'reading end of pipe [0-9]* in this process. never resolves'
hangs limit 'EMFILE: all 24 are open\); 1[0-9] made by limit'

# Nothing is wrong: another thread sends later, or others only seem to wait.
for case in half lock slots handler limit late turns ring broker session expiry pool parser feeder gone; do
	same "fine-$case" "$programs/relatives" "$case" fine
	has "fine-$case" why '^no findings'
done
# None of the short writes has waited.
if "$THRUM" dump fine-handler.thrum | grep -qE 'wait .*pipe'; then
	wrong "a short write to a pipe counts as a wait"
fi
# A server that waits for a session gives it up in time.
if "$THRUM" dump fine-expiry.thrum | grep -q 'other end of socket'; then
	wrong "a read with a time limit counts as one without"
fi
exit "$failed"
