#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Daemons and sandboxes that leave all that they began with run as without thrum: its descriptors, environment
# and files are none of theirs.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

for how in loop range dup standard clear empty double; do
	soon "$how" "$programs/detached" "$how"
	soon "$how-early" "$programs/detached" "$how" early
done
((EUID != 0)) || for how in pid user pivot; do
	soon "$how" "$programs/detached" "$how"
	soon "$how-early" "$programs/detached" "$how" early
done
all_same
for how in loop range dup standard clear empty double; do
	has "$how" dump 'wait.*mutex'
done
# A recording that began after the change of root could have no file.
if ((EUID == 0)) && ! grep -q 'not allowed' same/pivot/plain.out; then
	has pivot dump 'wait.*mutex'
fi
exit "$failed"
