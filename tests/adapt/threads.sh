#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Threads and locks of programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2016,SC2154
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
has threads dump 'signal .*, waiting: 3'
[[ $names == no ]] || {
	has threads dump 'wait .* mutex plain  in show_mutexes'
	has threads dump 'thread release_late'
	has threads dump 'lock .* rwlock shared  in read_shared'
	has threads dump 'signal .* condition c11_changed, waiting: 1  in change'
	has threads dump 'signal .* semaphore release, waiting: 1  in release_late'
	"$THRUM" why --slow=show_mutexes threads.thrum >slow.out 2>&1
	if ! grep -q '^The wait in show_mutexes of “[^”]*main thread”' slow.out ||
		! grep -q 'waited .*lock “mutex plain”' slow.out; then
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

# A thread that waits for its own lock: in a handler, or not.
for case in handler blocked fine; do
	soon "again-$case" "$programs/taken_again" "$case"
done
all_same
has again-handler why 'mutex log_lock, taken again in the handler on_signal”'
has again-blocked why '^deadlock .certain.'
has again-blocked why 'Waits for “mutex log_lock”'
has again-fine why '^no findings'

# A thread that moved on with a read lock, which it takes again and again; or a long batch. One after the other: each
# tells by how long the lock was held before.
for case in forgets fine batch; do
	same "read-$case" "$programs/kept_read" "$case"
done
has read-forgets why '^never resolved .possible.*thread serve. holds .rwlock'
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
same clocks "$programs/clocks"
has clocks why 'time-out of another clock, [0-9]+ days too late'
same again "$programs/clocks" again
has again why 'Waits for .time-out of another clock, [0-9]+ days too late.*clocks\.c:[0-9]+ wait_a_moment'
! "$THRUM" why again.thrum | grep 'Should resolve' || wrong 'a thread that waits should end what it waits for'
for case in right known long; do
	same "$case" "$programs/clocks" "$case"
	has "$case" why '^no findings'
done

same lost_wakeup "$programs/lost_wakeup"
has lost_wakeup why '^lost wake-up'
is_at lost_wakeup lost_wakeup.c 'too late'
is_at lost_wakeup lost_wakeup.c 'too early'

# A signal for two jobs wakes one worker, which then waits for the other.
same passed_over "$programs/passed_over"
has passed_over why 'Signals .condition filled.*, for which 2 wait; only one of them is woken'
has passed_over why 'Takes the wake-up; and waits for .condition part_made'
is_at passed_over passed_over.c 'one for both'
is_at passed_over passed_over.c 'in vain'
same two_woken "$programs/passed_over" healthy
"$THRUM" why two_woken.thrum >why.out 2>&1 || wrong "two signals for two jobs: $(cat why.out)"
# A signal that came too early isn't lost if there was more to do: one read took all from an eventfd.
same taken "$programs/taken"
has taken why '^never resolved \(possible\)'
has taken why 'Waits for .eventfd [0-9]+ \(4 taken at once\)'
same lost "$programs/taken" lost
has lost why '^lost wake-up'
"$THRUM" dump lost.thrum | grep 'taken at once' && wrong 'lost: each read takes one'
same fine-taken "$programs/taken" fine
has fine-taken why '^no findings'

# Those who serve the condition wait for it, too; or the one that does has ended.
same pool "$programs/nested" pool
has pool why 'thread work.*: Serves .condition (finished|nested[+]0x).*waits for it itself'
same credit "$programs/nested" credit
has credit why 'thread grant.*: Ends.*nobody is left to serve'

# One that makes what others wait for, and tells nobody. If it does that all the time, little is recorded.
same unsaid "$programs/nested" unsaid
has unsaid why 'thread drain: Takes the lock of .condition (room|nested[+]0x)'
locks=$("$THRUM" dump unsaid.thrum | grep -c ' lock .* mutex ')
((locks >= 16 && locks < 60)) || wrong "$locks of 20,000 times are recorded that a lock was taken"
for case in pool credit unsaid; do
	same "fine-$case" "$programs/nested" "$case" fine
	has "fine-$case" why '^no findings'
done

same leak "$programs/permits" leak
has leak why 'draw_broken: Ends, but still holds'
is_at leak permits.c 'and never posts it'
same pass "$programs/permits" pass
"$THRUM" dump pass.thrum | grep -E '(un)?lock .*semaphore' && wrong 'a semaphore that passes on is no lock'

same lost "$programs/permits" lost
has lost why 'Waits for .semaphore (slots|permits\+0x[0-9a-f]+), always posted by (free_slot|lose|permits\+0x)'
same lost-kept "$programs/permits" lost kept
has lost-kept why 'Waits for .semaphore (slots|permits\+0x)'
same lost-fine "$programs/permits" lost fine
has lost-fine why '^no findings'
for case in pass lost-kept lost-fine; do
	"$THRUM" dump "$case.thrum" | grep 'given back' && wrong "$case: it is told who gives back"
done

for case in circle 'circle used'; do
	name=${case/ /-}
	# shellcheck disable=SC2086
	same "$name" "$programs/permits" $case
	has "$name" why 'deadlock \(likely\)'
	has "$name" why 'take_both: Holds .semaphore (locks|permits\+0x)'
done
same circle-helped "$programs/permits" circle helped
has circle-helped why '^no findings'

same gone "$programs/permits" gone
has gone why 'produce_few: Ends; nobody is left to serve .semaphore'
is_at gone permits.c 'one too few'

same barrier "$programs/barrier"
has barrier why 'thread count_some: Ends without coming to .barrier (round_end|barrier\+0x)'
[[ $names == no ]] || has barrier dump 'signal .* barrier round_end, waiting: 2  in meet'

same dead_holder "$programs/dead_holder"
has dead_holder why 'table_lock|mutex dead_holder\+0x'
is_at dead_holder dead_holder.c 'and never unlocks it'
is_at dead_holder dead_holder.c 'waits for ever'

# Locks that are held for long, though nobody waits.
same held "$programs/held"
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
