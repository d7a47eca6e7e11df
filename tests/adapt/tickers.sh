#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Processes that wait for each other, while other threads of theirs only nap.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

hangs_all tickers heart '(read|other end) of .*Waits for .other end of socket [0-9]* in this process'
hangs_all tickers naps 'Waits for .process [0-9]* \((front|store)\)'
hangs_all tickers progress 'Waits for .process [0-9]* \(tickers\), while other threads nap'
hangs_all tickers asks 'Waits for .other end of socket [0-9]* in this process'
for case in heart naps progress asks; do
	has "$case" why '^deadlock \(possible\)'
done

# A thread that naps helps in the end: it writes, or closes an end.
for case in heart naps progress asks reads pings first feeder; do
	soon "fine-$case" "$programs/tickers" "$case" fine
done
all_same
for case in heart naps progress asks reads pings first feeder; do
	has "fine-$case" why '^no findings'
done
# Where it has written before, or has read the question, or nobody has written, nothing is told meanwhile.
for case in pings reads first; do
	if "$THRUM" dump "fine-$case.thrum" "fine-$case.thrum".[0-9]* | grep -q 'while other threads nap'; then
		wrong "$case: a thread that writes counts as one that doesn't"
	fi
done
exit "$failed"
