#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Threads that lock files, in programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

same deadlock "$programs/files" deadlock
has deadlock why '^deadlock \(certain\)'
has deadlock why 'Holds .file lock (first|second)'
same kept "$programs/files" kept
has kept why 'Ends, but still holds .file lock first'
same again "$programs/files" again
has again why '^deadlock \(certain\)'
has again why 'Waits for .file lock first'

same fine "$programs/files" fine
has fine why '^no findings'
has fine dump '#1 files  *lock  .*file lock first'
# The lock may have gone to another process.
same child "$programs/files" child
has child dump ' unlock  .*file lock first'
has child why '^no findings'
exit "$failed"
