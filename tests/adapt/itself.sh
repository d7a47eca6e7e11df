#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# A thread that answers another one of its program over a connection, or by queues.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

for sort in tcp unix queue; do
	# Writes before anybody waited aren't known: so the asker may be unknown.
	told[$sort]='^(deadlock|never resolved) \(likely\)'
	# It may be full before it is accepted, and known.
	told[$sort-full]='(Waits for .socket [0-9]+ to [0-9]+|write to socket [0-9]+: No answer).*itself\.c:[0-9]+ fill'
	soon "$sort" "$programs/itself" "$sort"
	for case in fine child doubled; do
		[[ $sort-$case == queue-doubled ]] || soon "$sort-$case" "$programs/itself" "$sort" "$case"
	done
	[[ $sort == queue ]] || for case in full drained; do
		soon "$sort-$case" "$programs/itself" "$sort" "$case"
	done
done
soon queue-early "$programs/itself" queue early
all_same

for sort in tcp unix queue; do
	if grep -qs '^skipped' "same/$sort/thrum.out"; then
		cat "same/$sort/thrum.out"
		continue
	fi
	has "$sort" why "${told[$sort]}"
	has "$sort" why '(answer|thread itself\+.*): The only one that serves .*\[.*itself\.c:[0-9]* (put|answer)'
	has "$sort-fine" why '^no findings'
	# Others have the ends, too, as far as is known.
	has "$sort-child" why '^no findings'
	[[ $sort != queue ]] || has queue-early why '^no findings'
	[[ $sort == queue ]] || ! "$THRUM" why "$sort-doubled.thrum" | grep 'only one that serves' ||
		wrong "$sort-doubled: its other writes are unseen"
done
for sort in tcp unix; do
	has "$sort-full" why "${told[$sort-full]}"
	has "$sort-drained" why '^no findings'
done
exit "$failed"
