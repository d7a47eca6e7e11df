#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Programs that limit themselves run as without thrum, and the recording tells where it had to end.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

limited='limited its system calls \(seccomp\)'

# A filter that kills, also in all threads, by several filters, and in a child.
for how in prctl syscall all twice; do
	soon "$how" "$programs/limits" "$how" kill
done
soon trap "$programs/limits" all trap
soon strict "$programs/limits" strict
soon strict_syscall "$programs/limits" strict-syscall
soon child "$programs/limits" child kill x
soon exec "$programs/limits" exec kill /bin/echo hello
soon vfork "$programs/limits" vfork kill /bin/echo hello
# One that lets calls fail, or kills only for what nobody needs: the recording goes on, if nothing replaces a
# call of the program.
soon few "$programs/limits" few kill
soon failing "$programs/limits" all 1
soon missing "$programs/limits" prctl 38
all_same
grep -q '^limited$' same/prctl/plain.out || {
	echo "skipped: no filter of system calls"
	exit 77
}
for how in prctl syscall all twice trap strict strict_syscall exec; do
	has "$how" why "$limited"
	has "$how" info 'ending +stopped by seccomp'
done
# The first wait is before the filter, the others are after it.
has prctl dump 'wait.*mutex'
has few info 'ending +exited with status 5'
for how in few vfork child; do
	"$THRUM" why "$how.thrum" | grep -q seccomp && wrong "$how: it didn't end the recording"
done

exit "$failed"
