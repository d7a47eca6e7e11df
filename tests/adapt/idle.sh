#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Programs that are killed while they are idle, or hang, and know nothing of thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

# These hang.
told[never-read]='^deadlock'
told[never-call-silent]='^never resolved \(likely\)'
told[never-jobs]='^never resolved \(likely\)'
told[never-interrupted]='^never resolved'
told[never-read-told]='Waits for .condition over'
told[untold]='Ends, and leaves out where such as .* all others like it came there, 6 in all'
told[turn-short]='Leaves out once where the lock of .condition idle. is taken; 1[0-4] other such turns'

given='given-pipe given-set given-memory given-semaphore given-thread'
# These wait, and are healthy.
for case in read poll read-told poll-told permits child $given never-call-called never-call-raised turn-busy told \
	jobs interrupted; do
	told[$case]='^no findings'
done
told[several]='^never resolved'

# Each is killed after a while.
for case in read poll read-told poll-told semaphore permits child jobs interrupted $given; do
	begin "$case" "$programs/idle" "$case"
done
# Without a handler, nobody ends these. But the C library may call a function of the program, or a handler posted while
# its thread was at work.
for case in read read-told jobs interrupted call-called call-silent call-raised; do
	begin "never-$case" "$programs/idle" "$case" never
done
for case in told untold several; do
	begin "$case" "$programs/stages" "$case"
done
for case in short busy fine; do
	begin "turn-$case" "$programs/short_turn" "$case"
done
slots=
[[ ! -x $programs/uv_slots ]] || slots='busy shards spool'
for case in $slots; do
	told[$case]='^no findings'
done
# The cause is known only once the program has ended. Until then it waits.
[[ -z $slots ]] || rests[lost]=yes told[lost]='run_client:? [Ww]aits for .*read from socket'
for case in ${slots:+lost $slots}; do
	begin "$case" "$programs/uv_slots" "$case"
done
wait
asked=
[[ -z $slots ]] || asked='retried ship given taken'
for case in $asked; do
	told[$case]='^no findings'
done
[[ -z $asked ]] || {
	rests[refused]=yes rests[kept]=yes
	told[refused]='ask_queries:? [Ww]aits for .*semaphore'
	told[kept]='uv_asked:? [Ww]aits for .*condition'
}
for case in ${asked:+refused kept $asked}; do
	begin "$case" "$programs/uv_asked" "$case"
done
wait
all_told
for case in $slots $asked; do
	has "$case" why '^no findings'
done
# A program with a single thread is recorded only if others may share what it waits for.
[[ ! -e semaphore.thrum ]] || has semaphore why '^no findings'
# Where others end without coming there, too, that tells nothing.
"$THRUM" why several.thrum | grep 'leaves out' && wrong 'several: one is blamed for a short way'
has turn-short why 'other such turns came there .*(count_job|short_turn)'
[[ $("$THRUM" why turn-short.thrum | grep -c '^never resolved') == 1 ]] || wrong 'turn-short: several findings'
has turn-fine why '^no findings'
[[ -z $slots ]] || has lost why 'Begins none like .write 4 bytes'
[[ -z $asked ]] || {
	has refused why 'connect 127.0.0.1:1, .*: Fails, and begins nothing; .ECONNREFUSED'
	has kept why 'read on_page: Begins none like .write 1 bytes?'
}
exit "$failed"
