/* SPDX-License-Identifier: ISC */
/* Failures that explain what is missing: each story has twins in which they explain nothing. */
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
	story_tell("900" MS "log 1 \"end\n");
	story.model = story_findings(&story.findings);
	return story.findings.count;
}

static void finish(void)
{
	story_free(story.model, &story.findings);
}

static void expect_step(unsigned number, int kind, uint64_t task)
{
	const struct thrum__step *step = &story.findings.findings[0].steps[number];

	assert_string_equal(thrum__why_step_name(step->kind), thrum__why_step_name(kind));
	assert_int_equal(step->task, story_task(story.model, task));
}

/* The story has one finding, which begins with a step of this kind about this task. */
static void expect_first(int kind, uint64_t task)
{
	assert_int_equal(judge(), 1);
	expect_step(0, kind, task);
	finish();
}

/* Adds a task of main that lives from a time to another one, and what a task with a name becomes. */
static void tell_task(int id, const char *name, int number, int from, int to, const char *end)
{
	story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"%s %d\n", from, id, from, id, name,
		number);
	story_tell("%d" MS "%s 1 %d\n%d" MS "read 1 %d\n", to, end, id, to, id);
}

/* The job begins to wait for a condition. */
static void tell_job(int from)
{
	story_tell("%d" MS "create 1 2 task\n%d" MS "label 2 \"job\n%d" MS "should-resolve 2\n",
		from, from, from);
	story_tell("%d" MS "create 1 3 condition\n%d" MS "wait 2 3\n", from, from);
}

/* Six mails, of which each is sent as often as it fails. */
static void tell_mails(const char *second, const char *fourth)
{
	begin();
	for (int i = 0; i < 6; i++)
		tell_task(10 + i, "mail", i, 5 * i + 2, 5 * i + 4,
			i == 2 || i == 4 ? "fail" : "resolve");
	tell_task(20, "mail", 2, 40, 43, second);
	tell_task(21, "mail", 4, 50, 53, fourth);
	tell_job(60);
}

static void no_later_try_made_up_for_it(void **state)
{
	tell_mails("resolve", "fail");
	expect_first(THRUM__STEP_FAILED, 21);
	tell_mails("cancel", "resolve");
	expect_first(THRUM__STEP_CANCELLED, 20);
	tell_mails("resolve", "resolve");
	expect_first(THRUM__STEP_WAITS_FOR, 2);
	/* Several tell nothing. */
	tell_mails("fail", "fail");
	expect_first(THRUM__STEP_WAITS_FOR, 2);
}

/* Uploads become others of their names when they have a connection, but for one, which fails before. */
static void tell_uploads(const char *end)
{
	begin();
	for (int i = 0; i < 6; i++) {
		int ms = 2 + 5 * i;

		story_tell("%d" MS "create 1 %d bind =3\n%d" MS "label %d \"upload %d\n", ms,
			10 + i, ms, 10 + i, i);
		if (i == 2) {
			story_tell("%d" MS "%s 1 %d\n%d" MS "read 1 %d\n", ms + 1, end, 10 + i,
				ms + 1, 10 + i);
			continue;
		}
		story_tell("%d" MS "create 1 %d bind =4\n%d" MS "become %d %d\n", ms + 1, 20 + i,
			ms + 1, 10 + i, 20 + i);
		story_tell("%d" MS "label %d \"upload %d\n%d" MS "resolve 1 %d\n", ms + 1, 20 + i,
			i, ms + 4, 20 + i);
	}
	tell_job(60);
}

static void others_became_more(void **state)
{
	tell_uploads("fail");
	expect_first(THRUM__STEP_FAILED, 12);
	tell_uploads("resolve");
	expect_first(THRUM__STEP_WAITS_FOR, 2);
}

/* Lookups, which are sleeps with names. A choice between one and a time-out cancels it. */
static void tell_lookups(const char *choice)
{
	begin();
	for (int i = 0; i < 5; i++)
		story_tell("%d" MS "create 1 %d timer\n%d" MS "label %d \"lookup %d\n%d" MS
			   "resolve 1 %d\n",
			2 + i, 10 + i, 2 + i, 10 + i, i, 4 + i, 10 + i);
	story_tell("20" MS "create 1 20 timer\n20" MS "label 20 \"lookup 9\n20" MS
		   "create 1 21 pick\n20" MS "wait 21 20\n");
	story_tell("30" MS "cancel 21 20\n30" MS "%s 1 21\n30" MS "read 1 21\n", choice);
	tell_job(60);
}

static void a_time_out_cancels(void **state)
{
	tell_lookups("fail");
	expect_first(THRUM__STEP_CANCELLED, 20);
	/* Something else came first. */
	tell_lookups("resolve");
	expect_first(THRUM__STEP_WAITS_FOR, 2);
}

/* Probes fail, each so many ms after the one before. */
static void tell_probes(int count, int pause, const char *last)
{
	begin();
	for (int i = 0; i < count; i++)
		tell_task(10 + i, "probe", i, 5 + (20 + pause) * i, 25 + (20 + pause) * i,
			i + 1 == count ? last : "fail");
	tell_job(150);
}

static void the_last_try_begins_no_other(void **state)
{
	tell_probes(4, 0, "fail");
	assert_int_equal(judge(), 1);
	expect_step(0, THRUM__STEP_BEGINS_NOTHING, 13);
	assert_int_equal(story.findings.findings[0].steps[0].other, story_task(story.model, 11));
	finish();
	tell_probes(2, 0, "fail");
	expect_first(THRUM__STEP_FAILED_MEANWHILE, 11);
	tell_probes(4, 10, "fail");
	expect_first(THRUM__STEP_WAITS_FOR, 2);
	tell_probes(4, 0, "resolve");
	expect_first(THRUM__STEP_WAITS_FOR, 2);
}

/* Takers get permits for frames, and promises that read the frames' results give them back: also that of a
 * frame which failed, or only the others. The job wants a permit. */
static void tell_frames(const char *failing, bool gives_back)
{
	begin();
	story_tell("1" MS "create 1 4 semaphore\n1" MS "label 4 \"credits\n");
	for (int i = 0; i < 5; i++) {
		int ms = 10 * i + 2, taker = 10 + i, frame = 20 + i, reader = 30 + i;
		bool fails = failing[i] == 'f';

		story_tell("%d" MS "create 1 %d task\n%d" MS "lock %d 4\n", ms, taker, ms, taker);
		story_tell("%d" MS "create %d %d task\n%d" MS "label %d \"frame %d\n", ms, taker,
			frame, ms, frame, i);
		story_tell("%d" MS "create %d %d promise =%d\n%d" MS "wait %d %d\n", ms, taker,
			reader, 7, ms, reader, frame);
		story_tell("%d" MS "resolve %d %d\n", ms + 1, taker, taker);
		story_tell("%d" MS "%s %d %d\n%d" MS "read %d %d\n", ms + 4,
			fails ? "fail" : "resolve", frame, frame, ms + 4, reader, frame);
		if (!fails || (gives_back && i < 4))
			story_tell("%d" MS "unlock %d 4\n", ms + 4, reader);
		story_tell("%d" MS "resolve %d %d\n%d" MS "read 1 %d\n", ms + 5, reader, reader,
			ms + 5, reader);
	}
	story_tell("80" MS "create 1 2 task\n80" MS "label 2 \"job\n80" MS "should-resolve 2\n");
	story_tell("80" MS "wait 2 4\n");
}

static void a_failure_kept_a_permit(void **state)
{
	tell_frames("rrrfr", false);
	assert_int_equal(judge(), 1);
	expect_step(0, THRUM__STEP_FAILED, 23);
	expect_step(1, THRUM__STEP_STILL_HOLDS, 33);
	finish();
	/* Another one failed, too, and its permit came back. */
	tell_frames("rfrrf", true);
	expect_first(THRUM__STEP_STILL_HOLDS, 34);
}

/* A join waits for connections of which one stays open, and uploads come in by these. `other`: it waits for
 * something else, too, from the beginning. */
static void tell_connections(const char *end, int closed, bool other)
{
	begin();
	story_tell("1" MS "create 1 2 join\n1" MS "label 2 \"drain\n1" MS "should-resolve 2\n");
	if (other)
		story_tell("1" MS "create 1 9 task\n1" MS "label 9 \"flush\n1" MS "wait 2 9\n2" MS
			   "resolve 1 9\n2" MS "read 2 9\n");
	for (int i = 0; i < 4; i++)
		story_tell("1" MS "create 1 %d handle\n1" MS "label %d \"connection %d\n1" MS
			   "wait 2 %d\n",
			10 + i, 10 + i, i, 10 + i);
	for (int i = 0; i < 10; i++)
		tell_task(20 + i, "upload", i, 2 + i, 5 + i, i == 6 ? end : "resolve");
	for (int i = 0; i < closed; i++)
		story_tell("%d" MS "resolve 1 %d\n", 16 + i, 10 + i);
}

static void a_handle_alone_keeps_a_join(void **state)
{
	tell_connections("cancel", 3, false);
	assert_int_equal(judge(), 1);
	assert_int_equal(story.findings.findings[0].class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_equal(story.findings.findings[0].certainty, THRUM__POSSIBLE);
	expect_step(0, THRUM__STEP_CANCELLED_MEANWHILE, 26);
	expect_step(1, THRUM__STEP_WAITS_FOR, 2);
	finish();
	/* A handle may stay open. */
	tell_connections("resolve", 3, false);
	assert_int_equal(judge(), 0);
	finish();
	tell_connections("cancel", 2, false);
	assert_int_equal(judge(), 0);
	finish();
	tell_connections("cancel", 3, true);
	assert_int_equal(judge(), 0);
	finish();
}

/* A subscriber begins to wait for the next issue. */
static void tell_subscription(int ms, int round, int subscriber)
{
	int wait = 100 + 10 * round + subscriber;

	story_tell("%d" MS "create %d %d wait\n%d" MS "wait %d 3\n%d" MS "wait %d %d\n", ms,
		subscriber, wait, ms, wait, ms, subscriber, wait);
}

/* A publisher makes issues for subscribers, of which the last resolves what it waits for. In the
 * last round so many of the others leave, and it isn't resolved. */
static void tell_subscribers(int leave)
{
	begin();
	story_tell("1" MS "create 1 2 task\n1" MS "label 2 \"publisher\n1" MS "should-resolve 2\n");
	story_tell("1" MS "create 1 3 condition\n1" MS "label 3 \"news\n");
	for (int i = 10; i < 14; i++) {
		story_tell("1" MS "create 1 %d task\n1" MS "label %d \"subscriber %d\n", i, i, i);
		tell_subscription(1, 0, i);
	}
	for (int round = 0; round < 4; round++) {
		int ms = 10 * round + 5, issue = 30 + round;

		story_tell("%d" MS "create 2 %d promise\n%d" MS "label %d \"issue %d\n", ms, issue,
			ms, issue, round);
		story_tell("%d" MS "signal 2 3 =4\n%d" MS "wait 2 %d\n", ms + 1, ms + 1, issue);
		for (int i = 10; i < 14; i++) {
			int wait = 100 + 10 * round + i;

			story_tell("%d" MS "resolve 2 %d\n%d" MS "read %d %d\n", ms + 1, wait,
				ms + 1, i, wait);
			if (i == 13 && round < 3)
				story_tell("%d" MS "resolve 13 %d\n", ms + 2, issue);
			if (round == 3 && i - 10 < leave)
				story_tell("%d" MS "resolve %d %d\n", ms + 2, i, i);
			else
				tell_subscription(ms + 2, round + 1, i);
		}
		if (round < 3)
			story_tell("%d" MS "read 2 %d\n", ms + 3, issue);
	}
}

static void one_leaves_those_that_end_it_together(void **state)
{
	tell_subscribers(1);
	assert_int_equal(judge(), 1);
	assert_int_equal(story.findings.findings[0].class, THRUM__FINDING_DEADLOCK);
	expect_step(0, THRUM__STEP_LEFT_QUEUE, 10);
	finish();
	for (int leave = 0; leave <= 2; leave += 2) {
		tell_subscribers(leave);
		assert_true(judge() > 0);
		assert_int_not_equal(story.findings.findings[0].steps[0].kind,
			THRUM__STEP_LEFT_QUEUE);
		finish();
	}
}

/* A worker fails, which nobody reads, and main makes it anew. */
static void what_is_made_anew_was_seen(void **state)
{
	static const char *const ends[] = {"", "9" MS "fail 3 3\n"};

	begin();
	story_tell("1" MS "create 1 2 task\n1" MS "label 2 \"parser 1\n5" MS "fail 2 2\n");
	assert_int_equal(judge(), 1);
	assert_int_equal(story.findings.findings[0].class, THRUM__FINDING_FAILED_UNSEEN);
	finish();
	for (int i = 0; i < 2; i++) {
		begin();
		story_tell("1" MS "create 1 2 task\n1" MS "label 2 \"parser 1\n5" MS "fail 2 2\n");
		story_tell("6" MS "create 1 3 task\n6" MS "label 3 \"parser 1\n%s", ends[i]);
		assert_int_equal(judge(), (uint32_t)i);
		finish();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_later_try_made_up_for_it),
		cmocka_unit_test(others_became_more),
		cmocka_unit_test(a_time_out_cancels),
		cmocka_unit_test(the_last_try_begins_no_other),
		cmocka_unit_test(a_failure_kept_a_permit),
		cmocka_unit_test(a_handle_alone_keeps_a_join),
		cmocka_unit_test(one_leaves_those_that_end_it_together),
		cmocka_unit_test(what_is_made_anew_was_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
