#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Files that are locks, and FIFOs that are opened.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

# runs NAME: as `same`, without the lock that a run before has left.
runs() {
	rm -f index.lock
	"$THRUM" record -o "$1.thrum" -- "$programs/lock_file" "$1" >"$1.out" 2>"$1.err" </dev/null
}

for case in killed late; do
	runs "$case"
	has "$case" why 'lock file index.lock, made by killed process [0-9]* \(collector\), started by'
	has "$case" why '^never resolved \(likely\): .removal of lock file'
done
runs own
has own why 'removal of lock file index.lock, made by this process.*never resolves'

# Somebody removes the lock, or it is none.
for case in slow handed again breaks flag log fifo; do
	runs "$case"
	grep -q '^done' "$case.out" || wrong "$case hangs: $(cat "$case.err")"
	[[ ! -e $case.thrum ]] || has "$case" why '^no findings'
done
has fifo dump 'wait .*open FIFO pipe to read'
has fifo dump 'resolve .*open FIFO pipe to read'
exit "$failed"
