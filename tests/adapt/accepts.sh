#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Threads that accept connections, in programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

# These hang.
told[closed]='accept from socket [0-9]*: Waits for .wake-up of accept from socket [0-9]*, closed by stop_listening'
told[queued]='(connect to its peer|read from socket [0-9]*): Waits for .server'
told[connected]='read from socket [0-9]*: Waits for .server'
for case in hook shell; do
	told[$case]='process [0-9]*[^:]*: Waits for .accept from socket [0-9]* for process [0-9]*'
done
for case in closed queued connected hook shell; do
	soon "$case" "$programs/accepts" "$case"
	soon "fine-$case" "$programs/accepts" "$case" fine
done
all_same

all_told
has queued why 'server: Waits for .(read from )?socket'
has connected why 'server: Waits for .(read from )?socket'
# A hook asks the very thread that waits for it.
for case in hook shell; do
	has "$case" why '^deadlock'
	has "$case" why '\[.*accepts\.c:[0-9]* (run_hook|hooks)'
done

for case in closed queued connected hook shell; do
	has "fine-$case" why '^no findings'
done
exit "$failed"
