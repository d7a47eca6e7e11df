#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Writes that GIO refuses, as another one is under way.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"
[[ -x $programs/glib_refused ]] || {
	echo "skipped: GLib is missing"
	exit 77
}

told[drop]='Waits for .refused write to socket [0-9]+; nobody asked for another since (send_line|glib_)'
for case in drop later; do
	begin "$case" "$programs/glib_refused" "$case"
done
same again "$programs/glib_refused" again
wait 2>/dev/null
all_told
for case in later again; do
	has "$case" why '^no findings'
done
exit "$failed"
