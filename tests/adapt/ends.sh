#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Who has the other end of a pipe, of programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

for case in own input child full stray anew behind parent unread masked noisy lint napping nods buffered \
	nightly nightly_run aside moved working busy late agreed wake \
	nods_feeds nods_logs nods_first nightly_first nightly_part; do
	soon "$case" "$programs/ends" "$case"
done
for case in own input child full stray anew behind parent \
	busy unread masked working noisy lint \
	napping aside moved nods nods_feeds nightly nightly_run buffered wake; do
	soon "fine-$case" "$programs/ends" "$case" fine
done
soon kept "$programs/kept_end"
soon fine-kept "$programs/kept_end" fine
for case in nothing limit room stopped traced; do
	soon "returns-$case" "$programs/returns" "$case"
done
all_same

# hangs NAME PATTERN: the program hangs, and thrum names the cause.
hangs() {
	has "$1" why "$2"
}
hangs own 'Waits for .writing end of pipe [0-9]* in this process'
hangs input 'process [0-9]* \(sort\)[^:]*: Waits for .writing end of pipe [0-9]* in this process'
hangs child 'process [0-9]* \(cat\)[^:]*: Waits for .writing end of pipe [0-9]* in this process'
hangs full 'process [0-9]* \(cat\)[^:]*: Waits for .reading end of pipe [0-9]* in this process'
hangs stray 'Waits for .writing end of pipe [0-9]* in process [0-9]* \(sleep\), started by [a-z]'
hangs anew 'Waits for .writing end of pipe [0-9]* in process [0-9]* \(exe\), started by [a-z]'
hangs behind '\(filter\)[^:]*: Waits for .writing end of pipe [0-9]* in process [0-9]* \(monitor\)'
hangs parent '\(filter\)[^:]*: Waits for .writing end of pipe [0-9]* in process [0-9]* \(monitor\)'
hangs unread 'process [0-9]* \(writer\)[^:]*: Waits for .reading end of pipe [0-9]* in this process'
hangs kept '\(sorter\)[^:]*: Waits for .process [0-9]* \(preview\), whose descriptor [0-9]* writes to its pipe'
[[ ! -e fine-kept.thrum ]] || has fine-kept why '^no findings'
# The place where the process itself waits.
has behind why '\(filter\)[^:]*: Waits for [^[]*\[.*ends\.c:[0-9]* (read_all|start_filter)'
hangs masked 'process [0-9]* \(worker\)[^:]*: Waits for .SIGTERM held back by process [0-9]* \(worker\)'
hangs noisy 'process [0-9]* \(sh\)[^:]*: Waits for .reading end of pipe [0-9]* in this process'
hangs lint 'write of process [0-9]* at put in[^:]*: Waits for .reading end of pipe [0-9]* in this process'
has lint why 'process [0-9]* \(checker\)[^:]*: Waits for .write of process [0-9]* at put in complain'
hangs napping 'process [0-9]* \(filter\)[^:]*: Waits for .reading end of pipe [0-9]* in this process'
hangs nods '\(filter\)[^:]*: Waits for .writing end of pipe [0-9]* in process [0-9]* \(monitor\)'
hangs buffered 'Waits for .process [0-9]* \(ends\), which has 14 unflushed bytes for its descriptor [0-9]*, started by'
"$THRUM" why lint.thrum | grep 'unflushed' && wrong 'lint: a stream is told to hold back'
hangs nightly 'Waits for .writing end of pipe [0-9]* in process [0-9]* \(ends\), started by start_agent'
hangs nightly_run 'Waits for .writing end of pipe [0-9]* in process [0-9]* \(sleep\), started by start_agent'
for case in nods_feeds nods_logs nods_first nightly_first nightly_part; do
	has "$case" why '^no findings'
done
hangs aside '^no findings'
hangs moved '^no findings'
hangs working '^no findings'
hangs busy '^no findings'
hangs late '^no findings'
hangs agreed '^no findings'
for case in own input child full noisy lint; do
	has "$case" why '^deadlock'
done
# Nobody knows where in another program a process waits.
for case in input noisy; do
	"$THRUM" why "$case.thrum" 2>&1 | grep -E 'of process [0-9]* at ' && wrong "$case: a place in a stranger"
done

# Nothing is wrong; most is not even worth recording.
for case in own input child full stray anew behind parent \
	busy unread masked working noisy lint \
	napping aside moved nods nods_feeds nightly nightly_run buffered; do
	[[ ! -e fine-$case.thrum ]] || has "fine-$case" why '^no findings'
done
# Threads wait for each other, though a child has an end, too.
hangs wake '^no findings'
has fine-wake why '^no findings'
# Calls return where poll() would wait.
for case in nothing limit room stopped traced; do
	has "returns-$case" dump 'thread end_at_once'
done
exit "$failed"
