#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Children that are followed: a key links the parent's start with the child's recording.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

# keys FILE EVENT: the keys of these events.
keys() {
	"$THRUM" dump --format=tsv "$1" | grep -F "$2" | grep -oE '[0-9a-f]{9,}[^0-9a-f]*$' | sort
}

for way in fork vfork spawn; do
	mkdir $way
	"$THRUM" record --follow-children -o "$way/%p.thrum" -- "$programs/parent" $way >out 2>err ||
		wrong "$way: status $?: $(cat err)"
	files=("$way"/*.thrum)
	((${#files[@]} == 2)) || wrong "$way: ${#files[@]} recordings instead of 2: $(cat err)"
	sent=$(for file in "${files[@]}"; do keys "$file" link-send; done)
	received=$(for file in "${files[@]}"; do keys "$file" link-receive; done)
	[[ -n $received && $received == "$sent" ]] || wrong "$way: sent \"$sent\", received \"$received\""
done

# A wait for a child is explained by what the child did.
mkdir slow
"$THRUM" record --follow-children -o slow/%p.thrum -- "$programs/parent" spawn 1000 >out 2>err ||
	wrong "slow: status $?: $(cat err)"
"$THRUM" why --slow='process *' slow/*.thrum >out 2>err
[[ $(<out) =~ it\ waited\ for\ thread\ .[0-9]+/parent ]] || wrong "slow: no child: $(cat out err)"

# Others get nothing, but a fork's child may record, too.
"$THRUM" record -o alone.thrum -- "$programs/parent" vfork >out 2>err || wrong "alone: status $?"
"$THRUM" dump alone.thrum | grep -q 'link' && wrong 'a link to a child that is not followed'

# A call for any child takes those for which another call looks.
same taken "$programs/child_taken"
has taken dump 'in count_job'
has taken dump 'end of process [0-9]*, taken by run_hook'
has taken dump 'fail .*end of process [0-9]*, t.*: ECHILD'
same fine "$programs/child_taken" fine
has fine why '^no findings'
"$THRUM" dump fine.thrum | grep 'taken by' && wrong 'fine: each child was found'

# A message names the place in which it ends.
same killed "$programs/child_taken" killed
has killed dump 'log +process [0-9]+, killed by SIGKILL, started by run_hook($|[^+])'
"$THRUM" dump fine.thrum | grep ' log ' && wrong 'fine: no child was killed'

# A start in the middle of a fork would wait for ever. A later one is none the worse.
same forking "$programs/forking"
has forking dump 'thread do_nothing'
exit "$failed"
