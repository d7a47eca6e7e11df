#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Tokens of jobs that are processes, in a pipe.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

# answers NAME: what is said of the recordings of all its processes
answers() {
	local file
	for file in "$1.thrum"*; do
		[[ ! -e $file ]] || "$THRUM" why "$file" 2>&1
	done
}

"$THRUM" record -o kept.thrum --size=64M -- "$programs/job_tokens" kept >out 2>&1 </dev/null
! grep -q '^done' out || wrong "it doesn't hang"
answers kept >answer
keeps='process [0-9]* \(parser\), which took one at [a-z_ ]*keep_token.*: Ends, but still holds'
grep -qE "^ 2 .*$keeps .shared tokens of pipe" answer ||
	wrong "nobody is told to have the tokens: $(cat answer)"
! grep -q '(job).*still holds' answer || wrong "others are told: $(cat answer)"
# As many jobs as there are tokens gave them back before.
"$THRUM" record -o few.thrum --size=64M -- "$programs/job_tokens" kept few >out 2>&1 </dev/null
answers few >answer
grep -qE "$keeps .shared tokens of pipe" answer || wrong "few: nobody is told to have the tokens: $(cat answer)"
for file in kept.thrum*; do
	"$THRUM" dump "$file"
done >dumped
grep -q 'label .*(parser).*started by' dumped || wrong 'the jobs have no names'
! grep 'label .*(parser).*killed by' dumped || wrong 'a signal that came too late has killed'

# The one that has a token waits for the one that waits for it.
"$THRUM" record -o server.thrum --size=64M -- "$programs/job_tokens" server >out 2>&1 </dev/null
has server why '^deadlock \(possible\)'
has server why 'process [0-9]* \(server\).*: Holds .shared tokens of pipe'
has server why 'process [0-9]* \(server\).*: Waits for .server\.[0-9]*/server'

# Nothing is wrong.
for case in fine paid executed doubled works pair asked; do
	same "$case" "$programs/job_tokens" "$case"
	answers "$case" >answer
	! grep -vE '^(no findings|thrum: )' answer | grep -q . || wrong "$case: $(cat answer)"
	same "$case-few" "$programs/job_tokens" "$case" few
	answers "$case-few" >answer
	! grep -vE '^(no findings|thrum: )' answer | grep -q . || wrong "$case few: $(cat answer)"
done
exit "$failed"
