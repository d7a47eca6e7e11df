#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# A server that takes the questions of two threads in one turn, and leaves out an answer.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

cases='udp-hang poll-hang epoll-apart udp-worker udp-third udp-passed epoll-passed'
for case in $cases; do
	begin "$case" "$programs/gathered" "${case%-*}" "${case#*-}"
done
# shellcheck disable=SC2086
kill_at_rest $cases
same fine "$programs/gathered" epoll fine
place='(serve|take|answer|gathered\+0x[0-9a-f]+)'
has udp-hang why "Runs once without a signal for .receive from socket [0-9]+.*$place"
for case in poll-hang epoll-apart; do
	has "$case" why "Runs once without a signal for .socket [0-9]+ to [0-9]+.*$place"
done
# Another one has the question, or needs no answer.
for case in udp-worker udp-third udp-passed epoll-passed; do
	"$THRUM" why "$case.thrum" | grep 'without a signal' && wrong "$case: it need not answer"
done
has fine why '^no findings'
exit "$failed"
