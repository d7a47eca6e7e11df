#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Calls that block, of programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

same blocking "$programs/blocking"
text=$("$THRUM" dump blocking.thrum)
# count TIMES PATTERN: so many lines have it.
count() {
	local found
	found=$(grep -c -- "$2" <<<"$text")
	((found == $1)) || wrong "$found times \"$2\" instead of $1: $text"
}
count 2 'label  *read from pipe [0-9]'
count 2 'label  *write to pipe [0-9]'
count 5 'label  *receive from socket [0-9]'
# A socket that was made to block only after it had been used.
count 1 'label  *socket [0-9]* to [0-9]*$'
count 1 'label  *accept from socket [0-9]'
count 1 'label  *lock locked'
count 1 'label  *file lock locked'
count 1 'label  *process [0-9]'
count 2 'label  *a child process'
count 3 'label  *sleep [0-9]*[.][0-9]* ms$'
count 1 'label  *sync locked'
count 0 'label .*from file'
count 0 'label  *look up'
# Also a call that is left as the thread is cancelled is over.
[[ $(grep -c ' suspend ' <<<"$text") == $(grep -c ' resume ' <<<"$text") ]] ||
	wrong "a wait that was left goes on: $text"
"$THRUM" why blocking.thrum >why.out 2>&1 || wrong "a healthy program: $(cat why.out)"

told[child]='^2 threads waited for a second or longer at the end:' # the other one in the child
told[poll]='^1 thread slept again and again at the end'
for case in write accept child poll; do
	soon "$case" "$programs/blocking" "$case"
done
soon unanswered "$programs/unanswered"
for case in fine deadlock gone full print; do
	soon "$case" "$programs/pipes" "$case"
done
soon child-pipes "$programs/pipes" child
soon sandbox "$programs/sandbox"
told[tokens-leak]='thread (build|tokens[+]0x).*: Ends, but still holds .tokens of pipe [0-9]* to [0-9]*'
for case in leak fine jobs; do
	soon "tokens-$case" "$programs/tokens" "$case"
done
all_same
all_told

# The finding names the call.
has write why 'write to pipe [0-9]*: No answer'
has write why 'thread wait_for_ever|thread blocking\+0x'
# A thread may wait for ever for connections.
has accept dump 'label  *accept from socket'
has accept why '^no findings'
has accept why 'waits for .*accept from socket [0-9]'
# So may any thread, for what may yet come. It is named all the same.
has child why '^no findings'
has child why '#1 .*waits for #[0-9]* process [0-9]*'
# One that sleeps between its looks waits for nothing, but the place is named.
has poll why '^no findings'
has poll why '#1 blocking slept [0-9]* times .*blocking'

# A single thread without a loop is recorded once it asks another machine.
has unanswered why 'connect to 127.0.0.1:[0-9]*: No answer for'
has unanswered why 'unanswered: Waits for .connect to 127.0.0.1'

# Pipes whose ends are both in the program.
"$THRUM" why fine.thrum >why.out 2>&1 || wrong "a healthy program: $(cat why.out)"
grep -q HAVE_LIBDW "$BUILD/build.ninja" && {
	"$THRUM" why --slow='thread work' fine.thrum >slow.out 2>&1
	grep -q 'waits for pipe # to # › thread feed › sleep' slow.out || wrong "--slow: $(cat slow.out)"
}
has deadlock why '^deadlock'
has deadlock why 'The only one that serves .pipe [0-9]* to [0-9]*'
has gone why 'Ends; nobody is left to serve .pipe [0-9]* to [0-9]*'
has full why 'Waits for .pipe [0-9]* to [0-9]*'
# A pipe whose bytes are tokens is a semaphore.
for case in fine jobs; do
	has "tokens-$case" why '^no findings'
done
"$THRUM" dump tokens-jobs.thrum | grep 'tokens of' && wrong 'jobs are no tokens'
# A child may have got an end.
has child-pipes dump 'pipe [0-9]* to [0-9]* *become '
has print dump 'signal .*pipe [0-9]* to [0-9]*, waiting: 1  in (feed|pipes\+0x)'
has print why '^no findings'
"$THRUM" why child-pipes.thrum >why.out 2>&1 || wrong "a pipe of others: $(cat why.out)"

"$THRUM" record -o none.thrum --without=block -- "$programs/blocking" >/dev/null 2>&1
"$THRUM" dump none.thrum | grep 'read from' && wrong '--without=block: a call that blocks'
exit "$failed"
