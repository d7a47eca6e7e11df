#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Threads that lock files, in programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

# These hang.
told[deadlock]='^deadlock \(certain\)'
told[kept]='Ends, but still holds .file lock first'
told[again]='^deadlock \(certain\)'
for case in deadlock kept again; do
	soon "$case" "$programs/files" "$case"
done
all_same
all_told
has deadlock why 'Holds .file lock (first|second)'
has again why 'Waits for .file lock first'

same fine "$programs/files" fine
has fine why '^no findings'
has fine dump '#1 files  *lock  .*file lock first'
# The lock may have gone to another process.
same child "$programs/files" child
has child dump ' unlock  .*file lock first'
has child why '^no findings'
exit "$failed"
