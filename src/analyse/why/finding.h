/* SPDX-License-Identifier: ISC */
/*
 * Findings: the faults that a trace shows, each as a chain of steps from its cause to its victim.
 * This is the face of the folder analyse/why:
 *
 *	thrum__why_make(model, &findings);
 *	for (uint32_t i = 0; i < findings.count; i++)
 *		… findings.findings[i] …
 *	thrum__why_free(&findings);
 *
 * DESIGN.md tells which file finds which mechanism.
 *
 * Nothing here makes sentences (words/finding.c does), draws, or changes the model.
 */
#ifndef ANALYSE_WHY_FINDING_H
#define ANALYSE_WHY_FINDING_H

#include "analyse/odd/odd.h"
#include "analyse/places.h"
#include "model/model.h"

/* X(NAME, word): the classes of findings, the worst first. */
#define THRUM__FINDINGS(X) \
	X(LOST_WAKE_UP, "lost wake-up") /* the last signal came before the wait, unheard */ \
	X(DEADLOCK, "deadlock")         /* a cycle of waits */ \
	X(NEVER_RESOLVED, "never resolved") \
	X(OUTSIDE, "waits for the outside") /* a request or timer takes longer than its peers */ \
	X(STARVED, "starved")               /* a task is ready, but another has the lane */ \
	X(CONTENDED, "contended lock")      /* tasks queue for it all the time */ \
	X(CANCELLED, "cancelled")           /* by a stranger, or while a task waited for it */ \
	X(FAILED_UNSEEN, "failed unseen")   /* nobody read the failure */ \
	X(LEAK, "leak")                     /* more and more tasks alike are pending */

enum thrum__finding_class {
#define THRUM__X(NAME, word) THRUM__FINDING_##NAME,
	THRUM__FINDINGS(THRUM__X)
#undef THRUM__X
	THRUM__FINDING_CLASSES,
};

/* The class's word, or "unknown". Static. */
const char *thrum__why_class_name(int class);

/*
 * A finding is certain if the recording proves it, likely if nothing else is known that explains
 * it, and possible if the program may intend it or events may be missing. The proofs:
 *
 *	LOST_WAKE_UP    a signal that no task heard, no signal since the wait began, and a task
 *	                behind that wait that should resolve
 *	DEADLOCK        each task of the cycle waits, has done nothing since, and needs the next
 *	the others      are never certain: a task may always do tomorrow what it has not done yet
 */
enum thrum__certainty {
	THRUM__POSSIBLE,
	THRUM__LIKELY,
	THRUM__CERTAIN,
};

/*
 * The events that prove a certain finding, of those classes that can be certain. No gap may lie
 * between them and the end, or the finding is only possible.
 *
 * LOST_WAKE_UP: the condition's latest signal says that nobody waited, and the wait came after it. No
 * task ever heard a signal of the condition, and the waiter isn't a thread that blocks: a condition
 * that is signalled again and again, or beside a state that threads look at, may be signalled in
 * vain without harm. If earlier signals were unheard and later waits ended nevertheless, no signal
 * counts as lost.
 *
 * DEADLOCK: each task of the cycle waits as its last act, and none can go on in another way: all
 * that a choice waits for, and all who hold a lock, are blocked as well. Each holder took the lock
 * itself or got it from a task that only waited for it, and only holders ever released it. A
 * deadlock is but likely if a lock's holders are a guess, if some of them are not blocked, or if it
 * leads through a blocked lane: then the peers of a task tell that no other lane would run it. If
 * fewer than three peers tell so, or if a wait has a time limit, it is possible.
 *
 * A contended lock is likely if tasks queued for a second, one of them for half a second; else it
 * is possible. The other classes conclude from what others did, and so are never certain.
 */

/* The certainty's word, or "unknown". Static. */
const char *thrum__why_certainty_name(int certainty);

/* X(NAME, word): the kinds of steps. Each comment tells what the step's `task` does, and which task
 * `other` is. */
#define THRUM__STEPS(X) \
	X(SIGNAL_LOST, "signal-lost")       /* a condition is signalled by other; nobody waits */ \
	X(WAITS_LATE, "waits-late")         /* begins to wait for other, the condition */ \
	X(WAITS_FOR, "waits-for")           /* waits for other, which nobody resolves */ \
	X(WAITED, "waited")                 /* waited for other until it was torn down */ \
	X(NEVER_RESOLVED, "never-resolved") /* the victim: should resolve and doesn't */ \
	X(HOLDS, "holds")                   /* holds the lock `other`, which others want */ \
	X(MAY_HOLD, "may-hold")             /* may do so: the events that tell are missing */ \
	X(STILL_HOLDS, "still-holds")       /* has ended, and didn't release the lock `other` */ \
	X(HELD_MOST, "held-most")           /* it and its peers hold the lock `other` longest */ \
	X(QUEUES, "queues")                 /* waits for the lock `other` longest */ \
	X(FREE, "free") /* a lock that is free or goes to others; other had it last */ \
	X(WAITS_IN_CYCLE, "waits-in-cycle") /* waits for other, which waits for it in a cycle */ \
	X(NEEDS_LANE, "needs-lane") /* only the lane of other could run it: it is blocked */ \
	X(BLOCKS_SERVERS, "blocks-servers") /* keeps the lane of all that served other */ \
	X(PENDING, "pending")               /* a request or timer that has no answer */ \
	X(HOGS, "hogs")                     /* runs on the lane while other is ready */ \
	X(OVERTAKES, "overtakes")           /* runs before other, which was ready earlier */ \
	X(UNANSWERED, "unanswered")         /* its lane is too busy to take its answer */ \
	X(NO_TURN, "no-turn")               /* took turns on its lane until one task kept it */ \
	X(READY, "ready")                   /* could run from here on; other made it ready */ \
	X(RUNS_LATE, "runs-late")           /* the task of READY runs at last; no other */ \
	X(LOST_MESSAGE, "lost-message") /* sends a message; other received those of its like */ \
	X(CANCELLED, "cancelled")       /* is cancelled by other */ \
	X(ENDS_TOO, "ends-too")         /* is cancelled or fails, as it read other */ \
	X(TORN_DOWN, "torn-down")       /* hung, and ends as other tears everything down */ \
	X(FAILED, "failed")             /* fails because of other, or by itself */ \
	X(UNREAD, "unread")             /* created other, and didn't read its failure */ \
	X(MAKER_ENDED, "maker-ended")   /* created other, and ended without resolving it */ \
	X(ENDS_WITHOUT, "ends-without") /* should have resolved other, as its peers do */ \
	X(NOT_STARTED, "not-started")   /* nobody like other is there to resolve it */ \
	X(NEVER_READY, "never-ready")   /* was never made ready, or took no permit of other */ \
	X(SHOULD_END, "should-end")     /* should resolve other, as its peers do */ \
	X(RESOLVED_OTHERS, "resolved-others") /* ended; it resolved those like other */ \
	X(SHOULD_GO_ON, "should-go-on") /* should resolve other, as it did with those like it */ \
	X(FAILED_MEANWHILE, "failed-meanwhile")       /* fails while the others hang */ \
	X(CANCELLED_MEANWHILE, "cancelled-meanwhile") /* the same, cancelled by other */ \
	X(READIED_AGAIN, "readied-again")             /* by other, though it was ready */ \
	X(ENDED_UNNOTICED, "ended-unnoticed")         /* other waited for it, and doesn't go on */ \
	X(TOOK, "took")       /* took an item from the mailbox `other`, as its like never do */ \
	X(PUT_OFF, "put-off") /* a timer that is due anew again and again, because of other */ \
	X(NOT_AGAIN, "not-again")       /* ran, and was not started again; other needs it */ \
	X(BEGAN_OTHERS, "began-others") /* ended; others like `other` began while it was there */ \
	X(UNTAKEN, "untaken")           /* puts something into other; nobody takes it */ \
	X(SLEEPS_ON, "sleeps-on")   /* has no time limit since other woke it; it had one before */ \
	X(LEFT_QUEUE, "left-queue") /* took job after job at other, and ended */ \
	X(LEFT_OPEN, "left-open")   /* a handle in the loop of other; more were closed */ \
	X(BEGINS_NOTHING, "begins-nothing") /* begins no task, as other and its like did */ \
	X(SKIPS, "skips") /* doesn't signal other once, as it does in all other rounds */ \
	X(LEAVES_OUT, \
		"leaves-out") /* runs without a signal for other, as all its like gave one */ \
	X(COMES_BETWEEN, \
		"comes-between")      /* is new; since then other is left out; or see `more` */ \
	X(PASSES_OVER, "passes-over") /* serves those beside other, and leaves it out */ \
	X(MADE_AMID, "made-amid") /* is made while its like are ended, as none that ended was */ \
	X(BEGINS_NONE, \
		"begins-none") /* a turn that begins none like other, as nearly all its like did */ \
	X(GAVE_UP, "gave-up")  /* gave up its wait for other, which is signalled in vain since */ \
	X(DOESNT_LOG, "no-log")           /* lacks a line that other and its like logged */ \
	X(LOGGED, "logged")               /* writes a log line meanwhile */ \
	X(SERVER_ENDED, "server-ended")   /* was the last that served the object `other` */ \
	X(ENDS_UNSERVED, "ends-unserved") /* ended without serving other, as its like did */ \
	X(SHORT_WAY, "short-way") /* ended, and left out where such as other are signalled */ \
	X(SHORT_TURN, \
		"short-turn") /* leaves out once a place where the lock of other, a condition, is taken */ \
	X(TAKES_LOCK, "takes-lock")         /* takes the lock of other, a condition */ \
	X(MISSES_ROUND, "misses-round")     /* doesn't serve other this time, as all others do */ \
	X(MERGED, "merged")                 /* runs once for several wake-ups by other */ \
	X(ABANDONS, "abandons")             /* ends; other is ready, and its like ran there */ \
	X(MAY_SIGNAL, "may-signal")         /* may be to signal other, but waits, as all do */ \
	X(SILENT, "silent")                 /* does nothing more, though `other` needs it */ \
	X(READS_NO_MORE, "reads-no-more")   /* doesn't read any more, though other writes to it */ \
	X(SERVES, "serves")                 /* alone serves the object `other`; see `more` */ \
	X(RUNS_MEANWHILE, "runs-meanwhile") /* runs often while other, a timer, is due */ \
	X(SERVES_ITSELF, "serves-itself")   /* serves other, as others do: they all wait for it */ \
	X(WOKEN, "woken")                   /* goes on after other ended, for which more waited */ \
	X(NOT_WOKEN, "not-woken")         /* never goes on, though it waited for other as well */ \
	X(ABSENT, "absent")               /* doesn't come to other, a barrier */ \
	X(ENDS_ABSENT, "ends-absent")     /* ended, and so doesn't come to other, a barrier */ \
	X(WAKES_ONE, "wakes-one")         /* signals other; one of those that wait is woken */ \
	X(WOKEN_INSTEAD, "woken-instead") /* is woken, and waits for other, or ends */ \
	X(SIGNALLED_LAST, "signalled-last") /* signalled other last; since then only timers run */ \
	X(DUE_LATE, "due-late")           /* a timer that is due far later than its peers were */ \
	X(FAILS_AGAIN, "fails-again")     /* the last of many failed tries that other makes */ \
	X(BEHIND, "behind")               /* waits for other, which is one step before */ \
	X(FIRST_PENDING, "first-pending") /* the first of the tasks that leak; its creator */ \
	X(LAST_PENDING, "last-pending")   /* the last of them; its creator */

enum thrum__step_kind {
#define THRUM__X(NAME, word) THRUM__STEP_##NAME,
	THRUM__STEPS(THRUM__X)
#undef THRUM__X
	THRUM__STEP_KINDS,
};

/* The word of a kind of step, or "unknown". Static. */
const char *thrum__why_step_name(int kind);

#define THRUM__NOBODY_TAKES 3
#define THRUM__SERVED_SUCH 4

struct thrum__step {
	uint8_t kind;         /* enum thrum__step_kind */
	uint32_t task, other; /* other may be NONE */
	int64_t time;         /* when it happened; if it lasts to the end, when it began */
	uint32_t edge;        /* the edge that proves it, or NONE */
	/* HOLDS, MAY_HOLD, STILL_HOLDS: further tasks that hold the lock `other` and have no step.
	 * HELD_MOST: how often the task and its peers held the lock. NEEDS_LANE: further lanes.
	 * LOGGED, DOESNT_LOG: the note with the line. WAKES_ONE: how many waited. WOKEN_INSTEAD: 1 if it then
	 * waits for `other`, another condition; 2 if it had given up its wait for `other`; 3 if it had ended;
	 * 4 if it runs since, and doesn't take `other`, a lock or a permit. CANCELLED_MEANWHILE: 2 if it is a
	 * timer, and those like `other` ended when it came. NEVER_READY: how many like it
	 * were, or took a permit. `other` is the task itself if most of these had waited, and it didn't; or
	 * with an edge, what had ended before the task began to wait for it.
	 * SHOULD_GO_ON: 1 if it ran it last, and its like went on in another thread; 2 if
	 * `other` made it, and such children ended first.
	 * SIGNALLED_LAST: 0, or how often it signalled a condition and counted none of those that wait.
	 * RESOLVED_OTHERS: how many did, if it wasn't alone. SERVER_ENDED: 1 if it signalled
	 * the condition `other` before the wait; 2 if all others that did so have signalled it since;
	 * NOBODY_TAKES if it took something out of it; SERVED_SUCH if it served such as `other`; else 0.
	 * UNTAKEN: 1 if nobody was made ready for it, as each time before. LEFT_QUEUE: 1 if nobody is left at
	 * `other`, which was signalled since; 0 if others wait there. WAITS_FOR: 1 if nothing is known of
	 * the other any more. DUE_LATE: 1 if too few of its peers ended to tell so, but they or others in
	 * its place were due much sooner.
	 * PENDING: 1 if it should have come at `until`. NOT_AGAIN: how many had a time-out, with it;
	 * else 0. RUNS_MEANWHILE: how often. MERGED, ABANDONS: how many. ENDS_UNSERVED: how many more did so.
	 * BEGINS_NOTHING: 1 if it failed; 2 if it should have sent something; 3 if `other` did in vain.
	 * FAILS_AGAIN: 1 if it became the next try each time. SKIPS: in how many rounds it did.
	 * LEAVES_OUT, BEGINS_NONE: how many other runs did. PASSES_OVER: how many rounds before had it.
	 * COMES_BETWEEN: 1 if others like `other` would have ended then. MADE_AMID: how many ended.
	 * OVERTAKES: 0, or how many more ran that were made later.
	 * SHORT_WAY, SHORT_TURN: how many came there.
	 * GAVE_UP: how many signals were in vain. MISSES_ROUND: 1 if its like do so all the time.
	 * TOOK: 1 if it should have put it back. SERVES: how many more do, which all wait, too.
	 * TAKES_LOCK: 1 if others signalled a condition like `other` where it took it. */
	uint32_t more;
	int64_t until; /* HELD_MOST, QUEUES: when it ended. PENDING: when it was due */
};

#define THRUM__STEPS_MAX 8

struct thrum__finding {
	uint8_t class, certainty; /* enum thrum__finding_class, enum thrum__certainty */
	uint8_t step_count;       /* at least 1 */
	struct thrum__step steps[THRUM__STEPS_MAX]; /* the cause first */
	uint32_t task;   /* the subject: the victim, or the task that leaks, fails or hogs */
	uint32_t behind; /* further tasks that wait behind the same cause, or behind one like it */
	/* LEAK: the pending tasks. DEADLOCK: the tasks of the cycle. CONTENDED: the most tasks
	 * that waited at once. FAILED_UNSEEN: the tasks like `task` that failed unseen. STARVED:
	 * the delays that tasks like `task` caused. With a step FREE: how often the lock was taken
	 * since the wait began; with a step PUT_OFF: how often the timer was due anew. */
	uint32_t count;
	/* CONTENDED: further locks like the subject that are contended, too. Else those of `behind` that
	 * are no tasks behind it, but further causes like it. */
	uint32_t alike;
	/* Tasks like the subject, or like the one that has no answer (PENDING) or is due too late:
	 * of the same kind, call site, and label but for its numbers. How many of them ended, and
	 * the median and the longest of their lives in ns. If `peers` is 0, the others mean
	 * nothing. */
	uint32_t peers;
	int64_t usual, longest;
	int64_t until; /* when a starved task ran, or a lock was contended no more; else the model's end */
};

/* Why it can't be told whether a pending task hangs. X(NAME, word): what the word says of the task */
#define THRUM__UNJUDGED(X) \
	X(TOO_SOON, "nothing like it has ended, and it waits for a short time only") \
	X(PARTLY_KNOWN, "not all that it waits for is known")

enum thrum__unjudged_reason {
#define THRUM__X(NAME, word) THRUM__UNJUDGED_##NAME,
	THRUM__UNJUDGED(THRUM__X)
#undef THRUM__X
};

/* The reason's word. Static. */
const char *thrum__why_unjudged_name(int reason);

#define THRUM__UNJUDGED_MAX 8

/* A pending task that should resolve, and of which nothing can be said. */
struct thrum__unjudged {
	uint32_t task;
	uint8_t reason; /* enum thrum__unjudged_reason */
};

struct thrum__findings {
	struct thrum__finding *findings; /* the most certain first; of these, the worst first */
	uint32_t count;
	struct thrum__unjudged unjudged[THRUM__UNJUDGED_MAX]; /* the first of them */
	uint32_t unjudged_count;                              /* all of them */
	/* Pending tasks that should resolve, and wait behind a call that may still return. */
	uint32_t idle[THRUM__UNJUDGED_MAX]; /* the first of them */
	uint32_t idle_count;                /* all of them */
	struct thrum__places places;
	uint8_t *mark;                /* enum thrum__mark, by place of tasks */
	struct thrum__odd_search odd; /* may be asked while the model stays, or freed before */
};

/* How a task takes part in a finding. */
enum thrum__mark {
	THRUM__MARK_NONE,
	THRUM__MARK_BEHIND, /* lies on the path from a victim to its cause, or waits behind it */
	THRUM__MARK_STUCK,  /* should resolve, and never does */
};

/*
 * Finds the faults at the model's end: at most 50 findings of each class, the first that the
 * search meets. If a trace was read only up to some time, these are the findings of that time.
 * A task that may just be under way is no finding: its age is no more than twice the longest life
 * of the tasks like it. Free *findings with thrum__why_free. Returns 0 or -THRUM_E_MEMORY, with
 * *findings untouched. O(tasks + edges); O(events) where a finding or a program at rest asks for odd turns.
 */
THRUM__MUST_USE int thrum__why_make(const struct thrum__model *, struct thrum__findings *);

/*
 * The same in steps, for who has other things to do meanwhile. The model must not change until the end.
 * thrum__why_begin returns NULL without memory; thrum__why_go_on returns 1 while more is to be done,
 * then 0, or -THRUM_E_MEMORY. thrum__why_end frees the work, and gives the findings once all is done;
 * NULL: they aren't wanted.
 */
struct thrum__why_work;
THRUM__MUST_USE struct thrum__why_work *thrum__why_begin(const struct thrum__model *);
THRUM__MUST_USE int thrum__why_go_on(struct thrum__why_work *);
void thrum__why_end(struct thrum__why_work *, struct thrum__findings *);

/* The search for odd turns that the findings will have: another thread may prepare it. */
struct thrum__odd_search *thrum__why_odd(struct thrum__why_work *);

/* Whether something likely or certain is found so far: then hardly anybody asks for odd turns. */
bool thrum__why_is_explained(const struct thrum__why_work *);

void thrum__why_free(struct thrum__findings *);

/* Writes the system calls in which threads hang, as `thrum record` told: pending handles, whose creators are
 * the threads' tasks. Returns how many were written, at most `room`. O(tasks) if such calls are known. */
uint32_t thrum__why_calls(const struct thrum__model *, uint32_t *calls, uint32_t room);

/* Up to when to read a trace again without findings, as its program's death let others go on; or -1. */
int64_t thrum__why_before_death(const struct thrum__model *);

/* Whether other processes did something after the first one of a trace was killed: they may hang since it is
 * gone. */
bool thrum__why_is_outlived(const struct thrum__model *);

/* The edge whose place in the program a step is about: its own; or if that has none, and the step tells who
 * should have signalled, the one of thrum__why_usual_signal. NONE: there is none. */
uint32_t thrum__why_place(const struct thrum__model *, const struct thrum__step *);

/* The latest signal of a task for `on`, if its place is known; else the latest of anybody; or NONE. */
uint32_t thrum__why_usual_signal(const struct thrum__model *, uint32_t task, uint32_t on);

/* The task's enum thrum__mark. Any index is allowed; a task that was forgotten has no mark. */
static inline int thrum__why_marks(const struct thrum__findings *findings, uint32_t task)
{
	return findings->mark ? findings->mark[thrum__place(&findings->places, task)]
			      : THRUM__MARK_NONE;
}

#endif
