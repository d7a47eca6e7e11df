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
soon stream "$programs/limits" stream kill
soon alone "$programs/limits" alone kill
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
for how in prctl syscall all twice trap strict strict_syscall exec stream; do
	has "$how" why "$limited"
	has "$how" info 'ending +stopped by seccomp'
done
# The first wait is before the filter, the others are after it.
has prctl dump 'wait.*mutex'
has few info 'ending +exited with status 5'
for how in few vfork child; do
	has "$how" info 'ending +exited'
	"$THRUM" why "$how.thrum" | grep -q seccomp && wrong "$how: it didn't end the recording"
done

# Limits of memory and files, which the program sets itself, before and after the recording began.
for early in '' early; do
	soon "as$early" "$programs/limits_memory" as 400000000 $early
	soon "lock$early" "$programs/limits_memory" lock 8388608 $early
	soon "fsize$early" "$programs/limits_memory" fsize 8192 $early
	soon "nofile$early" "$programs/limits_memory" nofile 10 $early
done
all_same
for name in as asearly lock lockearly fsizeearly nofileearly; do
	has "$name" dump 'wait.*mutex'
done
grep -q 'recorded nothing: a limit, or a full disk' fsize.said || wrong "fsize: $(cat fsize.said)"
grep -q 'recorded nothing: ' nofile.said || wrong "nofile: $(cat nofile.said)"

# The same limits set by a shell.
limit() {
	(
		ulimit -v "$1"
		exec "$programs/limits_memory" fsize 100000000
	)
}
limit 400000 >plain.out
(
	ulimit -v 400000
	exec "$THRUM" record -o shell.thrum -- "$programs/limits_memory" fsize 100000000
) >thrum.out 2>thrum.err
cmp plain.out thrum.out || wrong "in a shell: $(cat thrum.err)"
has shell dump 'wait.*mutex'

exit "$failed"
