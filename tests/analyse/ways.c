/* SPDX-License-Identifier: ISC */
/* A task hangs, and something was otherwise for it than for those like it. Twins of the stories lack that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

static struct {
	struct thrum__model *model;
	struct thrum__findings findings;
} story;

static void begin(void)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
}

/* Ends the story. Returns how many findings it has. */
static uint32_t judge(void)
{
	story_tell("1900" MS "log 1 \"end\n");
	story.model = story_findings(&story.findings);
	return story.findings.count;
}

static void finish(void)
{
	story_free(story.model, &story.findings);
}

/* The story has one finding, which begins with a step of this kind about this task and another one (0: not
 * about another one). */
static void expect_first(int kind, uint64_t task, uint64_t other)
{
	const struct thrum__step *step;

	assert_int_equal(judge(), 1);
	step = &story.findings.findings[0].steps[0];
	assert_string_equal(thrum__why_step_name(step->kind), thrum__why_step_name(kind));
	assert_int_equal(step->task, story_task(story.model, task));
	if (other)
		assert_int_equal(step->other, story_task(story.model, other));
	finish();
}

/* A named task that main makes. */
static void tell_task(int ms, int id, const char *kind, const char *name)
{
	story_tell("%d" MS "create 1 %d %s\n%d" MS "label %d \"%s %d\n", ms, id, kind, ms, id, name,
		id % 100);
}

/* The page, which should end, waits for the last of some tasks. */
static void tell_page(int ms, int on)
{
	story_tell("%d" MS "create 1 9 bind\n%d" MS "label 9 \"page\n%d" MS
		   "should-resolve 9\n%d" MS "wait 9 %d\n",
		ms, ms, ms, ms, on);
}

/* ---- A pool ---------------------------------------------------------------------------------- */

/* Queries, each with a callback that reads how it ended. For each letter there is one. `r`: it is
 * resolved, and its callback gives its connection to the next that waits. `k`: the same, but its callback
 * keeps it. `f`: it fails, and its callback keeps it. `F`: it fails, and the callback gives it on. */
static void tell_queries(const char *ends)
{
	int count = 0, waits = 0;

	begin();
	for (int i = 0; ends[i]; i++) {
		int ms = 10 + 10 * i, query = 100 + i, callback = 200 + i;
		bool fails = ends[i] == 'f' || ends[i] == 'F';

		tell_task(ms, query, "task", "query");
		story_tell("%d" MS "create 1 %d bind =3\n%d" MS "wait %d %d\n", ms, callback, ms,
			callback, query);
		tell_task(ms, 300 + waits++, "task", "wait for connection");
		story_tell("%d" MS "%s 1 %d\n%d" MS "switch %d\n%d" MS "read %d %d\n", ms + 5,
			fails ? "fail" : "resolve", query, ms + 5, callback, ms + 5, callback,
			query);
		if (ends[i] == 'r' || ends[i] == 'F')
			story_tell("%d" MS "resolve %d %d\n", ms + 6, callback, 300 + count++);
		story_tell("%d" MS "resolve %d %d\n%d" MS "switch 1\n", ms + 7, callback, callback,
			ms + 8);
	}
	tell_page(400, 300 + waits - 1);
	for (int i = count; i + 1 < waits; i++)
		story_tell("401" MS "cancel 1 %d\n", 300 + i);
}

static void a_failure_ends_none(void **state)
{
	tell_queries("rrrrrfrr");
	expect_first(THRUM__STEP_FAILED, 105, 0);
	/* Some failures gave on what they had. */
	tell_queries("rrrrFFff");
	expect_first(THRUM__STEP_WAITS_FOR, 9, 307);
}

static void what_one_brought_went_elsewhere(void **state)
{
	tell_queries("rrrrkrrrr");
	expect_first(THRUM__STEP_ENDS_WITHOUT, 104, 308);
	/* If several ended none, there is no such rule. */
	tell_queries("rrkrrkkrr");
	expect_first(THRUM__STEP_WAITS_FOR, 9, 308);
	/* Three are too few. */
	tell_queries("rrrk");
	expect_first(THRUM__STEP_WAITS_FOR, 9, 303);
}

/* ---- A batch --------------------------------------------------------------------------------- */

/* Rows wait until they are written. For each letter there is one row. `t`: it starts a timer, which begins to
 * write. `w`: it begins so itself. `n`: nothing does. */
static void tell_rows(const char *rows)
{
	int row = 300, timer = 500;

	begin();
	for (int i = 0; rows[i]; i++, row++) {
		int ms = 10 + 20 * i, by = 1, write = 600 + i, callback = 700 + i;

		tell_task(ms, row, "task", "row");
		if (rows[i] == 'n')
			break;
		if (rows[i] == 't') {
			tell_task(ms, ++timer, "timer", "flush");
			by = timer;
			story_tell("%d" MS "switch %d\n", ms + 5, timer);
		}
		story_tell("%d" MS "create %d %d task\n%d" MS "label %d \"write\n", ms + 6, by,
			write, ms + 6, write);
		if (rows[i] == 't')
			story_tell("%d" MS "resolve %d %d\n%d" MS "switch 1\n", ms + 7, timer,
				timer, ms + 7);
		story_tell("%d" MS "create %d %d on_success =4\n%d" MS "wait %d %d\n", ms + 7, by,
			callback, ms + 7, callback, write);
		story_tell("%d" MS "resolve 1 %d\n%d" MS "switch %d\n%d" MS "read %d %d\n", ms + 9,
			write, ms + 9, callback, ms + 9, callback, write);
		story_tell("%d" MS "resolve %d %d\n%d" MS "resolve %d %d\n%d" MS "switch 1\n",
			ms + 10, callback, row, ms + 10, callback, callback, ms + 10);
	}
	tell_page(400, row);
}

static void a_timer_is_missing(void **state)
{
	tell_rows("ttttttn");
	expect_first(THRUM__STEP_NOT_STARTED, 306, 506);
	/* Some did without it. */
	tell_rows("tttttwtn");
	expect_first(THRUM__STEP_NOT_STARTED, 307, 506);
	/* Most did without it, but not without the other one. */
	tell_rows("twwtwwn");
	expect_first(THRUM__STEP_NOT_STARTED, 306, 605);
	/* Three are too few. */
	tell_rows("tttn");
	expect_first(THRUM__STEP_WAITS_FOR, 9, 303);
}

static void the_timer_is_there(void **state)
{
	tell_rows("ttttttn");
	tell_task(410, 599, "timer", "flush");
	story_tell("410" MS "create 1 699 task\n410" MS "label 699 \"write\n");
	story_tell("1800" MS "resolve 1 599\n");
	expect_first(THRUM__STEP_WAITS_FOR, 9, 306);
}

/* ---- Queues ---------------------------------------------------------------------------------- */

/* Two tasks on one loop give each other items over two queues, as the main thread begins it. */
static void tell_queues(const char *beginning)
{
	begin();
	story_tell("1" MS "create 1 2 stream\n1" MS "label 2 \"urls\n1" MS "create 1 3 stream\n1" MS
		   "label 3 \"links\n");
	story_tell("1" MS "create 1 4 bind\n1" MS "label 4 \"crawler\n1" MS "create 1 5 bind\n1" MS
		   "label 5 \"parser\n");
	story_tell("1" MS "create 1 6 join\n1" MS "should-resolve 6\n1" MS "wait 6 4\n1" MS
		   "wait 6 5\n");
	story_tell("%s", beginning);
	for (int i = 0; i < 4; i++)
		story_tell("%d" MS "switch 4\n%d" MS "signal 4 2 =0\n%d" MS "read 4 3\n%d" MS
			   "switch 5\n%d" MS "read 5 2\n%d" MS "signal 5 3 =0\n%d" MS "switch 1\n",
			10 + i, 10 + i, 10 + i, 10 + i, 10 + i, 10 + i, 10 + i);
}

/* In the end each of them waits for a queue. Expects one finding of a class. */
static void expect_class(int crawler, int parser, int class)
{
	story_tell("20" MS "create 4 7 wait\n20" MS "wait 7 %d\n20" MS "wait 4 7\n", crawler);
	story_tell("20" MS "create 5 8 wait\n20" MS "wait 8 %d\n20" MS "wait 5 8\n", parser);
	story_tell("21" MS "suspend 1 \"wait for work\n");
	assert_int_equal(judge(), 1);
	assert_int_equal(story.findings.findings[0].class, class);
	finish();
}

#define LOOPS "3" MS "suspend 1 \"wait for work\n4" MS "resume 1\n"

static void empty_queues_are_crossed(void **state)
{
	tell_queues("2" MS "signal 1 3 =0\n" LOOPS);
	expect_class(3, 2, THRUM__FINDING_DEADLOCK);
	/* The thread may put something in again. */
	tell_queues(LOOPS "5" MS "signal 1 3 =0\n");
	expect_class(3, 2, THRUM__FINDING_NEVER_RESOLVED);
}

static void full_queues_are_crossed(void **state)
{
	/* The thread made the one that took the first item, and put it in. */
	tell_queues("2" MS "create 1 10 wait\n2" MS "wait 10 2\n2" MS "signal 1 2 =1\n2" MS
		    "read 10 2\n2" MS "resolve 1 10\n2" MS "signal 1 2 =0\n" LOOPS);
	expect_class(2, 3, THRUM__FINDING_DEADLOCK);
	/* It may take one again. */
	tell_queues(LOOPS "5" MS "read 1 2\n");
	expect_class(2, 3, THRUM__FINDING_NEVER_RESOLVED);
}

/* ---- A stream that a thread began ---------------------------------------------------------------- */

/* The thread puts the first item into a stream, and then a task puts more there, from its loop. It ends. Or
 * the thread puts one in from its loop, too. */
static void tell_stream(bool is_begun)
{
	begin();
	story_tell("1" MS "create 1 2 stream\n1" MS "label 2 \"items\n1" MS "create 1 3 task\n1" MS
		   "label 3 \"producer\n");
	story_tell("2" MS "signal 1 2 =1\n3" MS "suspend \"wait for work\n10" MS
		   "resume \"wait for work\n11" MS "switch 3\n11" MS "signal 3 2 =1\n");
	if (!is_begun)
		story_tell("12" MS "switch 1\n12" MS "signal 1 2 =1\n12" MS "switch 3\n");
	story_tell("20" MS "signal 3 2 =1\n20" MS "resolve 3 3\n21" MS "switch 1\n");
	tell_page(30, 2);
}

static void who_went_on_with_a_stream_ends(void **state)
{
	tell_stream(true);
	expect_first(THRUM__STEP_SERVER_ENDED, 3, 2);
	tell_stream(false);
	expect_first(THRUM__STEP_WAITS_FOR, 9, 2);
}

/* ---- A window ---------------------------------------------------------------------------------- */

/* Packets of a loop, each in a turn of its own, and a task that waits for room. For each letter there is one.
 * `r`: it is resolved, and the loop signals that there is room. `f`: it fails, `c`: it is cancelled, both
 * without a signal. `F`: it fails with one. `s`: the loop signals in a turn without a packet. */
static void tell_packets(const char *ends)
{
	begin();
	story_tell("1" MS "create 1 2 condition\n1" MS "label 2 \"room\n");
	for (int i = 0; ends[i]; i++) {
		int ms = 10 + 10 * i, packet = 100 + i;

		if (ends[i] != 's') {
			tell_task(ms, packet, "request", "packet");
			story_tell("%d" MS "switch %d\n%d" MS "%s %d %d\n%d" MS "switch 1\n",
				ms + 2, packet, ms + 3,
				ends[i] == 'r'           ? "resolve"
					: ends[i] == 'c' ? "cancel"
							 : "fail",
				packet, packet, ms + 4);
			story_tell("%d" MS "read 1 %d\n", ms + 4, packet);
		}
		if (ends[i] == 'r' || ends[i] == 's' || ends[i] == 'F')
			story_tell("%d" MS "signal 1 2 =1\n", ms + 4);
		story_tell("%d" MS "suspend \"wait for work\n%d" MS "resume \"wait for work\n",
			ms + 5, ms + 8);
	}
	tell_page(500, 2);
}

static void failures_make_no_room(void **state)
{
	tell_packets("rrrrfrrfr");
	expect_first(THRUM__STEP_FAILED, 107, 0);
	tell_packets("rrrcrrcr");
	expect_first(THRUM__STEP_CANCELLED, 106, 0);
	/* One made room, so they may. */
	tell_packets("rrrrFrrfr");
	expect_first(THRUM__STEP_WAITS_FOR, 9, 2);
	/* Much room comes from elsewhere. */
	tell_packets("rsrrsffrrr");
	expect_first(THRUM__STEP_WAITS_FOR, 9, 2);
	/* Three are too few. */
	tell_packets("rrrff");
	expect_first(THRUM__STEP_WAITS_FOR, 9, 2);
}

/* ---- Batches ----------------------------------------------------------------------------------- */

/* Watchers in groups of `size`, each of which a task of its own ends: all of them, but for the third group's
 * last. */
static void tell_watchers(int size)
{
	begin();
	for (int k = 0; k < 5; k++) {
		int ms = 10 + 20 * k;

		for (int i = 0; i < size; i++)
			tell_task(ms, 100 + k * size + i, "task", "watcher");
		tell_task(ms + 10, 200 + k, "task", "change");
		story_tell("%d" MS "switch %d\n", ms + 10, 200 + k);
		for (int i = 0; i < size; i++)
			if (k != 2 || i + 1 < size)
				story_tell("%d" MS "resolve %d %d\n", ms + 10, 200 + k,
					100 + k * size + i);
		story_tell("%d" MS "resolve %d %d\n%d" MS "switch 1\n", ms + 11, 200 + k, 200 + k,
			ms + 11);
	}
	tell_page(300, 100 + 3 * size - 1);
}

static void a_batch_leaves_one_out(void **state)
{
	tell_watchers(3);
	expect_first(THRUM__STEP_ENDS_WITHOUT, 202, 108);
	tell_watchers(2);
	expect_first(THRUM__STEP_ENDS_WITHOUT, 202, 105);
	/* Each is ended by another one. */
	begin();
	for (int i = 0; i < 7; i++)
		tell_task(10, 100 + i, "task", "watcher");
	for (int i = 0; i < 7; i++)
		if (i != 2)
			story_tell("%d" MS "create 1 %d task\n%d" MS "switch %d\n%d" MS
				   "resolve %d %d\n%d" MS "resolve %d %d\n%d" MS "switch 1\n",
				20 + i, 200 + i, 20 + i, 200 + i, 30 + i, 200 + i, 100 + i, 30 + i,
				200 + i, 200 + i, 31 + i);
	tell_page(300, 102);
	expect_first(THRUM__STEP_WAITS_FOR, 9, 102);
}

/* ---- Tasks that wait for nothing --------------------------------------------------------------- */

/* Calls of a loop, which doesn't tell for what they wait: so many end soon, and so many never. Before
 * `last` ms, so many timers call back. */
static void tell_calls(int ended, int pending, int timers, int last)
{
	begin();
	for (int i = 0; i < timers; i++) {
		tell_task(last - 5 * (timers - i), 400 + i, "timer", "refill");
		story_tell("%d" MS "resolve 1 %d\n", last - 5 * (timers - i) + 5, 400 + i);
	}
	for (int i = 0; i < ended; i++) {
		tell_task(100 + 10 * i, 100 + i, "task", "call");
		story_tell("%d" MS "resolve 1 %d\n", 102 + 10 * i, 100 + i);
	}
	for (int i = 0; i < pending; i++)
		tell_task(300 + 10 * i, 200 + i, "task", "call");
}

static void expect_none(void)
{
	assert_int_equal(judge(), 0);
	finish();
}

static void calls_end_no_more(void **state)
{
	tell_calls(10, 4, 0, 0);
	expect_first(THRUM__STEP_NEVER_RESOLVED, 200, 0);
	tell_calls(10, 3, 0, 0);
	expect_none();
	tell_calls(7, 4, 0, 0);
	expect_none();
	/* A later one ended: the others may be there to last. */
	tell_calls(10, 4, 0, 0);
	tell_task(400, 250, "task", "call");
	story_tell("402" MS "resolve 1 250\n");
	expect_none();
}

static void a_timer_comes_no_more(void **state)
{
	tell_calls(10, 4, 6, 90);
	expect_first(THRUM__STEP_NOT_AGAIN, 405, 200);
	/* It may be about to come, or came seldom. */
	tell_calls(10, 4, 6, 90);
	tell_task(350, 450, "timer", "refill");
	expect_first(THRUM__STEP_NEVER_RESOLVED, 200, 0);
	tell_calls(10, 4, 3, 90);
	expect_first(THRUM__STEP_NEVER_RESOLVED, 200, 0);
}

/* An actor asks another one, who always answered so far, and now asks somebody himself, or not. */
static void tell_questions(int answers, bool asks)
{
	begin();
	story_tell("1" MS "create 1 2 fiber\n1" MS "label 2 \"stock\n1" MS "create 1 3 fiber\n1" MS
		   "label 3 \"price\n");
	for (int i = 0; i <= answers; i++) {
		int ms = 10 + 10 * i, question = 100 + i;

		story_tell("%d" MS "switch 2\n%d" MS "create 2 %d task\n%d" MS
			   "label %d \"ask\n%d" MS "wait 2 %d\n%d" MS "switch 3\n",
			ms, ms, question, ms, question, ms, question, ms + 1);
		if (i < answers)
			story_tell("%d" MS "resolve 3 %d\n", ms + 2, question);
		else if (asks)
			story_tell("%d" MS "create 3 200 task\n%d" MS "label 200 \"recall\n%d" MS
				   "wait 3 200\n",
				ms + 2, ms + 2, ms + 2);
	}
	story_tell("300" MS "switch 1\n");
}

static void who_answers_asks_himself(void **state)
{
	tell_questions(5, true);
	expect_first(THRUM__STEP_WAITS_FOR, 3, 200);
	/* Three are too few, and who waits for nothing may just have nothing to do. */
	tell_questions(3, true);
	expect_none();
	tell_questions(5, false);
	expect_none();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_ends_none),
		cmocka_unit_test(what_one_brought_went_elsewhere),
		cmocka_unit_test(a_timer_is_missing),
		cmocka_unit_test(the_timer_is_there),
		cmocka_unit_test(empty_queues_are_crossed),
		cmocka_unit_test(full_queues_are_crossed),
		cmocka_unit_test(who_went_on_with_a_stream_ends),
		cmocka_unit_test(failures_make_no_room),
		cmocka_unit_test(a_batch_leaves_one_out),
		cmocka_unit_test(calls_end_no_more),
		cmocka_unit_test(a_timer_comes_no_more),
		cmocka_unit_test(who_answers_asks_himself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
