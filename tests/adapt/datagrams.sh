#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Questions over UDP to a thread, or to another process, of which one has no answer.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

cases='hang apart fork lines relay'
for case in $cases; do
	begin "$case" "$programs/datagrams" "$case"
done
# shellcheck disable=SC2086
kill_at_rest $cases
same fine "$programs/datagrams" fine
same wrong "$programs/datagrams" wrong
place='(serve|datagrams\+0x[0-9a-f]+)\]'
for case in hang apart fork; do
	has "$case" why "Runs once without a signal for .receive from socket [0-9]+.*$place"
done
# Not each message has an answer.
has relay why '^no findings'
"$THRUM" why lines.thrum | grep 'without a signal' && wrong 'lines: it need not answer'
has fine why '^no findings'
exit "$failed"
