/* SPDX-License-Identifier: ISC */
/* The texts of findings' steps, and which of them a step has. */
#include "words/steps.h"

/* The texts of a step: one for each kind of step, and some for special cases of a kind. */
enum step_text {
	FREE_NEVER = THRUM__STEP_KINDS,
	FREE_ONCE,
	HOLD_SOME,
	MAY_HOLD_SOME,
	HELD_ONCE,
	NEVER_WAITED,
	COMES_MEANWHILE,
	RUNS_FIRST,
	NEEDS_LANES,
	STILL_HOLD_SOME,
	NEVER_SERVES,
	CYCLE_CLOSED,
	PENDING_ALONE,
	PENDING_ONE,
	PENDING_DUE,
	NOBODY_RESOLVES,
	WAKE_UP_ENDS,
	WOKEN_WAITS,
	WOKEN_LAPSED,
	WOKEN_DEAD,
	WOKEN_IN_VAIN,
	UNCOUNTED,
	DUE_LATE_THERE,
	SIGNALLED_BEFORE,
	LEFT_LAST,
	STOPPED_MEANWHILE,
	TIMER_STOPPED,
	NEVER_TOOK,
	ENDED_BEFORE,
	OTHERS_SIGNALLED,
	NOBODY_TAKES,
	SERVED_SUCH,
	READIES_NONE,
	UNSERVED_SOME,
	TOOK_KEPT,
	SERVES_TOO,
	TAKES_SILENTLY,
	NOT_AGAIN_LATE,
	NOT_AGAIN_ALL,
	WAITS_FOR_UNKNOWN,
	FAILED_NOTHING,
	SENDS_NOTHING,
	SENDS_NOT_AGAIN,
	RETRIED,
	LAST_OF_SOME,
	RAN_LAST,
	OPEN_CHILD,
	MAY_COMPUTE,
	STEP_TEXTS,
};

static const struct thrum__step_text texts[STEP_TEXTS] = {
	[THRUM__STEP_SIGNAL_LOST] = {"Signal lost", "“$t” is signalled and nobody waits",
		"$t is signalled[ by $o]; nobody waits."},
	[THRUM__STEP_WAITS_LATE] = {"Waits $l too late", "no signal comes after this",
		"$l later $w begins to wait for it. No signal comes after that."},
	[THRUM__STEP_WAITS_FOR] = {"Waits for “$o”", "nobody resolves it before the trace ends",
		"$t waits for $o until the trace ends."},
	[WAITS_FOR_UNKNOWN] = {"Waits for “$o”",
		"of which nothing is known any more: events are missing",
		"$t waits for $o, of which nothing is known any more: events are missing."},
	[THRUM__STEP_WAITED] = {"Waited for “$o”", "for $s; nobody resolved it",
		"$t waited for $o for $s, and nobody resolved it."},
	[THRUM__STEP_NEVER_RESOLVED] = {"“$t” never resolves",
		"it waits behind $i until the trace ends",
		"$t waits behind it until the trace ends."},
	[NOBODY_RESOLVES] = {"“$t” never resolves", "nobody resolves it before the trace ends",
		"Nobody resolves $t before the trace ends."},
	[THRUM__STEP_HOLDS] = {"Holds “$o”", "and doesn't release it", NULL},
	[HOLD_SOME] = {"Holds “$o”", "and so do $x more", NULL},
	[THRUM__STEP_MAY_HOLD] = {"May hold “$o”", "the events that tell are missing", NULL},
	[MAY_HOLD_SOME] = {"May hold “$o”", "or $x more; the events that tell are missing",
		"$t or $x more may hold $o; the events that tell are missing."},
	[THRUM__STEP_STILL_HOLDS] = {"Ends, but still holds “$o”", "it didn't release it",
		"$t ends without releasing $o."},
	[STILL_HOLD_SOME] = {"Ends, but still holds “$o”",
		"it didn't release it; others that hold it: $x",
		"$t ends without releasing $o. Others that hold it: $x."},
	[THRUM__STEP_HELD_MOST] = {"Holds “$o” for $d", "such tasks hold it longest: $x times",
		NULL},
	[HELD_ONCE] = {"Holds “$o” for $d", "which is longer than others", NULL},
	[THRUM__STEP_QUEUES] = {"Waits for “$o” for $d", "up to $n tasks wait at once", NULL},
	[THRUM__STEP_FREE] = {"“$t” goes to other tasks", "taken $n times since the wait began",
		"$t goes to other tasks: taken $n times since the wait began[, last by $o]."},
	[FREE_ONCE] = {"“$t” goes to another task", "taken once since the wait began",
		"$t goes to another task: taken once since the wait began[, by $o]."},
	[FREE_NEVER] = {"“$t” is free", "but no task that waits for it gets it",
		"$t is free, but no task that waits for it gets it[; $o had it last]."},
	[THRUM__STEP_WAITS_IN_CYCLE] = {"Waits for “$o”", "until the trace ends",
		"$t waits for $o."},
	[CYCLE_CLOSED] = {"Waits for “$o”", "and this closes the cycle", NULL},
	[THRUM__STEP_NEEDS_LANE] = {"“$t” needs the thread “$o”", "the thread is blocked",
		"$t is left to $o, and this thread is blocked."},
	[NEEDS_LANES] = {"“$t” needs “$o” or $x more", "all of them are blocked",
		"$t is left to $o and $x more threads, and all of them are blocked."},
	[THRUM__STEP_BLOCKS_SERVERS] = {"Blocks the thread that serves “$o”",
		"all that did so ran there",
		"$t blocks the thread in which all ran that served $o."},
	[THRUM__STEP_PENDING] = {"No answer for $s", "$p others like it took $u, at most $m",
		"No answer to $t for $s; $p others like it took $u, at most $m."},
	[PENDING_ONE] = {"No answer for $s", "the only other one like it took $m",
		"No answer to $t for $s; the only other one like it took $m."},
	[PENDING_DUE] = {"Is pending for $s", "it was due after $d", NULL},
	[PENDING_ALONE] = {"No answer for $s", "it is still pending when the trace ends",
		"No answer to $t for $s; it is still pending when the trace ends."},
	[THRUM__STEP_HOGS] = {"Runs for $s", "other tasks have to wait", NULL},
	[THRUM__STEP_OVERTAKES] = {"Runs before “$o”", "which was ready earlier; others do so, too",
		NULL},
	[RUNS_FIRST] = {"Runs before “$o”", "which was made earlier; $x more do so, too", NULL},
	[THRUM__STEP_UNANSWERED] = {"“$t” gets no answer", "its thread is too busy to take one",
		NULL},
	[THRUM__STEP_NO_TURN] = {"“$t” has no turn", "its thread is busy until the end", NULL},
	[THRUM__STEP_READY] = {"“$t” is ready to run", "but its thread is busy",
		"$t is ready to run[ because of $o], but its thread is busy."},
	[THRUM__STEP_RUNS_LATE] = {"“$t” runs at last", "$l after it was ready",
		"$l later $t runs at last."},
	[THRUM__STEP_LOST_MESSAGE] = {"Sends a message that is lost",
		"[“$o” received others like it]",
		"$t sends a message that nobody receives[; $o received others like it]."},
	[THRUM__STEP_CANCELLED] = {"“$t” is cancelled", "[by “$o”]", "$t is cancelled[ by $o]."},
	[THRUM__STEP_ENDS_TOO] = {"“$t” ends too", "though it should resolve: it waited for “$o”",
		NULL},
	[THRUM__STEP_TORN_DOWN] = {"“$t” is torn down", "[by “$o”; ]it hung before",
		"$t is torn down[ by $o]; it hung before."},
	[THRUM__STEP_FAILED] = {"“$t” fails", "$r", "$t fails[ because of $o]: $r."},
	[THRUM__STEP_UNREAD] = {"Nobody reads the failure", "“$t” created it and goes on",
		"$t created it and goes on; nobody reads the failure."},
	[THRUM__STEP_MAKER_ENDED] = {"Ends without resolving “$o”", "it created “$o”",
		"$t created $o and ends without resolving it."},
	[THRUM__STEP_ENDS_WITHOUT] = {"Ends without resolving “$o”", "tasks like it resolve theirs",
		NULL},
	[THRUM__STEP_NOT_STARTED] = {"Nobody is there to resolve “$t”",
		"a task like “$o” does it for others",
		"Nobody is there to resolve $t; a task like $o does it for others."},
	[THRUM__STEP_NEVER_READY] = {"Is never made ready", "$x others like it were", NULL},
	[NEVER_WAITED] = {"Waits for nothing, and is never made ready",
		"$x others like it were, most of them after a wait", NULL},
	[ENDED_BEFORE] = {"Waits for “$o”, which had ended before",
		"it is never made ready, as $x others like it were",
		"$t waits for $o, which had ended before; "
		"it is never made ready, as $x others like it were."},
	[NEVER_TOOK] = {"Never takes “$o”", "$x others like it did", NULL},
	[THRUM__STEP_SHOULD_END] = {"Should resolve “$o”", "tasks like it resolve theirs", NULL},
	[THRUM__STEP_RESOLVED_OTHERS] = {"Ends without resolving “$o”", "it resolved those before",
		NULL},
	[LAST_OF_SOME] = {"Ends without resolving “$o”",
		"the last of $x that resolved those before", NULL},
	[THRUM__STEP_SHOULD_GO_ON] = {"Should resolve “$o”", "it resolved those before", NULL},
	[RAN_LAST] = {"Ran “$o” last", "others like it then went on elsewhere", NULL},
	[OPEN_CHILD] = {"Is pending; “$o” made it", "others like it ended first",
		"$t, which $o made, is pending; others like it ended first."},
	[THRUM__STEP_FAILED_MEANWHILE] = {"“$t” fails meanwhile", "$r", "$t fails meanwhile: $r."},
	[THRUM__STEP_CANCELLED_MEANWHILE] = {"“$t” is cancelled meanwhile", "[by “$o”]",
		"$t is cancelled meanwhile[ by $o]."},
	[STOPPED_MEANWHILE] = {"“$t” is stopped by “$o”", "nobody starts it again", NULL},
	[TIMER_STOPPED] = {"“$t” is stopped", "those like “$o” ended when it came", NULL},
	[THRUM__STEP_READIED_AGAIN] = {"Is made ready again[ by “$o”]",
		"it was ready already, and those made ready between never ran", NULL},
	[THRUM__STEP_ENDED_UNNOTICED] = {"Ends, but “$o” doesn't go on",
		"though it waited for this",
		"$t ends, but $o, which waited for it, doesn't go on."},
	[THRUM__STEP_TOOK] = {"Takes something out of “$o”", "always others take from there", NULL},
	[THRUM__STEP_PUT_OFF] = {"Never comes",
		"it is put off again and again[ by “$o”], $n times and more", NULL},
	[THRUM__STEP_NOT_AGAIN] = {"Isn't started again", "it ran last $s before the end", NULL},
	[NOT_AGAIN_LATE] = {"Isn't started again", "it had a time-out $s before the end", NULL},
	[NOT_AGAIN_ALL] = {"Isn't started again",
		"the last of $x that had a time-out, $s before the end", NULL},
	[THRUM__STEP_BEGAN_OTHERS] = {"Ends, and isn't made again",
		"one was there whenever others like “$o” began", NULL},
	[THRUM__STEP_UNTAKEN] = {"Puts something into “$o”", "nobody takes it", NULL},
	[READIES_NONE] = {"Signals “$o” and makes nobody ready",
		"it did each time before, and a task waits there", NULL},
	[THRUM__STEP_LEFT_QUEUE] = {"Ends after a job from “$o”",
		"all others wait there for the next", NULL},
	[LEFT_LAST] = {"Ends; “$o” is signalled after that", "nobody is left to hear it", NULL},
	[THRUM__STEP_LEFT_OPEN] = {"Isn't closed", "other handles of “$o” were", NULL},
	[THRUM__STEP_BEGINS_NOTHING] = {"Ends, and begins nothing",
		"others like it began a task then, such as “$o”", NULL},
	[FAILED_NOTHING] = {"Fails, and begins nothing",
		"$r; others like it began a task then, such as “$o”", NULL},
	[SENDS_NOTHING] = {"Ends, and sends nothing",
		"others like it sent something then, such as “$o”", NULL},
	[SENDS_NOT_AGAIN] = {"Ends, and sends nothing",
		"“$o” sent something before, and got no answer", NULL},
	[THRUM__STEP_SKIPS] = {"Goes on once without a signal for “$o”",
		"it gave one the $x other times", NULL},
	[THRUM__STEP_LEAVES_OUT] = {"Runs once without a signal for “$o”",
		"its other runs like this gave one, $x in all", NULL},
	[THRUM__STEP_COMES_BETWEEN] = {"Is the first of its kind", "since then “$o” is left out",
		NULL},
	[COMES_MEANWHILE] = {"Is the first of its kind", "others like “$o” ended in that time",
		NULL},
	[THRUM__STEP_PASSES_OVER] = {"Leaves out “$o”", "the $x before did not", NULL},
	[THRUM__STEP_MADE_AMID] = {"Is made while others like it are ended",
		"none of the $x that ended was", NULL},
	[THRUM__STEP_BEGINS_NONE] = {"Begins none like “$o”", "$x other such runs did", NULL},
	[THRUM__STEP_GAVE_UP] = {"Gives up its wait for “$o”",
		"others signal that $x times in vain, and not what is waited for", NULL},
	[THRUM__STEP_DOESNT_LOG] = {"Doesn't log “$g”",
		"others like it, such as “$o”, did so each time after its last line",
		"$t doesn't log “$g”; others like it, such as $o, did so each time after its last line."},
	[THRUM__STEP_LOGGED] = {"“$t” logs meanwhile", "“$g”", "$t logs meanwhile: “$g”."},
	[THRUM__STEP_SERVER_ENDED] = {"Ends", "nobody is left to serve “$o”", NULL},
	[NOBODY_TAKES] = {"Ends", "nobody is left to take from “$o”", NULL},
	[SERVED_SUCH] = {"Ends; it served such as “$o” before",
		"all others that did wait for such themselves",
		"$t ends; it served such as $o before. All others that did wait for such themselves."},
	[THRUM__STEP_SLEEPS_ON] = {"Waits without a time limit[ since “$o” woke it]",
		"it had one each time others waited for it before", NULL},
	[THRUM__STEP_SIGNALLED_LAST] = {"Was the last to signal “$o”",
		"since then only timers run, for $s",
		"$t was the last to signal $o. Since then only timers run, for $s."},
	[UNCOUNTED] = {"Signals “$o” for nobody, $x times", "but a task waits for it", NULL},
	[SIGNALLED_BEFORE] = {"Ends; it signalled “$o” before the wait",
		"nobody is left to serve it", NULL},
	[OTHERS_SIGNALLED] = {"Ends; it signalled “$o” before the wait",
		"all others that did so have signalled it since",
		"$t ends; it signalled $o before the wait. All others that did so have done it since."},
	[THRUM__STEP_ENDS_UNSERVED] = {"Ends without serving “$o”", "others like it served it",
		NULL},
	[UNSERVED_SOME] = {"Ends without serving “$o”",
		"and so do $x more; others like it served it", NULL},
	[THRUM__STEP_SHORT_WAY] = {"Ends, and leaves out where such as “$o” are signalled",
		"all others like it came there, $x in all", NULL},
	[THRUM__STEP_SHORT_TURN] = {"Leaves out once where the lock of “$o” is taken",
		"$x other such turns came there", NULL},
	[TOOK_KEPT] = {"Takes something out of “$o” and ends without putting it back",
		"others put theirs back", NULL},
	[THRUM__STEP_TAKES_LOCK] = {"Takes the lock of “$o”", "but doesn't signal it", NULL},
	[TAKES_SILENTLY] = {"Takes the lock of “$o” and signals nobody",
		"others that took it there did", NULL},
	[THRUM__STEP_MISSES_ROUND] = {"Doesn't serve “$o” this time",
		"all others have; each did in the rounds before",
		"$t doesn't serve $o this time. All others have; each did in the rounds before."},
	[NEVER_SERVES] = {"Doesn't serve “$o” meanwhile", "its like do so again and again", NULL},
	[THRUM__STEP_MERGED] = {"Runs once for $x wake-ups", "by “$o”; several become one",
		"$t runs once for $x wake-ups by $o: several become one."},
	[THRUM__STEP_ABANDONS] = {"Ends; it ran $x like “$o”", "which is ready, but never ran",
		NULL},
	[THRUM__STEP_MAY_SIGNAL] = {"May be to signal “$o”", "but waits itself, as all others do",
		NULL},
	[THRUM__STEP_SILENT] = {"Does nothing for $s", "but “$o” needs it",
		"$t does nothing more, though $o needs it."},
	[MAY_COMPUTE] = {"Gives no sign for $s", "it may compute; but “$o” needs it",
		"$t gives no sign; it may compute, though $o needs it."},
	[THRUM__STEP_READS_NO_MORE] = {"Reads no more", "though “$o” is for it", NULL},
	[THRUM__STEP_SERVES] = {"The only one that serves “$o”", "it did so last $s before the end",
		"Only $t serves $o; it did so last $s before the end."},
	[SERVES_TOO] = {"Serves “$o”, as others do", "all wait; it did so last $s before the end",
		"$t serves $o, as others do, and all of them wait."},
	[THRUM__STEP_RUNS_MEANWHILE] = {"Runs $x times since “$o” could run",
		"its loop never comes to that", NULL},
	[THRUM__STEP_SERVES_ITSELF] = {"Serves “$o”, too",
		"but waits for it itself, as all others do", NULL},
	[THRUM__STEP_WOKEN] = {"Is woken when “$o” ends", "another task that waits is not", NULL},
	[THRUM__STEP_NOT_WOKEN] = {"Is never woken", "though it waited for “$o”, which has ended",
		NULL},
	[THRUM__STEP_ABSENT] = {"Doesn't come to “$o”", "the others wait for it there",
		"$t doesn't come to $o, where the others wait for it."},
	[THRUM__STEP_ENDS_ABSENT] = {"Ends without coming to “$o”", "the others wait for it there",
		"$t ends without coming to $o, where the others wait for it."},
	[THRUM__STEP_WAKES_ONE] = {"Signals “$o”, for which $x wait", "only one of them is woken",
		NULL},
	[THRUM__STEP_WOKEN_INSTEAD] = {"Takes the wake-up", "and waits for “$o” again at once",
		NULL},
	[WAKE_UP_ENDS] = {"Takes the wake-up", "and ends; the others wait on", NULL},
	[WOKEN_WAITS] = {"Takes the wake-up",
		"and waits for “$o” now; one that sleeps on serves that", NULL},
	[WOKEN_LAPSED] = {"Is woken for “$o”", "but no longer waits there, and takes nothing",
		NULL},
	[WOKEN_DEAD] = {"Is made ready after its end", "those like “$o” need that", NULL},
	[WOKEN_IN_VAIN] = {"Is woken for “$o”", "but doesn't take it, though it is free", NULL},
	[THRUM__STEP_DUE_LATE] = {"Is due far too late", "$p others like it took at most $m", NULL},
	[DUE_LATE_THERE] = {"Is due far too late", "others in its place are due much sooner", NULL},
	[THRUM__STEP_FAILS_AGAIN] = {"The last of $n failed tries", "“$o” tries in vain",
		"$t is the last of $n failed tries in a row by $o."},
	[RETRIED] = {"Begins anew $n times", "its like ended ten times as fast", NULL},
	[THRUM__STEP_BEHIND] = {"Waits for “$o”", "so it hangs too", NULL},
	[THRUM__STEP_FIRST_PENDING] = {"The first of $n", "still pending",
		"$t is the first of $n that are still pending."},
	[THRUM__STEP_LAST_PENDING] = {"The last of $n", "still pending", "$t is the last of them."},
};

/* Chooses the text (enum step_text) of step i. */
static int text_of(const struct thrum__finding *finding, unsigned i)
{
	int kind = finding->steps[i].kind;

	switch (kind) {
	case THRUM__STEP_HOLDS: return finding->steps[i].more > 0 ? HOLD_SOME : kind;
	case THRUM__STEP_MAY_HOLD: return finding->steps[i].more > 0 ? MAY_HOLD_SOME : kind;
	case THRUM__STEP_NEEDS_LANE: return finding->steps[i].more > 0 ? NEEDS_LANES : kind;
	case THRUM__STEP_HELD_MOST: return finding->steps[i].more < 2 ? HELD_ONCE : kind;
	case THRUM__STEP_STILL_HOLDS: return finding->steps[i].more > 0 ? STILL_HOLD_SOME : kind;
	case THRUM__STEP_COMES_BETWEEN: return finding->steps[i].more > 0 ? COMES_MEANWHILE : kind;
	case THRUM__STEP_OVERTAKES: return finding->steps[i].more > 0 ? RUNS_FIRST : kind;
	case THRUM__STEP_FREE:
		return finding->count == 0 ? FREE_NEVER : finding->count == 1 ? FREE_ONCE : kind;
	case THRUM__STEP_WAITS_IN_CYCLE: return i + 1 >= finding->step_count ? CYCLE_CLOSED : kind;
	case THRUM__STEP_PENDING:
		return finding->steps[i].more > 0 ? PENDING_DUE
			: finding->peers == 0     ? PENDING_ALONE
			: finding->peers == 1     ? PENDING_ONE
						  : kind;
	case THRUM__STEP_WOKEN_INSTEAD:
		return finding->steps[i].edge == THRUM__NONE ? WAKE_UP_ENDS
			: finding->steps[i].more > 3         ? WOKEN_IN_VAIN
			: finding->steps[i].more > 2         ? WOKEN_DEAD
			: finding->steps[i].more > 1         ? WOKEN_LAPSED
			: finding->steps[i].more > 0         ? WOKEN_WAITS
							     : kind;
	case THRUM__STEP_WAITS_FOR: return finding->steps[i].more > 0 ? WAITS_FOR_UNKNOWN : kind;
	case THRUM__STEP_UNTAKEN: return finding->steps[i].more > 0 ? READIES_NONE : kind;
	case THRUM__STEP_BEGINS_NOTHING:
		return finding->steps[i].more > 2    ? SENDS_NOT_AGAIN
			: finding->steps[i].more > 1 ? SENDS_NOTHING
			: finding->steps[i].more > 0 ? FAILED_NOTHING
						     : kind;
	case THRUM__STEP_FAILS_AGAIN: return finding->steps[i].more > 0 ? RETRIED : kind;
	case THRUM__STEP_TAKES_LOCK: return finding->steps[i].more > 0 ? TAKES_SILENTLY : kind;
	case THRUM__STEP_SILENT: return finding->steps[i].more > 0 ? MAY_COMPUTE : kind;
	case THRUM__STEP_SERVES: return finding->steps[i].more > 0 ? SERVES_TOO : kind;
	case THRUM__STEP_TOOK: return finding->steps[i].more > 0 ? TOOK_KEPT : kind;
	case THRUM__STEP_MISSES_ROUND: return finding->steps[i].more > 0 ? NEVER_SERVES : kind;
	case THRUM__STEP_ENDS_UNSERVED: return finding->steps[i].more > 0 ? UNSERVED_SOME : kind;
	case THRUM__STEP_NOT_AGAIN:
		return finding->steps[i].more > 1    ? NOT_AGAIN_ALL
			: finding->steps[i].more > 0 ? NOT_AGAIN_LATE
						     : kind;
	case THRUM__STEP_SERVER_ENDED:
		return finding->steps[i].more > 3    ? SERVED_SUCH
			: finding->steps[i].more > 2 ? NOBODY_TAKES
			: finding->steps[i].more > 1 ? OTHERS_SIGNALLED
			: finding->steps[i].more > 0 ? SIGNALLED_BEFORE
						     : kind;
	case THRUM__STEP_SHOULD_GO_ON:
		return finding->steps[i].more > 1    ? OPEN_CHILD
			: finding->steps[i].more > 0 ? RAN_LAST
						     : kind;
	case THRUM__STEP_NEVER_READY:
		return finding->steps[i].other == THRUM__NONE               ? kind
			: finding->steps[i].other == finding->steps[i].task ? NEVER_WAITED
			: finding->steps[i].edge != THRUM__NONE             ? ENDED_BEFORE
									    : NEVER_TOOK;
	case THRUM__STEP_SIGNALLED_LAST: return finding->steps[i].more > 0 ? UNCOUNTED : kind;
	case THRUM__STEP_CANCELLED_MEANWHILE:
		return finding->steps[i].more > 1    ? TIMER_STOPPED
			: finding->steps[i].more > 0 ? STOPPED_MEANWHILE
						     : kind;
	case THRUM__STEP_RESOLVED_OTHERS: return finding->steps[i].more > 0 ? LAST_OF_SOME : kind;
	case THRUM__STEP_LEFT_QUEUE: return finding->steps[i].more > 0 ? LEFT_LAST : kind;
	case THRUM__STEP_DUE_LATE: return finding->steps[i].more > 0 ? DUE_LATE_THERE : kind;
	case THRUM__STEP_NEVER_RESOLVED: return i == 0 ? NOBODY_RESOLVES : kind;
	default: return kind < THRUM__STEP_KINDS ? kind : NOBODY_RESOLVES;
	}
}

const struct thrum__step_text *thrum__words_step_text(const struct thrum__finding *finding,
	unsigned i)
{
	return &texts[text_of(finding, i)];
}

bool thrum__words_step_is_due(const struct thrum__finding *finding, unsigned i)
{
	return text_of(finding, i) == PENDING_DUE;
}
