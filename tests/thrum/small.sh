#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Small rings that many threads share, killed: the tasks that hang are known, with their labels and
# waits, though their beginnings are overwritten and idle tasks without labels crowd the table.
set -u
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
failed=0

wrong() {
	echo "$*"
	failed=1
}

for size in 256K 1M; do
	for threads in 4 16; do
		for idle in 0 1000 5000; do
			case="$size, $threads threads, $idle idle tasks"
			# If other lanes own all regions just then, a crowded table has no cell for the
			# task; that is rare.
			for try in 1 2 3; do
				[[ $try == 1 || $idle != 0 ]] || break
				# The shell says that the program was killed.
				{
					THRUM_TRACE=$here/ring.thrum THRUM_SIZE=$size \
						"$BUILD/tests/thrum/programs/crowd" $threads $idle
				} 2>/dev/null
				"$THRUM" tasks --format=tsv ring.thrum 2>/dev/null >tasks.tsv
				reply=$(awk -F '\t' '$10 == "lost reply" && $8 == "pending" { print $1, $2 }' tasks.tsv)
				[[ ! $reply ]] || break
			done
			[[ $reply ]] || {
				wrong "$case: the hanging task is unknown"
				continue
			}
			request=${reply#* }
			grep -qP "^$request\t.*\tpending\t\trequest\t" tasks.tsv ||
				wrong "$case: the task that waits is unknown"
			"$THRUM" dump --format=tsv ring.thrum 2>/dev/null |
				grep -qP "\twait\t$request\t${reply% *}\t" || wrong "$case: the wait is unknown"
			"$THRUM" why ring.thrum 2>/dev/null >said
			grep -q '^Events before .* are overwritten' said || wrong "$case: why keeps quiet: $(<said)"
			[[ $idle -lt 5000 ]] || grep -q 'no room for up to' said || wrong "$case: $(<said)"
		done
	done
done
exit $failed
