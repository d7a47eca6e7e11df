#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Tokens of jobs that are processes, in a pipe.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

# answers NAME: what is said of the recordings of all its processes
answers() {
	local file
	for file in "$1.thrum"*; do
		[[ ! -e $file ]] || "$THRUM" why "$file" 2>&1
	done
}

# Whether each answer begins without a finding. On a slow machine it goes on about what ran last.
is_healthy() {
	! grep -E '^[a-z ]+ \((possible|likely|certain)\)' answer
}

# These hang.
keeps='process [0-9]* \(parser\), which took one at [a-z_ ]*keep_token.*: Ends, but still holds'
told[kept]="^ 2 .*$keeps .shared tokens of pipe"
# As many jobs as there are tokens gave them back before.
told[few]="$keeps .shared tokens of pipe"
# The one that has a token waits for the one that waits for it.
told[server]='process [0-9]* \(server\).*: Holds .shared tokens of pipe'
soon kept "$programs/job_tokens" kept
soon few "$programs/job_tokens" kept few
soon server "$programs/job_tokens" server
all_same
all_told
! grep -q '^done' same/kept/thrum.out || wrong "it doesn't hang"
answers kept >answer
! grep -q '(job).*still holds' answer || wrong "others are told: $(cat answer)"
for file in kept.thrum*; do
	"$THRUM" dump "$file"
done >dumped
grep -q 'label .*(parser).*started by' dumped || wrong 'the jobs have no names'
! grep 'label .*(parser).*killed by' dumped || wrong 'a signal that came too late has killed'

has server why '^deadlock \(possible\)'
has server why 'process [0-9]* \(server\).*: Waits for .server\.[0-9]*/server'

# Nothing is wrong.
for case in fine paid executed doubled works pair asked; do
	soon "$case" "$programs/job_tokens" "$case"
	soon "$case-few" "$programs/job_tokens" "$case" few
done
all_same
for case in fine paid executed doubled works pair asked; do
	answers "$case" >answer
	is_healthy || wrong "$case: $(cat answer)"
	answers "$case-few" >answer
	is_healthy || wrong "$case few: $(cat answer)"
done
exit "$failed"
