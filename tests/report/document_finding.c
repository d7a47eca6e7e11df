/* SPDX-License-Identifier: ISC */
/* Findings in sentences: every kind of step, every class. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "document_helper.h"
#include "story.h"

#define MS 1000000

/* Tasks a and b, and one that failed because of c. */
static const char story[] = "0 create - 1 thread\n0 switch 1\n"
			    "1000 create 1 2 promise\n1000 label 2 \"a\n"
			    "1000 create 1 3 promise\n1000 label 3 \"b\n"
			    "1000 create 1 4 promise\n2000 fail 1 4 \"too [late] for $t\n"
			    "3000 wait 3 2\n"
			    "100000000 log 1 \"end\n";

static const struct {
	int kind;
	uint32_t count, peers;
	const char *says;
	const char *says_alone; /* without another task, if the sentence differs then */
} sentences[] = {
	{THRUM__STEP_SIGNAL_LOST, 0, 0, "[a] is signalled by [b]; nobody waits.",
		"[a] is signalled; nobody waits."},
	{THRUM__STEP_WAITS_LATE, 0, 0,
		"5 ms later [a] begins to wait for it. No signal comes after that."},
	{THRUM__STEP_WAITS_FOR, 0, 0, "[a] waits for [b] until the trace ends."},
	{THRUM__STEP_WAITED, 0, 0, "[a] waited for [b] for 90 ms, and nobody resolved it."},
	{THRUM__STEP_NEVER_RESOLVED, 0, 0, "[a] waits behind it until the trace ends."},
	{THRUM__STEP_HOLDS, 0, 0, "[a] holds [b] and doesn't release it."},
	{THRUM__STEP_HELD_MOST, 0, 0, "[a] holds [b] for 12 ms, which is longer than others."},
	{THRUM__STEP_QUEUES, 5, 0, "[a] waits for [b] for 12 ms; up to 5 tasks wait at once."},
	{THRUM__STEP_NEEDS_LANE, 0, 0, "[a] is left to [b], and this thread is blocked."},
	{THRUM__STEP_MAY_HOLD, 0, 0, "[a] may hold [b]; the events that tell are missing."},
	{THRUM__STEP_STILL_HOLDS, 0, 0, "[a] ends without releasing [b]."},
	{THRUM__STEP_FREE, 0, 0,
		"[a] is free, but no task that waits for it gets it; [b] had it last.",
		"[a] is free, but no task that waits for it gets it."},
	{THRUM__STEP_FREE, 1, 0,
		"[a] goes to another task: taken once since the wait began, by [b].",
		"[a] goes to another task: taken once since the wait began."},
	{THRUM__STEP_FREE, 1200, 0,
		"[a] goes to other tasks: taken 1,200 times since the wait began, last by [b].",
		"[a] goes to other tasks: taken 1,200 times since the wait began."},
	{THRUM__STEP_WAITS_IN_CYCLE, 0, 0, "[a] waits for [b] and this closes the cycle."},
	{THRUM__STEP_PENDING, 0, 0,
		"No answer to [a] for 90 ms; it is still pending when the trace ends."},
	{THRUM__STEP_PENDING, 0, 1,
		"No answer to [a] for 90 ms; the only other one like it took 7 ms."},
	{THRUM__STEP_PENDING, 0, 12,
		"No answer to [a] for 90 ms; 12 others like it took 6 ms, at most 7 ms."},
	{THRUM__STEP_HOGS, 0, 0, "[a] runs for 90 ms; other tasks have to wait."},
	{THRUM__STEP_OVERTAKES, 0, 0,
		"[a] runs before [b], which was ready earlier; others do so, too."},
	{THRUM__STEP_UNANSWERED, 0, 0, "[a] gets no answer; its thread is too busy to take one."},
	{THRUM__STEP_NO_TURN, 0, 0, "[a] has no turn; its thread is busy until the end."},
	{THRUM__STEP_READY, 0, 0, "[a] is ready to run because of [b], but its thread is busy.",
		"[a] is ready to run, but its thread is busy."},
	{THRUM__STEP_RUNS_LATE, 0, 0, "5 ms later [a] runs at last."},
	{THRUM__STEP_LOST_MESSAGE, 0, 0,
		"[a] sends a message that nobody receives; [b] received others like it.",
		"[a] sends a message that nobody receives."},
	{THRUM__STEP_CANCELLED, 0, 0, "[a] is cancelled by [b].", "[a] is cancelled."},
	{THRUM__STEP_TORN_DOWN, 0, 0, "[a] is torn down by [b]; it hung before.",
		"[a] is torn down; it hung before."},
	{THRUM__STEP_ENDS_TOO, 0, 0, "[a] ends too, though it should resolve: it waited for [b]."},
	{THRUM__STEP_FAILED, 0, 0, "[a] fails because of [b]: no reason is given.",
		"[a] fails: no reason is given."},
	{THRUM__STEP_UNREAD, 0, 0, "[a] created it and goes on; nobody reads the failure."},
	{THRUM__STEP_MAKER_ENDED, 0, 0, "[a] created [b] and ends without resolving it."},
	{THRUM__STEP_ENDS_WITHOUT, 0, 0,
		"[a] ends without resolving [b]; tasks like it resolve theirs."},
	{THRUM__STEP_NOT_STARTED, 0, 0,
		"Nobody is there to resolve [a]; a task like [b] does it for others."},
	{THRUM__STEP_NEVER_READY, 0, 0, "[a] never takes [b]; 0 others like it did."},
	{THRUM__STEP_SHOULD_END, 0, 0, "[a] should resolve [b]; tasks like it resolve theirs."},
	{THRUM__STEP_RESOLVED_OTHERS, 0, 0,
		"[a] ends without resolving [b]; it resolved those before."},
	{THRUM__STEP_SHOULD_GO_ON, 0, 0, "[a] should resolve [b]; it resolved those before."},
	{THRUM__STEP_FAILED_MEANWHILE, 0, 0, "[a] fails meanwhile: no reason is given."},
	{THRUM__STEP_CANCELLED_MEANWHILE, 0, 0, "[a] is cancelled meanwhile by [b].",
		"[a] is cancelled meanwhile."},
	{THRUM__STEP_READIED_AGAIN, 0, 0,
		"[a] is made ready again by [b]; it was ready already, and those made ready between "
		"never ran.",
		"[a] is made ready again; it was ready already, and those made ready between never ran."},
	{THRUM__STEP_ENDED_UNNOTICED, 0, 0,
		"[a] ends, but [b], which waited for it, doesn't go on."},
	{THRUM__STEP_TOOK, 0, 0, "[a] takes something out of [b]; always others take from there."},
	{THRUM__STEP_PUT_OFF, 20, 0,
		"[a] never comes; it is put off again and again by [b], 20 times and more.",
		"[a] never comes; it is put off again and again, 20 times and more."},
	{THRUM__STEP_NOT_AGAIN, 0, 0, "[a] isn't started again; it ran last 90 ms before the end."},
	{THRUM__STEP_MADE_AMID, 0, 0,
		"[a] is made while others like it are ended; none of the 0 that ended was."},
	{THRUM__STEP_BEGINS_NONE, 0, 0, "[a] begins none like [b]; 0 other such runs did."},
	{THRUM__STEP_GAVE_UP, 0, 0,
		"[a] gives up its wait for [b]; others signal that 0 times in vain, and not what is "
		"waited for."},
	{THRUM__STEP_BEGAN_OTHERS, 0, 0,
		"[a] ends, and isn't made again; one was there whenever others like [b] began."},
	{THRUM__STEP_UNTAKEN, 0, 0, "[a] puts something into [b]; nobody takes it."},
	{THRUM__STEP_LEFT_QUEUE, 0, 0,
		"[a] ends after a job from [b]; all others wait there for the next."},
	{THRUM__STEP_BEGINS_NOTHING, 0, 0,
		"[a] ends, and begins nothing; others like it began a task then, such as [b]."},
	{THRUM__STEP_SKIPS, 0, 0,
		"[a] goes on once without a signal for [b]; it gave one the 0 other times."},
	{THRUM__STEP_LEAVES_OUT, 0, 0,
		"[a] runs once without a signal for [b]; its other runs like this gave one, 0 in all."},
	{THRUM__STEP_COMES_BETWEEN, 0, 0,
		"[a] is the first of its kind; since then [b] is left out."},
	{THRUM__STEP_PASSES_OVER, 0, 0, "[a] leaves out [b]; the 0 before did not."},
	{THRUM__STEP_DOESNT_LOG, 0, 0,
		"[a] doesn't log “a”; others like it, such as [b], did so each time after its last line."},
	{THRUM__STEP_LOGGED, 0, 0, "[a] logs meanwhile: “a”."},
	{THRUM__STEP_SERVER_ENDED, 0, 0, "[a] ends; nobody is left to serve [b]."},
	{THRUM__STEP_SLEEPS_ON, 0, 0,
		"[a] waits without a time limit since [b] woke it; it had one each time others waited "
		"for it before."},
	{THRUM__STEP_SIGNALLED_LAST, 0, 0,
		"[a] was the last to signal [b]. Since then only timers run, for 90 ms."},
	{THRUM__STEP_SHORT_WAY, 0, 0,
		"[a] ends, and leaves out where such as [b] are signalled; all others like it came "
		"there, 0 in all."},
	{THRUM__STEP_ENDS_UNSERVED, 0, 0,
		"[a] ends without serving [b]; others like it served it."},
	{THRUM__STEP_SHORT_TURN, 0, 0,
		"[a] leaves out once where the lock of [b] is taken; 0 other such turns came there."},
	{THRUM__STEP_TAKES_LOCK, 0, 0, "[a] takes the lock of [b], but doesn't signal it."},
	{THRUM__STEP_MISSES_ROUND, 0, 0,
		"[a] doesn't serve [b] this time. All others have; each did in the rounds before."},
	{THRUM__STEP_MERGED, 0, 0, "[a] runs once for 0 wake-ups by [b]: several become one."},
	{THRUM__STEP_ABANDONS, 0, 0, "[a] ends; it ran 0 like [b], which is ready, but never ran."},
	{THRUM__STEP_MAY_SIGNAL, 0, 0,
		"[a] may be to signal [b], but waits itself, as all others do."},
	{THRUM__STEP_SILENT, 0, 0, "[a] does nothing more, though [b] needs it."},
	{THRUM__STEP_SERVES, 0, 0, "Only [a] serves [b]; it did so last 90 ms before the end."},
	{THRUM__STEP_RUNS_MEANWHILE, 0, 0,
		"[a] runs 0 times since [b] could run; its loop never comes to that."},
	{THRUM__STEP_BLOCKS_SERVERS, 0, 0,
		"[a] blocks the thread in which all ran that served [b]."},
	{THRUM__STEP_SERVES_ITSELF, 0, 0,
		"[a] serves [b], too, but waits for it itself, as all others do."},
	{THRUM__STEP_WOKEN, 0, 0, "[a] is woken when [b] ends; another task that waits is not."},
	{THRUM__STEP_NOT_WOKEN, 0, 0,
		"[a] is never woken, though it waited for [b], which has ended."},
	{THRUM__STEP_ABSENT, 0, 0, "[a] doesn't come to [b], where the others wait for it."},
	{THRUM__STEP_ENDS_ABSENT, 0, 0,
		"[a] ends without coming to [b], where the others wait for it."},
	{THRUM__STEP_READS_NO_MORE, 0, 0, "[a] reads no more, though [b] is for it."},
	{THRUM__STEP_WAKES_ONE, 0, 0,
		"[a] signals [b], for which 0 wait; only one of them is woken."},
	{THRUM__STEP_WOKEN_INSTEAD, 0, 0, "[a] takes the wake-up and ends; the others wait on."},
	{THRUM__STEP_DUE_LATE, 0, 12,
		"[a] is due far too late; 12 others like it took at most 7 ms."},
	{THRUM__STEP_FAILS_AGAIN, 12, 0, "[a] is the last of 12 failed tries in a row by [b]."},
	{THRUM__STEP_BEHIND, 0, 0, "[a] waits for [b], so it hangs too."},
	{THRUM__STEP_FIRST_PENDING, 1200, 0, "[a] is the first of 1,200 that are still pending."},
	{THRUM__STEP_LAST_PENDING, 1200, 0, "[a] is the last of them."},
	{THRUM__STEP_LEFT_OPEN, 0, 0, "[a] isn't closed; other handles of [b] were."},
};

struct told {
	struct thrum__model *model;
	struct thrum__document document;
	struct thrum__finding finding;
};

static void begin(struct told *t, const char *lines)
{
	*t = (struct told){.model = story_model(lines, false)};
	t->finding = (struct thrum__finding){.class = THRUM__FINDING_NEVER_RESOLVED,
		.certainty = THRUM__LIKELY,
		.task = story_task(t->model, 2),
		.step_count = 2,
		.usual = 6 * MS,
		.longest = 7 * MS,
		.until = 100 * MS};
	for (int i = 0; i < 2; i++)
		t->finding.steps[i] = (struct thrum__step){.kind = THRUM__STEP_NEVER_RESOLVED,
			.task = story_task(t->model, 2),
			.other = story_task(t->model, 3),
			.time = (5 + 5 * i) * MS,
			.until = 22 * MS,
			.edge = THRUM__NONE};
}

static const char *tell(struct told *t)
{
	assert_int_equal(thrum__document_finding(t->model, &t->finding, &t->document), 0);
	document_check(&t->document, t->model);
	return document_show(&t->document);
}

static void end(struct told *t)
{
	thrum__document_finish(&t->document);
	thrum__model_destroy(t->model);
}

/* Expects a sentence of the second step, as that has one before it. */
static void expect_step(struct told *t, const char *says)
{
	char wanted[300];
	const char *text = tell(t);

	snprintf(wanted, sizeof wanted, "step 2: %s -- [", says);
	if (!strstr(text, wanted))
		fail_msg("no \"%s\" in\n%s", wanted, text);
}

static void every_step(void **state)
{
	bool told[THRUM__STEP_KINDS] = {false};
	struct told t;

	(void)state;
	begin(&t, story);
	for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
		t.finding.count = sentences[i].count;
		t.finding.peers = sentences[i].peers;
		t.finding.steps[1].kind = (uint8_t)sentences[i].kind;
		t.finding.steps[1].other = story_task(t.model, 3);
		told[sentences[i].kind] = true;
		expect_step(&t, sentences[i].says);
		assert_int_equal(document_find(&t.document, "a")->target, story_task(t.model, 2));
		t.finding.steps[1].other = THRUM__NONE;
		if (sentences[i].says_alone)
			expect_step(&t, sentences[i].says_alone);
		else
			tell(&t);
		/* A task that did it itself has no other. */
		t.finding.steps[1].other = t.finding.steps[1].task;
		if (sentences[i].says_alone)
			expect_step(&t, sentences[i].says_alone);
	}
	for (int kind = 0; kind < THRUM__STEP_KINDS; kind++)
		if (!told[kind])
			fail_msg("%s isn't tried", thrum__why_step_name(kind));
	end(&t);
}

static void first_steps_and_reasons(void **state)
{
	struct told t;

	(void)state;
	begin(&t, story);
	assert_non_null(strstr(tell(&t),
		"step 1: Nobody resolves [a] before the trace ends. -- "
		"[since 5.000 ms, 95 ms]\n"));
	t.finding.steps[1].kind = THRUM__STEP_FAILED;
	t.finding.steps[1].task = story_task(t.model, 4);
	t.finding.steps[1].other = THRUM__NONE;
	expect_step(&t, "[promise 4] fails: “too [late] for $t”.");
	/* A step of a cycle that isn't the last. */
	t.finding.steps[0].kind = THRUM__STEP_WAITS_IN_CYCLE;
	assert_non_null(strstr(tell(&t), "step 1: [a] waits for [b]. -- "));
	/* The task that waits is the one at the event's edge. */
	t.finding.steps[1].kind = THRUM__STEP_WAITS_LATE;
	t.finding.steps[1].edge = THRUM__TASK(t.model, story_task(t.model, 3), edge_out);
	expect_step(&t, "5 ms later [b] begins to wait for it. No signal comes after that.");
	/* Several tasks serve it. */
	t.finding.steps[1].kind = THRUM__STEP_SERVES;
	t.finding.steps[1].other = story_task(t.model, 3);
	t.finding.steps[1].more = 1;
	expect_step(&t, "[promise 4] serves [b], as others do, and all of them wait.");
	t.finding.steps[1].kind = THRUM__STEP_SILENT;
	expect_step(&t, "[promise 4] gives no sign; it may compute, though [b] needs it.");
	t.finding.steps[1].kind = THRUM__STEP_MISSES_ROUND;
	expect_step(&t, "[promise 4] doesn't serve [b] meanwhile; its like do so again and again.");
	/* It took from the object. */
	t.finding.steps[1].more = THRUM__NOBODY_TAKES;
	t.finding.steps[1].kind = THRUM__STEP_SERVER_ENDED;
	expect_step(&t, "[promise 4] ends; nobody is left to take from [b].");
	t.finding.steps[1].more = THRUM__SERVED_SUCH;
	expect_step(&t,
		"[promise 4] ends; it served such as [b] before. All others that did wait "
		"for such themselves.");
	t.finding.steps[1].kind = THRUM__STEP_UNTAKEN;
	expect_step(&t,
		"[promise 4] signals [b] and makes nobody ready; it did each time before, and "
		"a task waits there.");
	/* A timer was stopped. */
	t.finding.steps[1].more = 2;
	t.finding.steps[1].kind = THRUM__STEP_CANCELLED_MEANWHILE;
	expect_step(&t, "[promise 4] is stopped; those like [b] ended when it came.");
	/* Several resolved others; and one was woken that had given up its wait. */
	t.finding.steps[1].more = 2;
	t.finding.steps[1].kind = THRUM__STEP_RESOLVED_OTHERS;
	expect_step(&t,
		"[promise 4] ends without resolving [b]; the last of 2 that resolved those before.");
	t.finding.steps[1].kind = THRUM__STEP_WOKEN_INSTEAD;
	t.finding.steps[1].edge = THRUM__TASK(t.model, story_task(t.model, 3), edge_out);
	expect_step(&t,
		"[promise 4] is woken for [b], but no longer waits there, and takes nothing.");
	t.finding.steps[1].kind = THRUM__STEP_NEVER_READY;
	expect_step(&t,
		"[promise 4] waits for [b], which had ended before; it is never made ready, as 2 others "
		"like it were.");
	t.finding.steps[1].kind = THRUM__STEP_WOKEN_INSTEAD;
	t.finding.steps[1].more = 4;
	expect_step(&t, "[promise 4] is woken for [b], but doesn't take it, though it is free.");
	t.finding.steps[1].edge = THRUM__NONE;
	/* A forgotten task has no link. */
	t.finding.steps[1].kind = THRUM__STEP_BEHIND;
	t.finding.steps[1].other = 123456;
	expect_step(&t, "[promise 4] waits for a forgotten task, so it hangs too.");
	end(&t);
}

static void every_class(void **state)
{
	static const char *const titles[THRUM__FINDING_CLASSES] = {
		[THRUM__FINDING_LOST_WAKE_UP] = "Lost wake-up on “a”",
		[THRUM__FINDING_DEADLOCK] = "Deadlock: “a” waits for itself",
		[THRUM__FINDING_NEVER_RESOLVED] = "“a” never resolves",
		[THRUM__FINDING_OUTSIDE] = "“a” waits for an answer from outside the program",
		[THRUM__FINDING_STARVED] = "“a” runs while other tasks are ready",
		[THRUM__FINDING_CONTENDED] = "“a” is contended: tasks queue for it all the time",
		[THRUM__FINDING_CANCELLED] = "“a” is cancelled by a task that didn't create it",
		[THRUM__FINDING_FAILED_UNSEEN] = "“a” fails, and nobody reads the failure",
		[THRUM__FINDING_LEAK] = "More and more tasks like “a” are pending",
	};
	struct told t;
	char wanted[200];

	(void)state;
	begin(&t, story);
	for (int class = 0; class < THRUM__FINDING_CLASSES; class ++) {
		t.finding.class = (uint8_t) class;
		snprintf(wanted, sizeof wanted,
			"title: !%s!\nremark: likely · no events lost nearby\n", titles[class]);
		assert_memory_equal(tell(&t), wanted, strlen(wanted));
	}
	t.finding.behind = 1;
	assert_non_null(strstr(tell(&t), "\nmore: and 1 more hangs behind it\n"));
	t.finding.behind = 1200;
	assert_non_null(strstr(tell(&t), "\nmore: and 1,200 more hang behind it\n"));
	t.finding.class = THRUM__FINDING_NEVER_RESOLVED;
	t.finding.alike = 2;
	assert_non_null(strstr(tell(&t), "\nmore: and 1,198 more hang behind it or 2 like it\n"));
	t.finding.behind = 2;
	assert_non_null(strstr(tell(&t), "\nmore: and 2 like it hang, too\n"));
	/* It is overdue: the title names what should have come. */
	t.finding.class = THRUM__FINDING_OUTSIDE;
	t.finding.task = t.finding.steps[0].other;
	t.finding.steps[0].kind = THRUM__STEP_PENDING;
	t.finding.steps[0].more = 1;
	t.finding.steps[0].until = 30 * MS;
	assert_non_null(strstr(tell(&t), "title: !“a” is overdue!\n"));
	assert_non_null(strstr(tell(&t), "[a] is pending for "));
	end(&t);
}

static void gaps_nearby(void **state)
{
	struct told t;

	(void)state;
	begin(&t,
		"0 create - 1 thread\n0 switch 1\n1000 create 1 2 promise\n"
		"1000 create 1 3 promise\n20000000 lost =3 \"full\n100000000 log 1 \"end\n");
	assert_non_null(strstr(tell(&t), "remark: likely · events were lost nearby\n"));
	/* The gap ends before the first step. */
	t.finding.steps[0].time = t.finding.steps[1].time = 90 * MS;
	assert_non_null(strstr(tell(&t), "remark: likely · no events lost nearby\n"));
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_step),
		cmocka_unit_test(first_steps_and_reasons),
		cmocka_unit_test(every_class),
		cmocka_unit_test(gaps_nearby),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
