#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Descriptors that were told not to block, and that another process lets block, in programs that know nothing of
# thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

told[loop]='O_NONBLOCK of pipe [0-9]*, cleared elsewhere.*send_part'
begin loop "$programs/let_block" loop
for case in slow own plain kept; do
	soon "$case" "$programs/let_block" "$case"
done
all_same
wait
all_told
has loop why 'possible'
for case in slow own plain kept; do
	has "$case" why '^no findings'
	"$THRUM" dump "$case.thrum" | grep 'O_NONBLOCK' && wrong "$case: nobody is held up, or only by itself"
done
exit "$failed"
