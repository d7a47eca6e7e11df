/* SPDX-License-Identifier: ISC */
/*
 * Sentences of findings and their steps. In the texts, $ and a letter stand for
 *
 *	$t  the step's task                     $n  the finding's count
 *	$o  the step's other task               $p  the number of peers (tasks like it that ended)
 *	$w  the task that began to wait         $u  the median life of the peers
 *	$r  the reason of the failure           $m  the longest life of the peers
 *	$l  the time since the step before      $s  the time from the step to the finding's end
 *	$d  the duration of the step
 *	$i  the number of the step before        $x  further tasks of which the step is true
 *	$g  the step's log line                 $a  the number of further locks like it
 *
 * A text in brackets is left out if the step has no other task, or if that is the task itself.
 * Brackets don't nest.
 */
#include <stdio.h>
#include <string.h>

#include "analyse/thread.h"
#include "base/text.h"
#include "base/time.h"
#include "words/words.h"

#define NAME_ROOM 200

/* The texts of a step: one for each kind of step, and some for special cases of a kind. */
enum step_text {
	FREE_NEVER = THRUM__STEP_KINDS,
	FREE_ONCE,
	HOLD_SOME,
	MAY_HOLD_SOME,
	HELD_ONCE,
	NEEDS_LANES,
	STILL_HOLD_SOME,
	CYCLE_CLOSED,
	PENDING_ALONE,
	PENDING_ONE,
	PENDING_DUE,
	NOBODY_RESOLVES,
	WAKE_UP_ENDS,
	WOKEN_WAITS,
	DUE_LATE_THERE,
	SIGNALLED_BEFORE,
	LEFT_LAST,
	STOPPED_MEANWHILE,
	OTHERS_SIGNALLED,
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
	STEP_TEXTS,
};

/* The title and the line of a note in the picture, and a whole sentence. */
static const struct {
	const char *title, *line, *sentence;
} texts[STEP_TEXTS] = {
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
	[THRUM__STEP_HOLDS] = {"Holds “$o”", "and doesn't release it",
		"$t holds $o and doesn't release it."},
	[HOLD_SOME] = {"Holds “$o”", "and so do $x more",
		"$t holds $o and doesn't release it; so do $x more."},
	[THRUM__STEP_MAY_HOLD] = {"May hold “$o”", "the events that tell are missing",
		"$t may hold $o; the events that tell are missing."},
	[MAY_HOLD_SOME] = {"May hold “$o”", "or $x more; the events that tell are missing",
		"$t or $x more may hold $o; the events that tell are missing."},
	[THRUM__STEP_STILL_HOLDS] = {"Ends, but still holds “$o”", "it didn't release it",
		"$t ends without releasing $o."},
	[STILL_HOLD_SOME] = {"Ends, but still holds “$o”",
		"it didn't release it; others that hold it: $x",
		"$t ends without releasing $o. Others that hold it: $x."},
	[THRUM__STEP_HELD_MOST] = {"Holds “$o” for $d", "such tasks hold it longest: $x times",
		"$t holds $o for $d. Tasks like it hold it longest, $x times."},
	[HELD_ONCE] = {"Holds “$o” for $d", "longer than others",
		"$t holds $o for $d, longer than others."},
	[THRUM__STEP_QUEUES] = {"Waits for “$o” for $d", "up to $n tasks wait at once",
		"$t waits for $o for $d; up to $n tasks wait at once."},
	[THRUM__STEP_FREE] = {"“$t” goes to other tasks", "taken $n times since the wait began",
		"$t goes to other tasks: taken $n times since the wait began[, last by $o]."},
	[FREE_ONCE] = {"“$t” goes to another task", "taken once since the wait began",
		"$t goes to another task: taken once since the wait began[, by $o]."},
	[FREE_NEVER] = {"“$t” is free", "but no task that waits for it gets it",
		"$t is free, but no task that waits for it gets it[; $o had it last]."},
	[THRUM__STEP_WAITS_IN_CYCLE] = {"Waits for “$o”", "until the trace ends",
		"$t waits for $o."},
	[CYCLE_CLOSED] = {"Waits for “$o”", "and this closes the cycle",
		"$t waits for $o, and this closes the cycle."},
	[THRUM__STEP_NEEDS_LANE] = {"“$t” needs the thread “$o”", "the thread is blocked",
		"$t is left to $o, and this thread is blocked."},
	[NEEDS_LANES] = {"“$t” needs “$o” or $x more", "all of them are blocked",
		"$t is left to $o and $x more threads, and all of them are blocked."},
	[THRUM__STEP_PENDING] = {"No answer for $s", "$p others like it took $u, at most $m",
		"No answer to $t for $s; $p others like it took $u, at most $m."},
	[PENDING_ONE] = {"No answer for $s", "the only other one like it took $m",
		"No answer to $t for $s; the only other one like it took $m."},
	[PENDING_DUE] = {"Is pending for $s", "it was due after $d",
		"$t is pending for $s; it was due after $d."},
	[PENDING_ALONE] = {"No answer for $s", "it is still pending when the trace ends",
		"No answer to $t for $s; it is still pending when the trace ends."},
	[THRUM__STEP_HOGS] = {"Runs for $s", "other tasks have to wait",
		"$t runs for $s; other tasks have to wait."},
	[THRUM__STEP_OVERTAKES] = {"Runs before “$o”", "which was ready earlier; others do so, too",
		"$t and others run before $o, which was ready earlier."},
	[THRUM__STEP_UNANSWERED] = {"“$t” gets no answer", "its thread is too busy to take one",
		"$t gets no answer for $s, as its thread is too busy to take one."},
	[THRUM__STEP_NO_TURN] = {"“$t” has no turn", "its thread is busy until the end",
		"$t has had no turn for $s, as its thread is busy."},
	[THRUM__STEP_READY] = {"“$t” is ready to run", "but its thread is busy",
		"$t is ready to run[ because of $o], but its thread is busy."},
	[THRUM__STEP_RUNS_LATE] = {"“$t” runs at last", "$l after it was ready",
		"$l later $t runs at last."},
	[THRUM__STEP_LOST_MESSAGE] = {"Sends a message that is lost",
		"[“$o” received others like it]",
		"$t sends a message that nobody receives[; $o received others like it]."},
	[THRUM__STEP_CANCELLED] = {"“$t” is cancelled", "[by “$o”]", "$t is cancelled[ by $o]."},
	[THRUM__STEP_ENDS_TOO] = {"“$t” ends too", "though it should resolve: it waited for “$o”",
		"$t ends too, though it should resolve: it waited for $o."},
	[THRUM__STEP_TORN_DOWN] = {"“$t” is torn down", "[by “$o”; ]it hung before",
		"$t is torn down[ by $o]; it hung before."},
	[THRUM__STEP_FAILED] = {"“$t” fails", "$r", "$t fails[ because of $o]: $r."},
	[THRUM__STEP_UNREAD] = {"Nobody reads the failure", "“$t” created it and goes on",
		"$t created it and goes on; nobody reads the failure."},
	[THRUM__STEP_MAKER_ENDED] = {"Ends without resolving “$o”", "it created “$o”",
		"$t created $o and ends without resolving it."},
	[THRUM__STEP_ENDS_WITHOUT] = {"Ends without resolving “$o”", "tasks like it resolve theirs",
		"$t ends without resolving $o; tasks like it resolve theirs."},
	[THRUM__STEP_NOT_STARTED] = {"Nobody is there to resolve “$t”",
		"a task like “$o” does it for others",
		"Nobody is there to resolve $t; a task like $o does it for others."},
	[THRUM__STEP_SHOULD_END] = {"Should resolve “$o”", "tasks like it resolve theirs",
		"$t should resolve $o; tasks like it resolve theirs."},
	[THRUM__STEP_RESOLVED_OTHERS] = {"Ends without resolving “$o”", "it resolved those before",
		"$t ends without resolving $o; it resolved those before."},
	[THRUM__STEP_SHOULD_GO_ON] = {"Should resolve “$o”", "it resolved those before",
		"$t should resolve $o; it resolved those before."},
	[THRUM__STEP_FAILED_MEANWHILE] = {"“$t” fails meanwhile", "$r", "$t fails meanwhile: $r."},
	[THRUM__STEP_CANCELLED_MEANWHILE] = {"“$t” is cancelled meanwhile", "[by “$o”]",
		"$t is cancelled meanwhile[ by $o]."},
	[STOPPED_MEANWHILE] = {"“$t” is stopped by “$o”", "nobody starts it again",
		"$t is stopped by $o; nobody starts it again."},
	[THRUM__STEP_READIED_AGAIN] = {"Is made ready again[ by “$o”]",
		"it was ready already, and those made ready between never ran",
		"$t is made ready again[ by $o], though it was ready; those made ready between never ran."},
	[THRUM__STEP_ENDED_UNNOTICED] = {"Ends, but “$o” doesn't go on",
		"though it waited for this",
		"$t ends, but $o, which waited for it, doesn't go on."},
	[THRUM__STEP_TOOK] = {"Takes something out of “$o”", "always others take from there",
		"$t takes something out of $o; always others take from there."},
	[THRUM__STEP_PUT_OFF] = {"Never comes",
		"it is put off again and again[ by “$o”], $n times and more",
		"$t never comes: it is put off again and again[ by $o], $n times and more."},
	[THRUM__STEP_NOT_AGAIN] = {"Isn't started again", "it ran last $s before the end",
		"$t ran last $s before the end; nobody started it again."},
	[NOT_AGAIN_LATE] = {"Isn't started again", "it had a time-out $s before the end",
		"$t had a time-out $s before the end; nobody started it again."},
	[NOT_AGAIN_ALL] = {"Isn't started again",
		"the last of $x that had a time-out, $s before the end",
		"$t was the last of $x to have a time-out, $s before the end; nobody started them again."},
	[THRUM__STEP_BEGAN_OTHERS] = {"Ends, and isn't made again",
		"one was there whenever others like “$o” began",
		"$t ends, and isn't made again; one was there whenever others like $o began."},
	[THRUM__STEP_UNTAKEN] = {"Puts something into “$o”", "nobody takes it",
		"$t puts something into $o; nobody takes it."},
	[THRUM__STEP_LEFT_QUEUE] = {"Ends after a job from “$o”",
		"all others wait there for the next",
		"$t ends after a job from $o; all others wait there for the next."},
	[LEFT_LAST] = {"Ends; “$o” is signalled after that", "nobody is left to hear it",
		"$t ends; $o is signalled after that, and nobody is left to hear it."},
	[THRUM__STEP_LEFT_OPEN] = {"Isn't closed", "other handles of “$o” were",
		"$t isn't closed, though other handles of $o were."},
	[THRUM__STEP_BEGINS_NOTHING] = {"Ends, and begins nothing",
		"others like it began a task then, such as “$o”",
		"$t ends and begins nothing; others like it began a task then, such as $o."},
	[FAILED_NOTHING] = {"Fails, and begins nothing",
		"$r; others like it began a task then, such as “$o”",
		"$t fails and begins nothing: $r; others like it began a task then, such as $o."},
	[SENDS_NOTHING] = {"Ends, and sends nothing",
		"others like it sent something then, such as “$o”",
		"$t ends and sends nothing; others like it sent something then, such as $o."},
	[SENDS_NOT_AGAIN] = {"Ends, and sends nothing",
		"“$o” sent something before, and got no answer",
		"$t ends and sends nothing; $o sent something before, and got no answer."},
	[THRUM__STEP_SKIPS] = {"Goes on once without a signal for “$o”",
		"it gave one the $x other times",
		"$t goes on once without a signal for $o; it gave one the $x other times."},
	[THRUM__STEP_LEAVES_OUT] = {"Runs once without a signal for “$o”",
		"its other runs like this gave one, $x in all",
		"$t runs once without a signal for $o; its other runs like this gave one, $x in all."},
	[THRUM__STEP_BEGINS_NONE] = {"Begins none like “$o”", "$x other such runs did",
		"$t begins none like $o; $x other such runs did."},
	[THRUM__STEP_GAVE_UP] = {"Gives up its wait for “$o”",
		"others signal that $x times in vain, and not what is waited for",
		"$t gives up its wait for $o; others signal that $x times in vain since, and not "
		"what is waited for."},
	[THRUM__STEP_DOESNT_LOG] = {"Doesn't log “$g”",
		"others like it, such as “$o”, did so each time after its last line",
		"$t doesn't log “$g”; others like it, such as $o, did so each time after its last line."},
	[THRUM__STEP_LOGGED] = {"“$t” logs meanwhile", "“$g”", "$t logs meanwhile: “$g”."},
	[THRUM__STEP_SERVER_ENDED] = {"Ends", "nobody is left to serve “$o”",
		"$t ends; nobody is left to serve $o."},
	[THRUM__STEP_SIGNALLED_LAST] = {"Was the last to signal “$o”",
		"since then only timers run, for $s",
		"$t was the last to signal $o. Since then only timers run, for $s."},
	[SIGNALLED_BEFORE] = {"Ends; it signalled “$o” before the wait",
		"nobody is left to serve it",
		"$t ends; it signalled $o before the wait, and nobody is left to serve it."},
	[OTHERS_SIGNALLED] = {"Ends; it signalled “$o” before the wait",
		"all others that did so have signalled it since",
		"$t ends; it signalled $o before the wait. All others that did so have done it since."},
	[THRUM__STEP_ENDS_UNSERVED] = {"Ends without serving “$o”", "others like it served it",
		"$t ends without serving $o; others like it served it."},
	[UNSERVED_SOME] = {"Ends without serving “$o”",
		"and so do $x more; others like it served it",
		"$t ends without serving $o, and so do $x more; others like it served it."},
	[THRUM__STEP_SHORT_WAY] = {"Ends, and leaves out where such as “$o” are signalled",
		"all others like it came there, $x in all",
		"$t ends, and leaves out the place where such as $o are signalled; all others like "
		"it came there, $x in all."},
	[THRUM__STEP_SHORT_TURN] = {"Leaves out once where the lock of “$o” is taken",
		"$x other such turns came there",
		"$t leaves out once where the lock of $o is taken; $x other such turns came there."},
	[TOOK_KEPT] = {"Takes something out of “$o” and ends without putting it back",
		"others put theirs back",
		"$t takes something out of $o and ends without putting it back; others put theirs back."},
	[THRUM__STEP_TAKES_LOCK] = {"Takes the lock of “$o”", "but doesn't signal it",
		"$t takes the lock of $o, but doesn't signal it."},
	[TAKES_SILENTLY] = {"Takes the lock of “$o” and signals nobody",
		"others that took it there did",
		"$t takes the lock of $o and signals nobody; others that took it there did."},
	[THRUM__STEP_MISSES_ROUND] = {"Doesn't serve “$o” this time",
		"all others have; each did in the rounds before",
		"$t doesn't serve $o this time. All others have; each did in the rounds before."},
	[THRUM__STEP_MERGED] = {"Runs once for $x wake-ups", "by “$o”; several become one",
		"$t runs once for $x wake-ups by $o: several become one."},
	[THRUM__STEP_ABANDONS] = {"Ends; it ran $x like “$o”", "which is ready, but never ran",
		"$t ends; it ran $x like $o, which is ready, but never ran."},
	[THRUM__STEP_MAY_SIGNAL] = {"May be to signal “$o”", "but waits itself, as all others do",
		"$t may be to signal $o, but waits itself, as all others do."},
	[THRUM__STEP_SILENT] = {"Does nothing for $s", "but “$o” needs it",
		"$t does nothing more, though $o needs it."},
	[THRUM__STEP_READS_NO_MORE] = {"Reads no more", "though “$o” is for it",
		"$t reads no more, though $o is for it."},
	[THRUM__STEP_SERVES] = {"The only one that serves “$o”", "it did so last $s before the end",
		"Only $t serves $o; it did so last $s before the end."},
	[SERVES_TOO] = {"Serves “$o”, as others do", "all wait; it did so last $s before the end",
		"$t serves $o, as others do, and all of them wait."},
	[THRUM__STEP_RUNS_MEANWHILE] = {"Runs $x times since “$o” is due",
		"its loop never comes to that",
		"$t runs $x times since $o is due; its loop never comes to that."},
	[THRUM__STEP_SERVES_ITSELF] = {"Serves “$o”, too",
		"but waits for it itself, as all others do",
		"$t serves $o, too, but waits for it itself, as all others do."},
	[THRUM__STEP_WOKEN] = {"Is woken when “$o” ends", "another task that waits is not",
		"$t is woken when $o ends; another task that waits is not."},
	[THRUM__STEP_NOT_WOKEN] = {"Is never woken", "though it waited for “$o”, which has ended",
		"$t is never woken, though it waited for $o, which has ended."},
	[THRUM__STEP_ABSENT] = {"Doesn't come to “$o”", "the others wait for it there",
		"$t doesn't come to $o, where the others wait for it."},
	[THRUM__STEP_ENDS_ABSENT] = {"Ends without coming to “$o”", "the others wait for it there",
		"$t ends without coming to $o, where the others wait for it."},
	[THRUM__STEP_WAKES_ONE] = {"Signals “$o”, for which $x wait", "only one of them is woken",
		"$t signals $o, for which $x wait; only one of them is woken."},
	[THRUM__STEP_WOKEN_INSTEAD] = {"Takes the wake-up", "and waits for “$o” again at once",
		"$t takes the wake-up, and waits for $o again at once."},
	[WAKE_UP_ENDS] = {"Takes the wake-up", "and ends; the others wait on",
		"$t takes the wake-up and ends; the others wait on."},
	[WOKEN_WAITS] = {"Takes the wake-up",
		"and waits for “$o” now; one that sleeps on serves that",
		"$t takes the wake-up, and waits for $o now; one that sleeps on serves that."},
	[THRUM__STEP_DUE_LATE] = {"Is due far too late", "$p others like it took at most $m",
		"$t is due far too late: $p others like it took at most $m."},
	[DUE_LATE_THERE] = {"Is due far too late", "others in its place are due much sooner",
		"$t is due far too late: others in its place are due much sooner."},
	[THRUM__STEP_FAILS_AGAIN] = {"The last of $n failed tries", "“$o” tries in vain",
		"$t is the last of $n failed tries in a row by $o."},
	[RETRIED] = {"Begins anew $n times", "its like ended ten times as fast",
		"$t begins anew $n times; its like ended ten times as fast."},
	[THRUM__STEP_BEHIND] = {"Waits for “$o”", "so it hangs too",
		"$t waits for $o, so it hangs too."},
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
			: finding->steps[i].more > 0         ? WOKEN_WAITS
							     : kind;
	case THRUM__STEP_WAITS_FOR: return finding->steps[i].more > 0 ? WAITS_FOR_UNKNOWN : kind;
	case THRUM__STEP_BEGINS_NOTHING:
		return finding->steps[i].more > 2    ? SENDS_NOT_AGAIN
			: finding->steps[i].more > 1 ? SENDS_NOTHING
			: finding->steps[i].more > 0 ? FAILED_NOTHING
						     : kind;
	case THRUM__STEP_FAILS_AGAIN: return finding->steps[i].more > 0 ? RETRIED : kind;
	case THRUM__STEP_TAKES_LOCK: return finding->steps[i].more > 0 ? TAKES_SILENTLY : kind;
	case THRUM__STEP_SERVES: return finding->steps[i].more > 0 ? SERVES_TOO : kind;
	case THRUM__STEP_TOOK: return finding->steps[i].more > 0 ? TOOK_KEPT : kind;
	case THRUM__STEP_ENDS_UNSERVED: return finding->steps[i].more > 0 ? UNSERVED_SOME : kind;
	case THRUM__STEP_NOT_AGAIN:
		return finding->steps[i].more > 1    ? NOT_AGAIN_ALL
			: finding->steps[i].more > 0 ? NOT_AGAIN_LATE
						     : kind;
	case THRUM__STEP_SERVER_ENDED:
		return finding->steps[i].more > 1    ? OTHERS_SIGNALLED
			: finding->steps[i].more > 0 ? SIGNALLED_BEFORE
						     : kind;
	case THRUM__STEP_CANCELLED_MEANWHILE:
		return finding->steps[i].more > 0 ? STOPPED_MEANWHILE : kind;
	case THRUM__STEP_LEFT_QUEUE: return finding->steps[i].more > 0 ? LEFT_LAST : kind;
	case THRUM__STEP_DUE_LATE: return finding->steps[i].more > 0 ? DUE_LATE_THERE : kind;
	case THRUM__STEP_NEVER_RESOLVED: return i == 0 ? NOBODY_RESOLVES : kind;
	default: return kind < THRUM__STEP_KINDS ? kind : NOBODY_RESOLVES;
	}
}

/* ---- Filling in ---------------------------------------------------------------------------- */

/* A text that is being filled in. */
struct filling {
	const struct thrum__model *model;
	const struct thrum__finding *finding;
	const struct thrum__step *step;
	struct thrum__base_text text;
	struct thrum__words_mention *mentions;
	unsigned mention_count;
	bool is_cause; /* after the finding's sentence: names of tasks stand in quotes */
};

static void put_task(struct filling *f, uint32_t task)
{
	char words[NAME_ROOM];
	size_t size = thrum__words_task(f->model, task, words, sizeof words);

	size = size < sizeof words ? size : sizeof words - 1;
	thrum__base_text_put(&f->text, f->is_cause ? "“" : "");
	if (f->mentions && f->mention_count < THRUM__MENTIONS_MAX &&
		f->text.size + size < f->text.room && thrum__model_has_row(&f->model->tasks, task))
		f->mentions[f->mention_count++] =
			(struct thrum__words_mention){(uint32_t)f->text.size, (uint32_t)size, task};
	thrum__base_text_bytes(&f->text, words, size);
	thrum__base_text_put(&f->text, f->is_cause ? "”" : "");
}

/* Puts a task, with its process if that is another one than that of `beside`. */
static void put_beside(struct filling *f, uint32_t task, uint32_t beside)
{
	const struct thrum__model *model = f->model;
	const char *process;

	put_task(f, task);
	process = thrum__words_process(model, task);
	if (!*process || !thrum__model_has_row(&model->tasks, beside) ||
		strcmp(process, thrum__model_process(model, beside)) == 0)
		return;
	thrum__base_text_put(&f->text, " (");
	thrum__base_text_put(&f->text, process);
	thrum__base_text_put(&f->text, ")");
}

/* Puts the step's task. */
static void put_own(struct filling *f)
{
	uint32_t victim = f->finding->task, task = f->step->task;

	if (!f->is_cause)
		put_task(f, task);
	else if (task == victim)
		thrum__base_text_put(&f->text, "it");
	else
		put_beside(f, task, victim);
}

static void put_duration(struct filling *f, int64_t ns)
{
	char words[64];

	thrum__base_text_bytes(&f->text, words, thrum__words_duration(ns, 3, words, sizeof words));
}

static void put_number(struct filling *f, uint64_t number)
{
	char words[THRUM__NUMBER_ROOM];

	thrum__base_text_bytes(&f->text, words, thrum__words_number(number, words));
}

static void put_failure(struct filling *f)
{
	const char *reason = "";
	char words[NAME_ROOM];

	if (thrum__model_has_row(&f->model->tasks, f->step->task))
		reason = thrum__model_string(f->model,
			THRUM__TASK(f->model, f->step->task, failure), NULL);
	thrum__base_text_bytes(&f->text, words,
		(size_t)snprintf(words, sizeof words, *reason ? "“%.150s”" : "no reason is given",
			reason));
}

static void put_log(struct filling *f)
{
	const struct thrum__model *model = f->model;
	uint32_t note = f->step->more;
	const char *line = "";
	char words[NAME_ROOM];

	if (thrum__model_has_row(&model->notes, note))
		line = thrum__model_string(model, THRUM__NOTE(model, note, text), NULL);
	thrum__base_text_bytes(&f->text, words,
		(size_t)snprintf(words, sizeof words, "%.150s", line));
}

/* The task that waits, as the step's wait edge says: in mirage traces the step's task may be one
 * that a condition made for its waiter. Without such an edge, the step's task. */
static uint32_t waiter_of(const struct filling *f)
{
	const struct thrum__model *model = f->model;
	uint32_t edge = f->step->edge;
	bool is_known = thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
		thrum__model_has_row(&model->tasks, THRUM__EDGE(model, edge, from));

	return is_known ? THRUM__EDGE(model, edge, from) : f->step->task;
}

/* Puts the text that $ and `mark` stand for. */
static void put_mark(struct filling *f, char mark)
{
	const struct thrum__finding *finding = f->finding;
	const struct thrum__step *step = f->step;
	unsigned before = step > finding->steps ? (unsigned)(step - finding->steps) - 1 : 0;

	switch (mark) {
	case 't': put_own(f); break;
	case 'o': put_beside(f, step->other, step->task); break;
	case 'w': put_beside(f, waiter_of(f), step->task); break;
	case 'l':
		put_duration(f, thrum__base_time_between(finding->steps[before].time, step->time));
		break;
	case 's': put_duration(f, thrum__base_time_between(step->time, finding->until)); break;
	case 'u': put_duration(f, finding->usual); break;
	case 'm': put_duration(f, finding->longest); break;
	case 'd': put_duration(f, thrum__base_time_between(step->time, step->until)); break;
	case 'x': put_number(f, step->more); break;
	case 'n': put_number(f, finding->count); break;
	case 'a': put_number(f, finding->alike); break;
	case 'g': put_log(f); break;
	case 'p': put_number(f, finding->peers); break;
	case 'i': put_number(f, before + 1); break;
	default: put_failure(f);
	}
}

/* Fills the text in and ends it with NUL. Returns its whole length. */
static size_t fill_text(struct filling *f, const char *text)
{
	bool has_other = f->step->other != THRUM__NONE && f->step->other != f->step->task;

	while (*text) {
		size_t size = strcspn(text, "$[]");

		if (*text == '[' && !has_other) {
			text += strcspn(text, "]");
		} else if (*text == '$') {
			put_mark(f, text[1]);
			text += 2;
		} else if (size == 0) {
			text++;
		} else {
			thrum__base_text_bytes(&f->text, text, size);
			text += size;
		}
	}
	return f->text.size;
}

/* Says of the cause, if it is a task that runs at the end, whether its thread works. */
static void put_thread(struct filling *f, const char *before, const char *after)
{
	int64_t since = 0;
	enum thrum__thread_state state = f->step != f->finding->steps ||
			!thrum__model_has_row(&f->model->tasks, f->step->task)
		? THRUM__THREAD_UNKNOWN
		: thrum__analyse_thread_state(f->model, f->step->task, &since);

	if (state == THRUM__THREAD_UNKNOWN)
		return;
	thrum__base_text_put(&f->text, before);
	if (state == THRUM__THREAD_BUSY) {
		thrum__base_text_put(&f->text, "ts thread is busy on a CPU until the end");
	} else {
		thrum__base_text_put(&f->text, "ts thread is blocked in the kernel for ");
		put_duration(f, thrum__base_time_between(since, f->model->end));
		thrum__base_text_put(&f->text, ", until the end");
	}
	thrum__base_text_put(&f->text, after);
}

/* ---- Findings and steps -------------------------------------------------------------------- */

static size_t fill_step(const struct thrum__model *model, const struct thrum__finding *finding,
	unsigned i, const char *text, char *to, size_t size)
{
	struct filling f = {model, finding, &finding->steps[i], thrum__base_text_in(to, size), NULL,
		0};

	return fill_text(&f, text);
}

/* The task to name beside a finding's own: one that has part in a deadlock, or the other of the cause. */
static uint32_t second_of(const struct thrum__finding *finding)
{
	if (finding->class != THRUM__FINDING_DEADLOCK)
		return finding->steps[0].other;
	for (unsigned i = 0; i < finding->step_count; i++) {
		const struct thrum__step *step = &finding->steps[i];

		if (step->task != finding->task && step->kind != THRUM__STEP_NEVER_RESOLVED &&
			step->kind != THRUM__STEP_LEFT_QUEUE && step->kind != THRUM__STEP_BEHIND)
			return step->task;
	}
	return THRUM__NONE;
}

/* Fills in a text that belongs to no step and names one task, and perhaps a second. */
static size_t fill_about(const struct thrum__model *model, const struct thrum__finding *finding,
	uint32_t task, const char *text, char *to, size_t size)
{
	struct thrum__step about = {.task = task, .other = second_of(finding), .edge = THRUM__NONE};
	struct filling f = {model, finding, &about, thrum__base_text_in(to, size), NULL, 0};

	return fill_text(&f, text);
}

size_t thrum__words_finding(const struct thrum__model *model, const struct thrum__finding *finding,
	char *to, size_t size)
{
	static const char *const words[] = {
		[THRUM__FINDING_LOST_WAKE_UP] =
			"“$t” never resolves: the signal it needs came before the wait",
		[THRUM__FINDING_DEADLOCK] = "“$t” is in a cycle of waits[ with “$o”]",
		[THRUM__FINDING_NEVER_RESOLVED] = "“$t” never resolves",
		[THRUM__FINDING_OUTSIDE] = "“$t” waits for an answer from outside the program",
		[THRUM__FINDING_STARVED] = "“$t” runs while other tasks are ready",
		[THRUM__FINDING_CONTENDED] = "“$t” is contended: tasks queue for it all the time",
		[THRUM__FINDING_CANCELLED] = "“$t” is cancelled by a task that didn't create it",
		[THRUM__FINDING_FAILED_UNSEEN] = "“$t” fails, and nobody reads the failure",
		[THRUM__FINDING_LEAK] = "more and more tasks like “$t” are pending",
	};

	if (finding->class == THRUM__FINDING_OUTSIDE && text_of(finding, 0) == PENDING_DUE)
		return fill_about(model, finding, finding->steps[0].task, "“$t” is overdue", to,
			size);
	return fill_about(model, finding, finding->task,
		finding->class == THRUM__FINDING_CONTENDED && finding->alike > 0
			? "“$t” is contended, and $a like it: tasks queue for them all the time"
			: words[finding->class],
		to, size);
}

size_t thrum__words_finding_cause(const struct thrum__model *model,
	const struct thrum__finding *finding, char *to, size_t size)
{
	const char *sentence = texts[text_of(finding, 0)].sentence, *end = strstr(sentence, ". ");
	struct filling f = {model, finding, finding->steps, thrum__base_text_in(to, size), NULL, 0,
		.is_cause = true};
	char clause[200];

	if (finding->class != THRUM__FINDING_NEVER_RESOLVED ||
		finding->steps[0].kind == THRUM__STEP_NEVER_RESOLVED)
		sentence = end = "";
	else if (!end)
		end = sentence + strlen(sentence) - 1; /* without its full stop */
	snprintf(clause, sizeof clause, "%.*s", (int)(end - sentence), sentence);
	return fill_text(&f, clause);
}

size_t thrum__words_finding_more(const struct thrum__finding *finding, char *to, size_t size)
{
	struct filling f = {.finding = finding, .text = thrum__base_text_in(to, size)};
	uint32_t alike = finding->class == THRUM__FINDING_CONTENDED ? 0 : finding->alike;
	uint32_t behind = finding->behind > alike ? finding->behind - alike : 0;

	if (finding->behind > 0 && behind == 0) {
		put_number(&f, alike);
		thrum__base_text_put(&f.text,
			alike == 1 ? " like it hangs, too" : " like it hang, too");
	} else if (behind > 0) {
		put_number(&f, behind);
		thrum__base_text_put(&f.text,
			behind == 1 ? " more hangs behind it" : " more hang behind it");
		if (alike > 0) {
			thrum__base_text_put(&f.text, " or ");
			put_number(&f, alike);
			thrum__base_text_put(&f.text, " like it");
		}
	}
	return f.text.size;
}

size_t thrum__words_finding_title(const struct thrum__model *model,
	const struct thrum__finding *finding, char *to, size_t size)
{
	switch (finding->class) {
	case THRUM__FINDING_LOST_WAKE_UP:
		return fill_about(model, finding, finding->steps[0].task, "Lost wake-up on “$t”",
			to, size);
	case THRUM__FINDING_DEADLOCK:
		return fill_about(model, finding, finding->task,
			"Deadlock: “$t” is in a cycle of waits[ with “$o”]", to, size);
	case THRUM__FINDING_LEAK:
		return fill_about(model, finding, finding->task,
			"More and more tasks like “$t” are pending", to, size);
	default: return thrum__words_finding(model, finding, to, size);
	}
}

size_t thrum__words_step_title(const struct thrum__model *model,
	const struct thrum__finding *finding, unsigned i, char *to, size_t size)
{
	return fill_step(model, finding, i, texts[text_of(finding, i)].title, to, size);
}

size_t thrum__words_step_line(const struct thrum__model *model,
	const struct thrum__finding *finding, unsigned i, char *to, size_t size)
{
	struct filling f = {model, finding, &finding->steps[i], thrum__base_text_in(to, size), NULL,
		0};

	fill_text(&f, texts[text_of(finding, i)].line);
	put_thread(&f, "; i", "");
	return f.text.size;
}

size_t thrum__words_step_sentence(const struct thrum__model *model,
	const struct thrum__finding *finding, unsigned i, char *to, size_t size,
	struct thrum__words_mention mentions[THRUM__MENTIONS_MAX], unsigned *count)
{
	struct filling f = {model, finding, &finding->steps[i], thrum__base_text_in(to, size),
		mentions, 0};

	fill_text(&f, texts[text_of(finding, i)].sentence);
	put_thread(&f, " I", ".");
	*count = f.mention_count;
	return f.text.size;
}
