#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Semaphores of semop() and of sem_init(), which several processes share.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

# A set that a program leaves behind is the kernel's for ever.
remove() {
	[[ ! -e set ]] || ipcrm -s "$(cat set)" 2>/dev/null
	rm -f set
}
trap 'remove; rm -rf "$here"' EXIT

# hangs NAME PATTERN...
hangs() {
	local name=$1 pattern
	told[$name]=$2
	begin "$name" "$programs/sets" "$name"
	wait 2>/dev/null
	! grep -q '^done' "$name.out" || wrong "$name doesn't hang"
	remove
	for pattern in "${@:2}"; do
		has "$name" why "$pattern"
	done
}
hangs ended 'child process [0-9]* \(collector\)[^:]*: Ends, but still holds .semaphore 1 of set [0-9]*'
hangs first 'child process [0-9]* \(collector\)[^:]*: Ends, but still holds .semaphore 0 of set'
hangs inverse 'child process [0-9]* \(collector\)[^:]*: Ends, but still holds .semaphore 0 of set'
hangs pool '^ 1 .*child process [0-9]* \(collector\)[^:]*: Ends, but still holds' \
	'^ 2 .*child process [0-9]* \(collector\)[^:]*: Ends, but still holds'
hangs circle ' sets[^:]*: Waits for|checker[^:]*: Waits for' \
	'^deadlock \(certain\)' 'process [0-9]* \([a-z]*\)[^:]*: Holds .semaphore [01] of set'
hangs threads '^deadlock \(certain\)'
hangs self '^deadlock \(certain\)' 'sets: Holds .semaphore 0 of set'
hangs hook '^deadlock \(certain\)' 'process [0-9]* \(hook\)'
(($("$THRUM" why circle.thrum 2>&1 | grep -c '^deadlock') == 1)) || wrong 'both processes tell of the circle'

# hangs_in_memory NAME PATTERN: any of the processes tells it.
hangs_in_memory() {
	local pattern=$2 file
	told[memory-$1]=$2
	begin "memory-$1" "$programs/sets" "memory-$1"
	wait 2>/dev/null
	! grep -q '^done' "memory-$1.out" || wrong "memory-$1 doesn't hang"
	for file in "memory-$1.thrum"*; do
		"$THRUM" why "$file"
	done >answer 2>&1
	grep -qE -- "$pattern" answer || wrong "memory-$1 has no \"$pattern\": $(cat answer)"
}
hangs_in_memory ended \
	'process [0-9]* \(collector\)[^:]*: Ends, but still holds .shared semaphore .*sets.c:[0-9]* (take|ended)'
hangs_in_memory pool '^ 2 .*process [0-9]* \(collector\)[^:]*: Ends, but still holds .shared semaphore'
for case in circle threads self hook; do
	hangs_in_memory "$case" '^deadlock'
done

# Nothing is wrong.
for case in ended first inverse pool circle threads self hook places events reset passed \
	memory-ended memory-pool memory-circle memory-threads memory-self memory-hook memory-places \
	memory-events memory-reset memory-passed; do
	"$THRUM" record -o "fine-$case.thrum" --size=64M -- "$programs/sets" "$case" fine >out 2>err </dev/null
	[[ $(grep -v '^thrum: ' out) == "done" ]] || wrong "$case with fine: $(cat out err)"
	remove
	for file in "fine-$case.thrum"*; do
		[[ ! -e $file ]] || "$THRUM" why "$file" 2>&1 | grep -q '^no findings' ||
			wrong "$case with fine: $("$THRUM" why "$file" 2>&1)"
	done
done
has fine-events dump 'wait .*semaphore 0 of set'
same bad "$programs/sets" bad
[[ $(wc -l <same/bad/plain.err) == 3 ]] || wrong "the kernel refuses less: $(cat same/bad/plain.err)"
exit "$failed"
