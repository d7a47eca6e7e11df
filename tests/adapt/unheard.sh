#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Children that don't hear the signal which should end them.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

for case in blocked ignored group inherited rung leaving reader told twice asleep soon computing alarmed \
	slept copied polls; do
	soon "$case" "$programs/unheard" "$case"
done
for case in blocked ignored group inherited copied; do
	soon "fine-$case" "$programs/unheard" "$case" fine
done
all_same
has blocked why '\(worker\), which blocks SIGTERM, started by (start|unheard\+0x)'
has inherited why '\(worker\), which blocks SIGTERM, started by (start|unheard\+0x)'
has copied why '\(worker\), which blocks SIGTERM, started by (start|unheard\+0x)'
has slept why '^never resolved \(possible\).*, which blocks SIGTERM'
has ignored why '\(sleep\), which ignores SIGINT, started by (start|unheard\+0x)'
has group why '\(worker\), which blocks SIGUSR1, started by (start|unheard\+0x)'
for case in rung leaving reader told twice asleep soon computing alarmed polls; do
	has "$case" why '^no findings'
done
for case in blocked ignored group inherited copied; do
	has "$case" why '^never resolved'
	[[ ! -e fine-$case.thrum ]] || has "fine-$case" why '^no findings'
done
exit "$failed"
