#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# liburing in programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"
[[ -x $programs/uring ]] || {
	echo "skipped: liburing is missing"
	exit 77
}
"$programs/uring" >try.out
[[ $? == 77 ]] && {
	echo "skipped: $(cat try.out)"
	exit 77
}

same uring "$programs/uring"
for label in 'accept fd [0-9]+' 'connect 127.0.0.1:[0-9]+' 'open /no/such/file' 'recv 5 bytes, fd [0-9]+' \
	'send 5 bytes, fd [0-9]+' timeout; do
	has uring dump "label +$label"
done
has uring dump 'fail .*open /no/such/file: ENOENT'
has uring dump 'send 5 bytes.* wait .*timeout'
has uring dump 'suspend +wait for work'
for label in accept connect recv send timeout; do
	has uring dump "resolve .*$label"
done
"$THRUM" why uring.thrum >why.out 2>&1 || wrong "a healthy program: $(cat why.out)"
exit "$failed"
