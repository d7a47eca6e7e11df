#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Queues of messages: of msgget() and of mq_open().
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

# A queue that a program leaves behind is the kernel's for ever.
remove() {
	local queue left=()
	[[ -e queue ]] || return
	mapfile -t left <queue
	rm queue
	for queue in "${left[@]}"; do
		if [[ $queue == /* ]]; then
			"$programs/queues" unlink "$queue"
		else
			ipcrm -q "$queue" 2>/dev/null
		fi
	done
}
trap 'rm -rf "$here"' EXIT

# runs NAME ARGUMENTS...
runs() {
	begin "$1" "$programs/queues" "${@:2}"
	wait 2>/dev/null
	remove
	if grep -q '^skipped' "$1.out"; then
		cat "$1.out"
		exit 77
	fi
}

# causes NAME: how many are told. The parent of a process that looks late may tell the same of it.
causes() {
	"$THRUM" why "$1.thrum" 2>/dev/null | grep -E '^(deadlock|never)' |
		sed -E 's/.*(by ended process [0-9]*).*/\1/' | sort -u | wc -l
}

# hangs PATTERN ARGUMENTS...: it hangs, and thrum names the cause, once.
hangs() {
	local name=${*:2}
	name=${name// /-}
	told[$name]=$1
	runs "$name" "${@:2}"
	! grep -q '^done' "$name.out" || wrong "$name doesn't hang"
	has "$name" why "$1"
	[[ $1 == '^no findings' ]] || (($(causes "$name") == 1)) || wrong "$name: $("$THRUM" why "$name.thrum")"
}
# both SORT
both() {
	local sort=$1 name case never='^never resolved \(likely\): ' ended='queue [^ ]* by ended process [0-9]*'
	for name in '' named; do
		hangs "$never.receipt from $ended \(logger\)" "$sort" $name room
		hangs "$never.(answer|message) in $ended \(server\)" "$sort" $name answer
		hangs "$never.answer in $ended \(server\)" "$sort" $name asked
	done
	hangs '^deadlock \(certain\)' "$sort" circle
	hangs '^deadlock \(certain\)' "$sort" full
	hangs "$never.message in $ended \(worker\)" "$sort" worker
	# Others may send.
	hangs '^no findings' "$sort" named idle
	has "$sort-named-idle" dump 'wait .*receive from queue'
	for case in room answer asked circle full worker idle; do
		for name in '' named; do
			runs "fine-$sort-$name-$case" "$sort" $name "$case" fine
			grep -q '^done' "fine-$sort-$name-$case.out" ||
				wrong "$sort $name $case with fine: $(cat "fine-$sort-$name-$case.out")"
			has "fine-$sort-$name-$case" why '^no findings'
		done
	done
}
for sort in msg mq; do
	(
		mkdir $sort
		cd $sort || exit 1
		both $sort
		exit "$failed"
	) &
done
for job in $(jobs -p); do
	wait "$job"
	status=$?
	((status == 0)) || failed=$status
done
exit "$failed"
