#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Programs that are killed while they are idle, and know nothing of thrum.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

given='given-pipe given-set given-memory given-semaphore given-thread'
# Each is killed after a while.
for case in read poll read-told poll-told semaphore permits child $given; do
	begin "$case" "$programs/idle" "$case"
done
# Without a handler, nobody ends these.
for case in read read-told; do
	begin "never-$case" "$programs/idle" "$case" never
done
slots=
[[ ! -x $programs/uv_slots ]] || slots='busy shards spool'
for case in ${slots:+lost $slots}; do
	begin "$case" "$programs/uv_slots" "$case"
done
wait
for case in read poll read-told poll-told permits child $given $slots; do
	has "$case" why '^no findings'
done
# A program with a single thread is recorded only if others may share what it waits for.
[[ ! -e semaphore.thrum ]] || has semaphore why '^no findings'
has never-read why '^deadlock'
has never-read-told why 'Waits for .condition over'
[[ -z $slots ]] || has lost why 'Begins none like .write 4 bytes'
exit "$failed"
