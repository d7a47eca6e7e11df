#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Answers that lie in a queue while nobody wakes the loop that should send them, in programs that know nothing of
# thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

for case in epoll poll; do
	told[$case]='“item unseen under mutex lock, put in put_answer[^”]*, after the loop looked in take_answers'
	begin "$case" "$programs/unseen" "$case"
done
for case in early again empty; do
	soon "fine-$case" "$programs/unseen" "$case"
done
all_same
wait
all_told
for case in early again empty; do
	has "fine-$case" why '^no findings'
	"$THRUM" dump "fine-$case.thrum" | grep 'item unseen' && wrong "fine-$case: all is seen"
done
exit "$failed"
