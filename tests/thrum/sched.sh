#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# `thrum record --sched`: when threads were off their processors, without rights.
set -u
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
failed=0
crowded=$BUILD/tests/thrum/programs/crowded

wrong() {
	echo "$*"
	failed=1
}

# Whether the sleep of a recording is told as one. On a busy machine it can take longer until the thread
# runs again: then others are recorded.
tells_sleep() {
	local recording=$1
	for ((try = 0; try < 10; try++)); do
		"$THRUM" why --slow=sleeps "$recording" >slow 2>err || return 1
		grep -q 'its thread was blocked in the kernel' slow && return
		recording=again.thrum
		"$THRUM" record "${2:---sched}" -o again.thrum -- "$crowded" 2>err || return 1
	done
	return 1
}

# Not with what makes no recording.
for option in --sched --wakes; do
	"$THRUM" record $option --counters-only -- true 2>err
	[[ $? -eq 64 ]] || wrong "$option --counters-only is taken"
	grep -q -e "$option can't be combined with --counters-only" err || wrong "$(cat err)"
done

"$THRUM" record --sched -o run.thrum -- "$crowded" 2>err
status=$?
if [[ $status -eq 2 ]] && grep -q '^thrum: --sched: ' err; then
	[[ ! -e run.thrum ]] || wrong "it ran all the same"
	[[ $failed -eq 0 ]] || exit 1
	echo "skipped: $(cat err)"
	exit 77
fi
[[ $status -eq 0 ]] || wrong "record: $(cat err)"

"$THRUM" record --sched -- ./nothing 2>err
[[ $? -eq 127 ]] || wrong "a program that isn't there: $(cat err)"

# The two threads that share a processor are preempted; those that sleep are blocked.
"$THRUM" dump --format=tsv run.thrum >dumped 2>err || wrong "dump: $(cat err)"
for kind in preempted blocked; do
	grep -q $'\toff-cpu\t.*'$kind dumped || wrong "nothing is $kind"
done
"$THRUM" why --slow=works --format=json run.thrum >slow 2>err || wrong "why --slow: $(cat err)"
grep -q '"doing":"preempted"' slow || wrong "works: $(cat slow)"
tells_sleep run.thrum || wrong "sleeps: $(cat slow err)"
"$THRUM" render --as=rows --legend -o run.svg run.thrum || wrong "render"
grep -q '>ready, not on a CPU<' run.svg || wrong "the key line doesn't explain it"
"$THRUM" stats --format=json run.thrum >numbers 2>err || wrong "stats: $(cat err)"
grep '"label":"works"' numbers | grep -q '"ready":[1-9]' || wrong "ready: $(cat numbers)"
grep '"label":"sleeps"' numbers | grep -q '"blocked":[1-9]' || wrong "blocked: $(cat numbers)"
"$THRUM" stats --by=lane --format=tsv run.thrum >numbers 2>err || wrong "stats: $(cat err)"
for use in on-cpu off-cpu; do
	grep -q $'\t'$use$'\t' numbers || wrong "no $use: $(cat numbers)"
done

"$THRUM" convert --to=perfetto run.thrum run.pftrace || wrong "convert"
grep -q 'off the CPU' run.pftrace || wrong "Perfetto's format lacks them"

# A copy and a bundle keep them.
"$THRUM" snapshot -o copy.thrum run.thrum 2>err || wrong "snapshot: $(cat err)"
"$THRUM" bundle -o all.thrums run.thrum 2>err || wrong "bundle: $(cat err)"
for copy in copy.thrum all.thrums; do
	"$THRUM" dump --format=tsv $copy 2>/dev/null | grep -c $'\toff-cpu\t' >count
	[[ $(cat count) -eq $(grep -c $'\toff-cpu\t' dumped) ]] || wrong "$copy: $(cat count)"
done

# It is known whether the thread of a task that hangs works.
for how in busy blocked; do
	("$THRUM" record --sched -o $how.thrum -- "$crowded" $how) >/dev/null 2>&1
	"$THRUM" why $how.thrum >found 2>err
	grep -q 'its thread is \(busy on a CPU\|blocked in the kernel\)' found ||
		wrong "$how: $(cat found err)"
done

# Each segment has its own part, which lies in its time.
"$THRUM" record --sched --segment=1M -o many.thrum -- "$crowded" many 2>err ||
	wrong "record --segment: $(cat err)"
[[ -e many.0001.thrum ]] || wrong "no segment: $(cat err)"
for segment in many.[0-9]*.thrum; do
	"$THRUM" dump --format=tsv "$segment" >part 2>err || wrong "$segment: $(cat err)"
	grep -q $'\toff-cpu\t.*blocked' part || wrong "$segment: nothing is blocked"
	[[ ! -s err ]] || wrong "$segment: $(cat err)"
done

# So has a recording that was begun later.
"$THRUM" record --sched --later -o later.thrum -- "$crowded" later 2>err &
recorder=$!
for ((i = 0; i < 600; i++)); do
	[[ ! -e later.thrum ]] || break
	pid=$(cat /proc/$recorder/task/$recorder/children 2>/dev/null)
	pid=${pid% }
	[[ $(readlink "/proc/$pid/exe") == "$(readlink -f "$crowded")" ]] &&
		"$THRUM" attach --start -o later.thrum "$pid" 2>/dev/null
	sleep 0.1
done
[[ -e later.thrum ]] || { wrong "later: it isn't recorded" && kill $recorder; }
wait $recorder || wrong "record --later: $(cat err)"
"$THRUM" dump --format=tsv later.thrum 2>err | grep -q $'\toff-cpu\t.*preempted' ||
	wrong "later: nothing is preempted: $(cat err)"

# A thread, or an interrupt, woke another thread.
"$THRUM" record --wakes -o woken.thrum -- "$crowded" 2>err
if [[ $? -eq 2 ]] && grep -q '^thrum: --wakes: ' err; then
	echo "skipped: $(cat err)"
else
	"$THRUM" dump --format=tsv woken.thrum >dumped 2>err || wrong "dump: $(cat err)"
	grep -q $'\toff-cpu\t.*woken by an interrupt' dumped || wrong "no timer woke a thread"
	grep -q $'\toff-cpu\t\t[0-9]*\t[0-9]*\twoken\t$' dumped || wrong "no thread woke another"
	tells_sleep woken.thrum --wakes || wrong "sleeps: $(cat slow err)"
fi

# The kernel tells who is woken by the machine's numbers, which a container doesn't know.
if unshare --pid --fork --mount-proc true 2>/dev/null; then
	unshare --pid --fork --mount-proc "$THRUM" record --wakes -o inside.thrum -- "$crowded" \
		2>err
	[[ $? -eq 2 ]] || wrong "--wakes is taken in a container"
	grep -q '^thrum: --wakes: ' err || wrong "in a container: $(cat err)"
else
	echo "skipped: no namespace of processes can be made"
fi

# Nobody else's threads: no rights are needed.
if [[ $(id -u) -eq 0 ]] && command -v setpriv >/dev/null; then
	chmod 777 .
	setpriv --reuid=65534 --clear-groups "$THRUM" record --sched -o other.thrum -- \
		"$crowded" 2>err || echo "skipped: without rights: $(cat err)"
fi

exit $failed
