#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Who sends by a socket, and through which function of its own a process waits to write.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

same first "$programs/senders" first
sent=$("$THRUM" dump first.thrum | grep -c link-send)
[[ $sent == 3 ]] || wrong "first: $sent messages are noted, not 3"

hangs_all senders circle 'write of process [0-9]* at put, called in check_lines'
exit "$failed"
