#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Who has the other end of a pipe, of programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

# These hang.
told[own]='Waits for .writing end of pipe [0-9]* in this process'
told[input]='process [0-9]* \(sort\)[^:]*: Waits for .writing end of pipe [0-9]* in this process'
told[child]='process [0-9]* \(cat\)[^:]*: Waits for .writing end of pipe [0-9]* in this process'
told[full]='process [0-9]* \(cat\)[^:]*: Waits for .reading end of pipe [0-9]* in this process'
told[vforked]=${told[full]}
told[handled]=${told[full]}
told[stray]='Waits for .writing end of pipe [0-9]* in process [0-9]* \(sleep\), started by [a-z]'
told[anew]='Waits for .writing end of pipe [0-9]* in process [0-9]* \(exe\), started by [a-z]'
told[behind]='\(filter\)[^:]*: Waits for .writing end of pipe [0-9]* in process [0-9]* \(monitor\)'
told[relayed]='process [0-9]* \(cat\)[^:]*: Waits for .writing end of pipe [0-9]* in process [0-9]* \(sleep\), started'
told[parent]='\(filter\)[^:]*: Waits for .writing end of pipe [0-9]* in process [0-9]* \(monitor\)'
told[unread]='process [0-9]* \(writer\)[^:]*: Waits for .reading end of pipe [0-9]* in this process'
# The look that finds all relatives waiting may come first: it names no descriptors.
told[kept]='Waits for .process [0-9]* \(preview\), (whose descriptor [0-9]* writes to its pipe|started by start)'
told[fed]='\(counter\), whose descriptor [0-9]* writes to its pipe[^:]*: Waits for .writing end of pipe [0-9]* in this'
told[three]='\(sorter\)[^:]*: Waits for .writing end of pipe [0-9]* in this'
told[masked]='process [0-9]* \(worker\)[^:]*: Waits for .SIGTERM held back by process [0-9]* \(worker\)'
told[noisy]='process [0-9]* \(sh\)[^:]*: Waits for .reading end of pipe [0-9]* in this process'
told[lint]='write of process [0-9]* at put in[^:]*: Waits for .reading end of pipe [0-9]* in this process'
told[napping]='process [0-9]* \(filter\)[^:]*: Waits for .reading end of pipe [0-9]* in this process'
told[nods]='\(filter\)[^:]*: Waits for .writing end of pipe [0-9]* in process [0-9]* \(monitor\)'
told[buffered]='Waits for .process [0-9]* \(ends\), which has 14 unflushed bytes for its descriptor [0-9]*, started by'
told[nightly]='Waits for .writing end of pipe [0-9]* in process [0-9]* \(ends\), started by start_agent'
told[nightly_run]='Waits for .writing end of pipe [0-9]* in process [0-9]* \(sleep\), started by start_agent'
# These are healthy, and wait.
for case in aside moved busy late agreed wake fine-wake; do
	told[$case]='^no findings'
done

for case in own input child full vforked handled stray anew behind parent relayed unread masked noisy lint napping \
	nods buffered nightly nightly_run aside moved working busy late agreed wake \
	nods_feeds nods_logs nods_first nightly_first nightly_part; do
	soon "$case" "$programs/ends" "$case"
done
for case in own input child full vforked handled stray anew behind parent relayed \
	busy unread masked working noisy lint \
	napping aside moved nods nods_feeds nightly nightly_run buffered wake; do
	soon "fine-$case" "$programs/ends" "$case" fine
done
soon kept "$programs/kept_end"
soon fine-kept "$programs/kept_end" fine
soon fed "$programs/fed_ends"
soon three "$programs/fed_ends" three
for case in fine late works three_late; do
	soon "fed-$case" "$programs/fed_ends" "$case"
done
for case in nothing limit room stopped traced handled; do
	soon "returns-$case" "$programs/returns" "$case"
done
all_same

all_told
has fed why '^never resolved \(likely\)'
for case in fed-fine fed-late fed-works fed-three_late; do
	has "$case" why '^no findings'
done
[[ ! -e fine-kept.thrum ]] || has fine-kept why '^no findings'
# The place where the process itself waits.
has behind why '\(filter\)[^:]*: Waits for [^[]*\[.*ends\.c:[0-9]* (read_all|start_filter)'
has lint why 'process [0-9]* \(checker\)[^:]*: Waits for .write of process [0-9]* at put in complain'
"$THRUM" why lint.thrum | grep 'unflushed' && wrong 'lint: a stream is told to hold back'
for case in nods_feeds nods_logs nods_first nightly_first nightly_part working; do
	has "$case" why '^no findings'
done
for case in own input child full noisy lint; do
	has "$case" why '^deadlock'
done
# Nobody knows where in another program a process waits.
for case in input noisy; do
	"$THRUM" why "$case.thrum" 2>&1 | grep -E 'of process [0-9]* at ' && wrong "$case: a place in a stranger"
done

# Nothing is wrong; most is not even worth recording.
for case in own input child full vforked handled stray anew behind parent relayed \
	busy unread masked working noisy lint \
	napping aside moved nods nods_feeds nightly nightly_run buffered; do
	[[ ! -e fine-$case.thrum ]] || has "fine-$case" why '^no findings'
done
# Calls return where poll() would wait.
for case in nothing limit room stopped traced handled; do
	has "returns-$case" dump 'thread end_at_once'
done
exit "$failed"
