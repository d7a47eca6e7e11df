#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Mutexes that several processes share.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

ends='Ends, but still holds .mutex'
for case in end single-end; do
	told[$case]="child process [0-9]*.*: $ends"
done
told[sibling-end]="process [0-9]*.*started by start_holder.*: $ends"
# It tells how and where it ended itself, also to a sibling, and once it is gone.
for case in exit sibling-exit single-exit; do
	told[$case]="process [0-9]* \(holder\), ended with status 7 in give_up.*: $ends"
done
told[quick]="process [0-9]* \(holder\), ended with status 9 in give_up.*: $ends"
told[abort]="process [0-9]* \(holder\), aborted in give_up.*: $ends"
told[single-kill]="process [0-9]* \(holder\), killed by SIGKILL.*: $ends"
# These hang, too, but nobody is to blame.
for case in exit-late above above-early above-table; do
	told[$case]='^no findings'
done
for case in end keep often give single-end single sibling sibling-end sibling-keep orphan parent \
	exit quick abort sibling-exit exit-late single-exit single-kill above above-early above-table; do
	soon "$case" "$programs/shared" "$case"
done
all_same
all_told
has single why '^no findings'
has single dump 'process [0-9]* \(holder\),[^,]* unlock '
for case in sibling sibling-keep; do
	has "$case" why '^no findings'
done
has keep why '^no findings'
for case in keep often; do
	has "$case" dump 'process [0-9]* \(holder\),[^,]* lock '
done
# The parent's number in a lock that both share doesn't mean the child, though its notes have that number, too.
for case in above above-early above-table; do
	has "$case" why '^no findings'
	"$THRUM" dump "$case".thrum.* | grep -E '(waiter|shared) +lock ' && wrong "$case: the child has the lock"
done
has give why '^no findings'
has give dump 'process [0-9]* \(holder\),[^,]* unlock '
(($("$THRUM" dump give.thrum | grep -c 'create .*process') <= 2)) || wrong 'each thread tells of the holder'
# The number of its parent's thread, which has the mutex, was that of the child's own one.
has parent why '^no findings'
"$THRUM" dump parent.thrum.* 2>&1 | grep -E ' wait .*mutex' >/dev/null || wrong 'parent: the child does not wait'
! "$THRUM" dump parent.thrum.* 2>&1 | grep -E '#[0-9]+ shared +lock [^,]*$' ||
	wrong 'parent: the child seems to have the mutex'
# The recording is the child's, which outlives the program; nobody notes when it ends.
# shellcheck disable=SC2317 # `comes` calls it
orphan_has() {
	"$THRUM" dump orphan.thrum.* 2>&1 | grep -qE "$1"
}
for pattern in 'process [0-9]*.* lock ' 'resolve .*process [0-9]*'; do
	comes orphan_has "$pattern" ||
		wrong "orphan has no \"$pattern\": $("$THRUM" dump orphan.thrum.* 2>&1)"
done
exit "$failed"
