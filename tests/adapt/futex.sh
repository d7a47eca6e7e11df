#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# A program's own locks and conditions, by the system call futex().
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"
nm -D --defined-only "$BUILD/src/libthrum-adapt.so" | grep -q ' T syscall$' || {
	echo "skipped: built without GLib"
	exit 77
}
told[lost]='^(never resolved|deadlock)'
for case in fine handler lost shared; do
	begin "$case" "$programs/futex" "$case"
done
wait 2>/dev/null
all_told
has fine dump 'signal .*futex (filled|futex\+0x).*, waiting: 1  in '
has fine why '^no findings'
has handler dump 'wait .*futex'
has handler why '^no findings'
has lost why 'thread consume: Waits for .futex (filled|futex\+0x)'
has lost why 'wait_while|futex\+0x'
has shared dump 'wait .*futex'
has shared why '^no findings'
exit "$failed"
