#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Threads of a program that reports to libthrum itself, but doesn't tell for what they wait.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

same wrong "$programs/beside" wrong
has wrong why '^never resolved'
has wrong why 'thread (flush_pages|send_blocks).*: Waits for .condition (changed|beside\+0x)'
# The thread signals, not its task, which ends at once.
has wrong dump 'thread grant_credit +signal .*, waiting: 2|thread beside\+0x[0-9a-f]+ +signal .*, waiting: 2'
same right "$programs/beside" right
has right why '^no findings'

same locks "$programs/beside" locks
has locks why '^deadlock \((certain|likely)\)'

# A thread that tells of a wait is left alone from then on; others still know that it hears a signal.
same told "$programs/beside" told
"$THRUM" dump told.thrum >told.out
grep -q 'wait .* jobs' told.out || wrong "its own wait is gone: $(cat told.out)"
! grep -q 'wait .* condition' told.out || wrong "a wait is told twice: $(cat told.out)"
[[ $(grep -c 'signal .* condition .*waiting: 1' told.out) == 2 ]] ||
	wrong "signals that were heard: $(grep signal told.out)"

# All of it is recorded on demand, or nothing.
"$THRUM" record -o all.thrum --only=pthread -- "$programs/beside" told >/dev/null
has all dump 'wait .* condition'
"$THRUM" record -o none.thrum --without=pthread -- "$programs/beside" right >/dev/null
"$THRUM" dump none.thrum | grep -q 'condition' && wrong 'recorded, though it is not wanted'
exit "$failed"
