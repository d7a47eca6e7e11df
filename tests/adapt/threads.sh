#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Threads and locks of programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2016,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"

# line FILE TEXT: the number of the line with this text.
line() {
	grep -n -- "$2" "$SOURCE/tests/adapt/programs/$1" | cut -d : -f 1
}

# A recording names functions and lines if thrum can read debug information.
names=no
! grep -q "HAVE_LIBDW" "$BUILD/build.ninja" || names=yes

# is_at NAME FILE TEXT: `why` names the line of a file with this text.
is_at() {
	[[ $names == no ]] || has "$1" why "$2:$(line "$2" "$3") "
}

same threads "$programs/threads"
grep -q 'recorded [0-9,]* events of [0-9]* lanes' threads.said || wrong "threads: $(cat threads.said)"
has threads dump 'label +main thread'
# So are named a thread and its lane.
[[ $("$THRUM" dump threads.thrum | grep -c 'label *named later') -ge 2 ]] || wrong "a lane has no new name"
has threads dump 'signal .*, waiting: 3'
[[ $names == no ]] || {
	has threads dump 'wait .* mutex plain  in show_mutexes'
	has threads dump 'thread release_late'
	has threads dump 'lock .* rwlock shared  in read_shared'
	has threads dump 'signal .* condition c11_changed, waiting: 1  in change'
	has threads dump 'signal .* semaphore release, waiting: 1  in release_late'
	"$THRUM" why --slow=show_mutexes threads.thrum >slow.out 2>&1
	if ! grep -q '^The wait in show_mutexes of “[^”]*main thread”' slow.out ||
		! grep -qE 'waited .*(lock “mutex plain”|“semaphore held”)' slow.out; then
		wrong "the slow function: $(cat slow.out)"
	fi
}
"$THRUM" why threads.thrum >why.out 2>&1 || wrong "a healthy program: $(cat why.out)"

same deadlock "$programs/deadlock"
has deadlock why '^deadlock \(certain\)'
is_at deadlock deadlock.c "the writer's first"
is_at deadlock deadlock.c "the writer's second"
is_at deadlock deadlock.c "the flusher's first"
is_at deadlock deadlock.c "the flusher's second"

# Stacks of coroutines, and handlers that leave one for another.
for case in edge returns left plain; do
	soon "stack-$case" "$programs/odd_stacks" "$case"
done
all_same
for case in edge returns left plain; do
	has "stack-$case" why '^no findings'
done

# A thread that waits for its own lock: in a handler, or not.
for case in handler asleep; do
	told[again-$case]='mutex log_lock, taken again in the handler on_signal'
done
told[again-blocked]='^deadlock .certain.'
for case in handler asleep blocked fine; do
	soon "again-$case" "$programs/taken_again" "$case"
done
all_same
has again-handler why 'mutex log_lock, taken again in the handler on_signal”'
has again-asleep why '^deadlock .certain.'
has again-asleep why 'mutex log_lock, taken again in the handler on_signal”'
has again-blocked why '^deadlock .certain.'
has again-blocked why 'Waits for “mutex log_lock”'
has again-fine why '^no findings'

# A thread that moved on with a read lock, which it takes again and again; or a long batch. One after the other: each
# tells by how long the lock was held before.
told[read-forgets]='^never resolved .possible.*thread serve. holds .rwlock'
for case in forgets fine batch; do
	same "read-$case" "$programs/kept_read" "$case"
done
all_told
has read-batch why '^no findings'
[[ ! -e read-fine.thrum ]] || has read-fine why '^no findings'

# A copy keeps the names; it is read by a thrum that can't find the program any more.
[[ $names == no ]] || {
	cp "$programs/deadlock" moved
	"$THRUM" record -o moved.thrum -- ./moved >/dev/null 2>&1
	"$THRUM" convert --symbols moved.thrum named.thrum 2>err || wrong "convert --symbols: $(cat err)"
	"$THRUM" html moved.thrum -o moved.html 2>err || grep -q 'without its page' err || wrong "html: $(cat err)"
	"$THRUM" dump moved.thrum | tail -n +2 >before
	rm moved
	"$THRUM" dump moved.thrum | grep -q 'moved+0x' || wrong 'names without the program'
	"$THRUM" dump named.thrum | tail -n +2 >after
	cmp -s before after || wrong "a copy with names reads differently: $(diff before after | head -5)"
	has named why 'deadlock.c:[0-9]* flush_log'
	"$THRUM" convert --symbols named.thrum again.thrum 2>err || wrong "named again: $(cat err)"
	"$THRUM" dump again.thrum | tail -n +2 | cmp -s - before || wrong 'a copy of a copy has no names'
}

# A time limit of another clock lies decades ahead.
told[clocks]='time-out of another clock, [0-9]+ days too late'
told[again]='Waits for .time-out of another clock, [0-9]+ days too late.*clocks\.c:[0-9]+ wait_a_moment'
soon clocks "$programs/clocks"
for case in again right known long; do
	soon "$case" "$programs/clocks" "$case"
done
soon lost_wakeup "$programs/lost_wakeup"
soon passed_over "$programs/passed_over"
soon two_woken "$programs/passed_over" healthy
all_same
! "$THRUM" why again.thrum | grep 'Should resolve' || wrong 'a thread that waits should end what it waits for'
for case in right known long; do
	has "$case" why '^no findings'
done

has lost_wakeup why '^lost wake-up'
is_at lost_wakeup lost_wakeup.c 'too late'
is_at lost_wakeup lost_wakeup.c 'too early'

# A signal for two jobs wakes one worker, which then waits for the other.
has passed_over why 'Signals .condition filled.*, for which 2 wait; only one of them is woken'
has passed_over why 'Takes the wake-up; and waits for .condition part_made'
is_at passed_over passed_over.c 'one for both'
is_at passed_over passed_over.c 'in vain'
"$THRUM" why two_woken.thrum >why.out 2>&1 || wrong "two signals for two jobs: $(cat why.out)"
# A signal that came too early isn't lost if there was more to do: one read took all from an eventfd.
told[taken]='^never resolved \(possible\)'
told[taken-lost]='^lost wake-up'
soon taken "$programs/taken"
soon taken-lost "$programs/taken" lost
soon fine-taken "$programs/taken" fine
told[pool]='thread work.*: Serves .condition (finished|nested[+]0x).*waits for it itself'
told[credit]='thread grant.*: Ends.*nobody is left to serve'
told[unsaid]='thread drain: Takes the lock of .condition (room|nested[+]0x)'
for case in pool credit unsaid; do
	soon "$case" "$programs/nested" "$case"
	soon "fine-$case" "$programs/nested" "$case" fine
done
all_same
all_told
has taken why 'Waits for .eventfd [0-9]+ \(4 taken at once\)'
"$THRUM" dump taken-lost.thrum | grep 'taken at once' && wrong 'lost: each read takes one'
has fine-taken why '^no findings'

# One that makes what others wait for, and tells nobody. If it does that all the time, little is recorded.
locks=$("$THRUM" dump unsaid.thrum | grep -c ' lock .* mutex ')
((locks >= 16 && locks < 60)) || wrong "$locks of 20,000 times are recorded that a lock was taken"
for case in pool credit unsaid; do
	has "fine-$case" why '^no findings'
done

for case in leak pass lost circle gone; do
	soon "$case" "$programs/permits" "$case"
done
for case in 'lost kept' 'lost fine' 'circle used' 'circle helped'; do
	# shellcheck disable=SC2086
	soon "${case/ /-}" "$programs/permits" $case
done
soon barrier "$programs/barrier"
soon dead_holder "$programs/dead_holder"
soon held "$programs/held"
all_same
has leak why 'draw_broken: Ends, but still holds'
is_at leak permits.c 'and never posts it'
"$THRUM" dump pass.thrum | grep -E '(un)?lock .*semaphore' && wrong 'a semaphore that passes on is no lock'

has lost why 'Waits for .semaphore (slots|permits\+0x[0-9a-f]+), always posted by (free_slot|lose|permits\+0x)'
has lost-kept why 'Waits for .semaphore (slots|permits\+0x)'
has lost-fine why '^no findings'
for case in pass lost-kept lost-fine; do
	"$THRUM" dump "$case.thrum" | grep 'given back' && wrong "$case: it is told who gives back"
done

for case in circle circle-used; do
	has "$case" why 'deadlock \(likely\)'
	has "$case" why 'take_both: Holds .semaphore (locks|permits\+0x)'
done
has circle-helped why '^no findings'

has gone why 'produce_few: Ends; nobody is left to serve .semaphore'
is_at gone permits.c 'one too few'

has barrier why 'thread count_some: Ends without coming to .barrier (round_end|barrier\+0x)'
[[ $names == no ]] || has barrier dump 'signal .* barrier round_end, waiting: 2  in meet'

has dead_holder why 'table_lock|mutex dead_holder\+0x'
is_at dead_holder dead_holder.c 'and never unlocks it'
is_at dead_holder dead_holder.c 'waits for ever'

# Locks that are held for long, though nobody waits.
has held dump 'label +(mutex (table_lock|held\+0x)|rwlock (config_lock|held\+0x))'
has held dump 'held for ms = [0-9]'
[[ $names == no ]] || {
	has held dump "lock .* mutex table_lock .*held.c:$(line held.c 'at once')"
	has held dump "lock .* rwlock config_lock .*held.c:$(line held.c 'again and again')"
}
"$THRUM" why held.thrum >why.out 2>&1 || wrong "a healthy program: $(cat why.out)"
for limit in 0 100000; do
	THRUM_HELD=$limit "$THRUM" record -o held.thrum -- "$programs/held" >/dev/null 2>&1
	"$THRUM" dump held.thrum | grep 'held for ms' && wrong "THRUM_HELD=$limit: a lock that was held for long"
done

# Only what is wanted.
"$THRUM" record -o none.thrum --without=pthread -- "$programs/deadlock" >/dev/null 2>err
grep -q 'deadlock recorded nothing' err || wrong "--without=pthread: $(cat err)"
[[ ! -e none.thrum ]] || wrong "an empty recording is left"

# A script that runs the program in its own place, and one that runs it as a child.
"$THRUM" record -o exec.thrum -- sh -c 'exec "$0"' "$programs/threads" >/dev/null 2>err
has exec dump 'signal .*, waiting: 3'
"$THRUM" record -o child.thrum -- sh -c '"$0"; true' "$programs/threads" >/dev/null 2>err
grep -q 'sh recorded nothing' err || wrong "a child is recorded: $(cat err)"
THRUM_FOLLOWS=1 "$THRUM" record --follow-children -o child.thrum -- \
	sh -c '"$0"; true' "$programs/threads" >/dev/null 2>err
has child dump 'signal .*, waiting: 3'

# Programs that load nothing run all the same, and thrum says why there is no recording.
echo 'int main(void) { return 3; }' >three.c
for flag in -static -fsanitize=address; do
	"$CC" "$flag" three.c -o three 2>/dev/null || continue
	same "three$flag" ./three
	grep -q 'three recorded nothing: it is \(linked statically\|built for a sanitizer\)' \
		"three$flag.said" || wrong "$flag: $(cat "three$flag.said")"
done

# The user's own preloaded library stays.
LD_PRELOAD=libm.so.6 "$THRUM" record -o sh.thrum -- sh -c 'echo "$LD_PRELOAD"' >out 2>err
[[ $(cat out) == libm.so.6 ]] || wrong "LD_PRELOAD of a child: $(cat out)"
exit "$failed"
