#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Threads that accept connections, in programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

same closed "$programs/accepts" closed
has closed why 'accept from socket [0-9]*: Waits for .wake-up of accept from socket [0-9]*, closed by stop_listening'
same queued "$programs/accepts" queued
has queued why 'connect to its peer: Waits for .server'
has queued why 'server: Waits for .read from socket'

for case in closed queued; do
	same "fine-$case" "$programs/accepts" "$case" fine
	has "fine-$case" why '^no findings'
done
exit "$failed"
