#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Children that don't hear the signal which should end them.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

# These hang.
for case in blocked inherited copied; do
	told[$case]='\(worker\), which blocks SIGTERM, started by (start|unheard\+0x)'
done
told[slept]='^never resolved \(possible\).*, which blocks SIGTERM'
told[ignored]='\(sleep\), which ignores SIGINT, started by (start|unheard\+0x)'
told[group]='\(worker\), which blocks SIGUSR1, started by (start|unheard\+0x)'
# These wait, and are healthy.
for case in leaving reader told twice asleep soon computing; do
	told[$case]='^no findings'
done

# On a slow machine these may end by themselves before that is told: so their output isn't compared.
for case in asleep soon computing; do
	begin "$case" "$programs/unheard" "$case"
done
for case in blocked ignored group inherited rung leaving reader told twice alarmed slept copied polls; do
	soon "$case" "$programs/unheard" "$case"
done
for case in blocked ignored group inherited copied; do
	soon "fine-$case" "$programs/unheard" "$case" fine
done
all_same
wait 2>/dev/null
all_told
for case in rung alarmed polls; do
	has "$case" why '^no findings'
done
for case in blocked ignored group inherited copied; do
	has "$case" why '^never resolved'
	[[ ! -e fine-$case.thrum ]] || has "fine-$case" why '^no findings'
done
exit "$failed"
