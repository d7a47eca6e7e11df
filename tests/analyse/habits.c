/* SPDX-License-Identifier: ISC */
/* Something unusual before a task hangs is told first: each story has a twin in which it is usual. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>
#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

static struct {
	struct thrum__model *model;
	struct thrum__findings findings;
} story;

/* Main, and a job that should end. */
static void begin(void)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	story_tell("1" MS "create 1 2 task\n1" MS "label 2 \"job\n1" MS "should-resolve 2\n");
}

/* Ends the story. Returns its only finding. */
static const struct thrum__finding *judge(void)
{
	story_tell("900" MS "log 1 \"end\n");
	story.model = story_findings(&story.findings);
	assert_int_equal(story.findings.count, 1);
	return story.findings.findings;
}

static void finish(void)
{
	story_free(story.model, &story.findings);
}

/* Ends the story; its only finding begins with a step of this kind about these tasks. */
static void expect_first(int kind, uint64_t task, uint64_t other)
{
	const struct thrum__finding *finding = judge();

	assert_string_equal(thrum__why_step_name(finding->steps[0].kind),
		thrum__why_step_name(kind));
	assert_int_equal(finding->steps[0].task, story_task(story.model, task));
	if (other)
		assert_int_equal(finding->steps[0].other, story_task(story.model, other));
	finish();
}

/* A reader resolves two requests; the job waits for a third, and the reader ends, hangs, or another
 * task resolved one of the two. */
static void tell_reader(bool ends, bool is_alone)
{
	begin();
	story_tell(
		"2" MS "create 1 3 promise\n2" MS "label 3 \"reader\n2" MS "create 1 4 promise\n");
	for (int i = 0; i < 3; i++)
		story_tell("%d" MS "create 2 %d task\n%d" MS "label %d \"GET %d\n", 10 + i, 10 + i,
			10 + i, 10 + i, i);
	story_tell("20" MS "resolve 3 10\n21" MS "resolve %d 11\n", is_alone ? 3 : 4);
	story_tell("22" MS "wait 2 12\n");
	if (ends)
		story_tell("30" MS "resolve 3 3\n");
	story_tell("31" MS "resolve 1 4\n");
}

static void one_task_ends_all(void **state)
{
	tell_reader(true, true);
	expect_first(THRUM__STEP_RESOLVED_OTHERS, 3, 12);
	tell_reader(false, true);
	expect_first(THRUM__STEP_SHOULD_GO_ON, 3, 12);
	tell_reader(true, false);
	expect_first(THRUM__STEP_WAITS_FOR, 2, 12);
}

/* The last of three parts resolves each search. The part 142 of the last search, 14, ends by `end`. */
static void tell_parts(const char *end)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	for (int i = 10; i < 15; i++) {
		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"search %d\n%d" MS
			   "should-resolve %d\n",
			i, i, i, i, i, i, i);
		for (int part = 1; part <= 3; part++)
			story_tell("%d" MS "create %d %d%d task\n%d" MS "label %d%d \"part %d\n", i,
				i, i, part, i, i, part, part);
		for (int part = 1; part <= 3; part++)
			story_tell("%d" MS "%s %d%d %d%d\n", i,
				i == 14 && part == 2 ? end : "resolve", i, part, i, part);
		if (i < 14)
			story_tell("%d" MS "resolve %d3 %d\n", i, i, i);
	}
}

static void a_part_fails(void **state)
{
	(void)state;
	tell_parts("fail");
	expect_first(THRUM__STEP_FAILED, 142, 0);
	tell_parts("cancel");
	expect_first(THRUM__STEP_CANCELLED, 142, 0);
	/* Any of them may be the one that should have done it. */
	tell_parts("resolve");
	expect_first(THRUM__STEP_ENDS_WITHOUT, 141, 14);
	/* One that is pending may do it yet. */
	tell_parts("ready");
	expect_first(THRUM__STEP_SHOULD_END, 142, 14);
}

/* The thread 3 ends requests of the thread 1; the last one has no answer. */
static void tell_thread(int lane)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		   "0 @1 create - 3 thread\n0 @1 label 3 \"accounts\n0 @1 switch 3\n");
	for (int i = 10; i < 15; i++) {
		story_tell("%d0" MS "create 1 %d request\n%d0" MS "label %d \"transfer %d\n%d0" MS
			   "should-resolve %d\n",
			i, i, i, i, i, i, i);
		if (i < 14)
			story_tell("%d1" MS "@%d resolve %d %d\n", i, lane, lane ? 3 : 1, i);
	}
	story_tell("150" MS "suspend \"wait for work\n150" MS "@1 suspend \"wait for work\n");
}

static void a_thread_answers_no_more(void **state)
{
	(void)state;
	tell_thread(1);
	expect_first(THRUM__STEP_SHOULD_GO_ON, 3, 14);
	/* The loop that asked only takes note of the answers. */
	tell_thread(0);
	expect_first(THRUM__STEP_PENDING, 14, 0);
}

/* The thread 3 runs jobs that the thread 1 made, and ends them. The first one waits, or the thread 4 runs it.
 * Then the thread 3 is blocked. */
static void tell_jobs(bool runs)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		   "0 @1 create - 3 thread\n0 @1 label 3 \"first\n0 @1 switch 3\n"
		   "0 @2 create - 4 thread\n0 @2 label 4 \"second\n0 @2 switch 4\n");
	for (int i = 10; i < 15; i++) {
		story_tell("%d0" MS "create 1 %d task\n%d0" MS "label %d \"job %d\n%d0" MS
			   "should-resolve %d\n",
			i, i, i, i, i, i, i);
		if (i > 10)
			story_tell("%d0" MS "@1 switch %d\n%d1" MS "@1 switch 3\n%d1" MS
				   "@1 resolve 3 %d\n",
				i, i, i, i, i);
		else if (runs)
			story_tell("100" MS "@2 switch 10\n");
	}
	story_tell("150" MS "suspend \"wait for work\n150" MS "@1 create 3 20 task\n150" MS
		   "@1 label 20 \"mail\n150" MS "@1 switch 20\n150" MS
		   "@1 create 20 21 request\n150" MS "@1 wait 20 21\n150" MS
		   "@1 suspend \"blocked by the outside\n9000" MS "@3 create - 5 thread\n");
}

/* Whether a finding begins with the thread 3, which should end the first job. */
static bool blames_thread(bool runs)
{
	bool is_so = false;

	tell_jobs(runs);
	story.model = story_model(story_told(), false);
	story.model->ending = THRUM_ENDING_KILLED;
	story_find(story.model, &story.findings);
	for (uint32_t i = 0; i < story.findings.count; i++) {
		const struct thrum__step *step = story.findings.findings[i].steps;

		is_so |= step->kind == THRUM__STEP_SHOULD_GO_ON &&
			step->task == story_task(story.model, 3);
	}
	finish();
	return is_so;
}

static void a_thread_does_not_end_what_another_runs(void **state)
{
	(void)state;
	assert_true(blames_thread(false));
	assert_false(blames_thread(true));
}

/* Two workers, 3 and 4, resolve files, as `order` tells; both end, the second one only if `ends`. */
static void tell_workers(const char *order, bool ends)
{
	int count = (int)strlen(order);

	begin();
	story_tell("2" MS "create 1 3 fiber\n2" MS "create 1 4 fiber\n");
	for (int i = 0; i <= count; i++)
		story_tell("3" MS "create 1 %d task\n3" MS "label %d \"file %d\n", 10 + i, 10 + i,
			i);
	for (int i = 0; i < count; i++)
		story_tell("%d" MS "resolve %c %d\n", 20 + i, order[i], 10 + i);
	story_tell("40" MS "wait 2 %d\n50" MS "resolve 3 3\n", 10 + count);
	if (ends)
		story_tell("60" MS "resolve 4 4\n");
}

static void workers_end_one_after_the_other(void **state)
{
	const struct thrum__finding *finding;

	(void)state;
	tell_workers("34344", true);
	finding = judge();
	assert_int_equal(finding->steps[0].kind, THRUM__STEP_RESOLVED_OTHERS);
	assert_int_equal(finding->steps[0].task, story_task(story.model, 4));
	assert_int_equal(finding->steps[0].more, 2);
	finish();
	/* One of them goes on; or it ended but one. */
	tell_workers("34344", false);
	expect_first(THRUM__STEP_WAITS_FOR, 2, 15);
	tell_workers("43333", true);
	expect_first(THRUM__STEP_ENDS_WITHOUT, 3, 15);
	/* Each ended some at once, and the last of them left one out. */
	tell_workers("33344", true);
	expect_first(THRUM__STEP_ENDS_WITHOUT, 4, 15);
}

/* Tasks run on a thread of their own, which ends before the last one. */
static void one_thread_ends_all(void **state)
{
	begin();
	story_tell("2" MS "@1 create - 3 thread\n2" MS "@1 label 3 \"writer\n2" MS "@1 switch 3\n");
	for (int i = 0; i < 2; i++)
		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"save\n%d" MS
			   "@1 switch %d\n%d" MS "@1 resolve %d %d\n%d" MS "@1 switch 3\n",
			10 * i + 5, 10 + i, 10 * i + 5, 10 + i, 10 * i + 6, 10 + i, 10 * i + 7,
			10 + i, 10 + i, 10 * i + 8);
	story_tell("30" MS "@1 resolve 3 3\n");
	story_tell("40" MS "create 1 12 task\n40" MS "label 12 \"save\n41" MS "wait 2 12\n");
	expect_first(THRUM__STEP_RESOLVED_OTHERS, 3, 12);
}

/* The job's request waits for a worker, which ends. */
static void an_end_is_not_noticed(void **state)
{
	begin();
	story_tell(
		"2" MS "create 1 3 handle\n2" MS "label 3 \"worker\n2" MS "create 1 4 request\n");
	story_tell(
		"2" MS "label 4 \"compile\n3" MS "wait 4 3\n3" MS "wait 2 4\n9" MS "resolve 1 3\n");
	expect_first(THRUM__STEP_ENDED_UNNOTICED, 3, 4);
}

/* The same at the end, before the loop sleeps or is deadlocked. */
static void tell_late_end(const char *reason)
{
	begin();
	story_tell("2" MS "create 1 3 task\n2" MS "label 3 \"fetch\n2" MS "create 1 4 promise\n");
	story_tell("2" MS "label 4 \"page\n3" MS "wait 4 3\n3" MS "wait 2 4\n");
	story_tell("899" MS "resolve 3 3\n899" MS "suspend \"%s\n", reason);
}

static void an_end_is_the_last_thing(void **state)
{
	const struct thrum__finding *finding;

	tell_late_end("deadlocked");
	expect_first(THRUM__STEP_ENDED_UNNOTICED, 3, 4);
	/* The page may just go on. */
	tell_late_end("wait for work");
	finding = judge();
	assert_int_not_equal(finding->steps[0].kind, THRUM__STEP_ENDED_UNNOTICED);
	finish();
}

/* Workers take items from a mailbox; a probe takes `strange` of them. The job waits for the next. */
static void tell_mailbox(int strange)
{
	begin();
	story_tell("2" MS "create 1 3 mailbox\n2" MS "label 3 \"jobs\n");
	for (int i = 0; i < 6; i++) {
		story_tell("%d" MS "create 2 %d task\n%d" MS "label %d \"%s\n", 10 * i + 5, 10 + i,
			10 * i + 5, 10 + i, i < strange ? "probe" : "taking");
		story_tell("%d" MS "signal 1 3\n%d" MS "read %d 3\n%d" MS "resolve %d %d\n",
			10 * i + 6, 10 * i + 7, 10 + i, 10 * i + 8, 10 + i, 10 + i);
	}
	story_tell("80" MS "create 2 20 task\n80" MS "label 20 \"taking\n81" MS "wait 20 3\n81" MS
		   "wait 2 20\n");
}

static void a_stranger_takes_an_item(void **state)
{
	const struct thrum__finding *finding;

	tell_mailbox(1);
	expect_first(THRUM__STEP_TOOK, 10, 3);
	tell_mailbox(2);
	finding = judge();
	assert_int_not_equal(finding->steps[0].kind, THRUM__STEP_TOOK);
	finish();
}

/* How the calls that take a token out of a mailbox go on. */
struct calls {
	int given;    /* so many put it back, directly or by a task that reads their result */
	int kept;     /* so many of the following keep it; new ones come for these but the last */
	bool is_held; /* the last of these doesn't end */
	bool is_read; /* nor does the task that reads its result, and may put it back */
	bool is_odd;  /* the last of these has another name */
	const char *end;
};

/* Tells calls from 10 on, with readers from 30 on. The job waits for one more call. */
static void tell_calls(const struct calls *calls)
{
	begin();
	story_tell("2" MS "create 1 3 mailbox\n2" MS "label 3 \"tokens\n2" MS "signal 1 3 =0\n");
	for (int i = 0; i < calls->given + calls->kept; i++) {
		bool gives = i < calls->given, is_last = i + 1 == calls->given + calls->kept;
		int ms = 10 * i + 5, id = 10 + i;

		story_tell("%d" MS "create 1 %d wait\n%d" MS "label %d \"%s %d\n", ms, id, ms, id,
			is_last && calls->is_odd ? "reload" : "call", i);
		story_tell("%d" MS "create 1 %d bind\n%d" MS "wait %d %d\n", ms, 20 + id, ms,
			20 + id, id);
		story_tell("%d" MS "read %d 3\n", ms + 1, id);
		if (!is_last || !calls->is_held)
			story_tell("%d" MS "%s %d %d\n%d" MS "read %d %d\n", ms + 2,
				gives ? "resolve" : calls->end, id, id, ms + 3, 20 + id, id);
		if (gives || !is_last)
			story_tell("%d" MS "signal %d 3 =0\n", ms + 4, gives ? 20 + id : 1);
		if (!is_last || !calls->is_read)
			story_tell("%d" MS "resolve %d %d\n", ms + 5, 20 + id, 20 + id);
	}
	story_tell("80" MS "create 2 20 wait\n80" MS "label 20 \"call 9\n81" MS "wait 20 3\n81" MS
		   "wait 2 20\n");
}

static void a_token_is_kept(void **state)
{
	static const struct calls healthy[] = {
		{.given = 4, .kept = 1, .is_held = true, .is_read = true, .end = "fail"},
		{.given = 4, .kept = 1, .is_read = true, .end = "resolve"},
		{.given = 2, .kept = 1, .end = "resolve"},
		{.given = 1, .kept = 1, .end = "fail"},
		{.given = 3, .kept = 2, .end = "resolve"},
		{.given = 0, .kept = 4, .end = "resolve"},
	};
	struct calls calls = {.given = 3, .kept = 1, .end = "resolve"};

	tell_calls(&calls);
	expect_first(THRUM__STEP_TOOK, 13, 3);
	calls.given = 2;
	calls.end = "fail";
	tell_calls(&calls);
	expect_first(THRUM__STEP_TOOK, 12, 3);
	for (size_t i = 0; i < sizeof healthy / sizeof *healthy; i++) {
		tell_calls(&healthy[i]);
		assert_int_not_equal(judge()->steps[0].kind, THRUM__STEP_TOOK);
		finish();
	}
}

/* Tasks take a token out of a mailbox and each make one that is to put it back after a step; none has a name.
 * So many do so, and the last but the job's fails in between, or doesn't. */
static void tell_chains(int given, const char *end)
{
	begin();
	story_tell("2" MS "create 1 3 mailbox\n2" MS "label 3 \"tokens\n2" MS "signal 1 3 =0\n");
	for (int i = 0; i <= given; i++) {
		int ms = 10 * i + 5, id = 10 + 5 * i;

		story_tell("%d" MS "create 1 %d bind\n%d" MS "read %d 3\n", ms, id, ms + 1, id);
		story_tell("%d" MS "create %d %d task\n%d" MS "create %d %d map\n%d" MS
			   "wait %d %d\n",
			ms + 1, id, id + 1, ms + 1, id, id + 2, ms + 1, id + 2, id + 1);
		story_tell("%d" MS "become %d %d\n", ms + 2, id, id + 1);
		if (i < given)
			story_tell("%d" MS "resolve %d %d\n%d" MS "read %d %d\n%d" MS
				   "signal %d 3 =0\n%d" MS "resolve %d %d\n",
				ms + 3, id + 1, id + 1, ms + 3, id + 2, id + 1, ms + 4, id + 2,
				ms + 4, id + 2, id + 2);
		else if (*end)
			story_tell("%d" MS "%s %d %d\n%d" MS "read %d %d\n%d" MS "%s %d %d\n",
				ms + 3, end, id + 1, id + 1, ms + 3, id + 2, id + 1, ms + 4, end,
				id + 2, id + 2);
	}
	story_tell("80" MS "create 2 90 wait\n81" MS "wait 90 3\n81" MS "wait 2 90\n");
}

/* The task that a finding says took a token; 0: none does. */
static uint64_t taker_in_chains(int given, const char *end)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	uint64_t taker = 0;

	tell_chains(given, end);
	story_tell("900" MS "log 1 \"end\n");
	model = story_findings(&findings);
	assert_true(findings.count > 0);
	for (uint32_t i = 0; i < findings.count; i++)
		if (findings.findings[i].steps[0].kind == THRUM__STEP_TOOK)
			taker = THRUM__TASK(model, findings.findings[i].steps[0].task, id);
	story_free(model, &findings);
	return taker;
}

static void a_task_without_a_name_keeps_a_token(void **state)
{
	(void)state;
	assert_int_equal(taker_in_chains(4, "fail"), 31);
	/* It goes on, or few put theirs back. */
	assert_int_equal(taker_in_chains(4, ""), 0);
	assert_int_equal(taker_in_chains(1, "fail"), 0);
}

/* One of another sort keeps it. If few put it back, that one may be a stranger there. */
static void another_sort_keeps_a_token(void **state)
{
	struct calls calls = {.kept = 1, .is_odd = true, .end = "resolve"};

	for (calls.given = 3; calls.given <= 4; calls.given++) {
		const struct thrum__step *step;

		tell_calls(&calls);
		step = judge()->steps;
		assert_int_equal(step->kind, THRUM__STEP_TOOK);
		assert_int_equal(step->more, calls.given == 4);
		finish();
	}
}

/* Slices of a frame are encoded; one or several fail, which main only notes. */
static void tell_slices(int failed)
{
	begin();
	story_tell("2" MS "create 1 3 task\n2" MS "label 3 \"latch\n3" MS "wait 2 3\n");
	story_tell("3" MS "@1 create - 4 thread\n3" MS "@1 label 4 \"encoder\n");
	for (int i = 0; i < 9; i++) {
		story_tell("%d" MS "@1 create 4 %d task\n%d" MS "@1 label %d \"slice %d\n",
			10 * i + 5, 10 + i, 10 * i + 5, 10 + i, i);
		story_tell("%d" MS "@1 %s %d %d\n%d" MS "read 1 %d\n", 10 * i + 8,
			i < failed ? "fail" : "resolve", 10 + i, 10 + i, 10 * i + 9, 10 + i);
	}
}

static void a_failure_meanwhile(void **state)
{
	tell_slices(1);
	expect_first(THRUM__STEP_FAILED_MEANWHILE, 10, 0);
	tell_slices(5);
	expect_first(THRUM__STEP_WAITS_FOR, 2, 3);
}

/* The job waits for a reply, and a request lies in a mailbox until the end, or is taken. */
static void nobody_takes_an_item(void **state)
{
	begin();
	story_tell("2" MS "create 1 3 task\n2" MS "label 3 \"reply\n2" MS "create 1 4 mailbox\n");
	story_tell("2" MS "label 4 \"inbox\n2" MS "create 1 5 task\n3" MS "wait 2 3\n");
	story_tell("4" MS "signal 5 4 =0\n");
	expect_first(THRUM__STEP_UNTAKEN, 5, 4);
	story_take_back();
	story_tell("5" MS "read 1 4\n");
	expect_first(THRUM__STEP_WAITS_FOR, 2, 3);
	/* It had no room at once: another task took what came, before the put was over. */
	begin();
	story_tell("2" MS "create 1 3 task\n2" MS "label 3 \"reply\n2" MS "create 1 4 stream\n");
	story_tell("2" MS "label 4 \"socket 3 to 4\n2" MS "create 1 5 task\n3" MS "wait 2 3\n");
	story_tell("3" MS "wait 5 4\n4" MS "read 1 4\n4" MS "read 5 4\n4" MS "signal 5 4 =0\n");
	expect_first(THRUM__STEP_WAITS_FOR, 2, 3);
}

/* A writer takes two items; it is cancelled, fails, or ends before the third one, or another one took the
 * second. */
static void tell_takes(const char *end, int second)
{
	begin();
	story_tell("2" MS "create 1 4 stream\n");
	story_tell("2" MS "label 4 \"records\n2" MS "create 1 5 task\n2" MS "label 5 \"writer\n");
	story_tell("2" MS "create 1 6 task\n2" MS "label 6 \"other\n");
	for (int i = 0; i < 2; i++)
		story_tell("%d" MS "wait %d 4\n%d" MS "signal 1 4 =1\n%d" MS "read %d 4\n", 3 + i,
			i == 1 ? second : 5, 3 + i, 3 + i, i == 1 ? second : 5);
	story_tell("6" MS "wait 5 4\n7" MS "%s 1 5\n7" MS "read 1 5\n", end);
	story_tell("8" MS "create 1 3 task\n8" MS "label 3 \"reply\n8" MS "wait 2 3\n");
	story_tell("8" MS "signal 1 4 =0\n");
}

static void the_only_taker_is_gone(void **state)
{
	tell_takes("cancel", 5);
	expect_first(THRUM__STEP_CANCELLED, 5, 1);
	tell_takes("fail", 5);
	expect_first(THRUM__STEP_FAILED_MEANWHILE, 5, 0);
	tell_takes("resolve", 5);
	expect_first(THRUM__STEP_LEFT_QUEUE, 5, 4);
	/* Others take items, too. */
	tell_takes("cancel", 6);
	expect_first(THRUM__STEP_UNTAKEN, 1, 4);
}

/* Fetches signal when they are done; the job waits for one that was cancelled. Others are, too: those
 * whose numbers are `cancelled`. */
static void tell_fetches(const char *cancelled)
{
	begin();
	for (int i = 0; i < 6; i++) {
		bool is_cancelled = strchr(cancelled, '0' + i);

		story_tell("2" MS "create 1 %d condition\n2" MS "label %d \"inflight %d\n", 10 + i,
			10 + i, i);
		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"fetch %d\n", 3 + i, 20 + i,
			3 + i, 20 + i, i);
		if (!is_cancelled)
			story_tell("%d" MS "signal %d %d =0\n", 40 + i, 20 + i, 10 + i);
		story_tell("%d" MS "%s 1 %d\n", 50 + i, is_cancelled ? "cancel" : "resolve",
			20 + i);
	}
	story_tell("60" MS "wait 2 12\n");
}

static void a_leader_is_cancelled(void **state)
{
	tell_fetches("2");
	expect_first(THRUM__STEP_CANCELLED, 22, 1);
	tell_fetches("24");
	expect_first(THRUM__STEP_CANCELLED, 22, 1);
	tell_fetches("0234"); /* that is usual */
	expect_first(THRUM__STEP_WAITS_FOR, 2, 12);
}

/* A worker logs an error while the job waits; or the worker logs all the time: the same, or always something
 * else. */
static void a_log_line_meanwhile(void **state)
{
	begin();
	story_tell("2" MS "create 1 3 task\n2" MS "label 3 \"reply\n3" MS "wait 2 3\n");
	story_tell("4" MS "create 1 5 task\n4" MS "label 5 \"worker\n5" MS "log 5 \"disk full\n");
	expect_first(THRUM__STEP_LOGGED, 5, 0);
	story_take_back();
	for (int i = 0; i < 8; i++)
		story_tell("%d" MS "log 5 \"tick %d\n", 10 + 10 * i, i);
	expect_first(THRUM__STEP_LOGGED, 5, 0);
	story_take_back();
	for (int i = 0; i < 8; i++)
		story_tell("%d" MS "log 5 \"job %c is done\n", 90 + i, 'a' + i);
	expect_first(THRUM__STEP_WAITS_FOR, 2, 3);
	/* A line of the task that hangs itself counts anyhow. */
	story_take_back();
	story_tell("100" MS "log 3 \"no such key\n");
	expect_first(THRUM__STEP_LOGGED, 3, 0);
}

/* The job waits for a batch, and this for a timer that lines put off; it comes after 20 ms of rest. */
static void tell_lines(const char *label)
{
	begin();
	story_tell("2" MS "create 1 3 task\n2" MS "label 3 \"%s\n2" MS "create 1 4 timer\n", label);
	story_tell("2" MS "label 4 \"flush delay\n2" MS "wait 3 4\n2" MS "wait 2 3\n");
	for (int i = 0; i < 60; i++)
		story_tell("%d" MS "due 4 =20000000\n", 15 * i + 5);
}

static void a_timer_is_put_off(void **state)
{
	tell_lines("batch");
	expect_first(THRUM__STEP_PUT_OFF, 4, 0);
	/* So are idle connections closed. */
	tell_lines("connection");
	story_tell("900" MS "log 1 \"end\n");
	story.model = story_findings(&story.findings);
	assert_int_equal(story.findings.count, 0);
	finish();
}

/* Three uploads are fast; the last one hangs. Nobody sets its timer, which ends the others. */
static void tell_uploads(const char *due)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	for (int i = 0; i < 12; i++) {
		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"upload\n", 5 * i + 1,
			10 + i, 5 * i + 1, 10 + i);
		story_tell("%d" MS "create 1 %d timer\n%d" MS "wait %d %d\n", 5 * i + 2, 40 + i,
			5 * i + 2, 10 + i, 40 + i);
		if (i < 11)
			story_tell("%d" MS "resolve 1 %d\n%d" MS "resolve 1 %d\n", 5 * i + 3,
				40 + i, 5 * i + 4, 10 + i);
	}
	story_tell("%s", due);
}

static void a_timer_is_never_set(void **state)
{
	tell_uploads("");
	assert_int_equal(story_findings_if_killed(3000), 1);
	tell_uploads("57" MS "due 51 =60000000000\n");
	assert_int_equal(story_findings_if_killed(3000), 0);
	tell_uploads("");
	assert_int_equal(story_findings_if_killed(100), 0);
}

/* Two threads wait for a condition that nobody ever signals; the second waits as its reason says. */
static void tell_blocked(const char *reason)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	story_tell("0 @1 create - 2 thread\n0 @1 label 2 \"pool\n0 @1 switch 2\n");
	story_tell("1" MS "create 1 3 condition\n1" MS "label 3 \"done\n");
	story_tell("2" MS "wait 1 3\n2" MS "suspend - \"blocked\n");
	story_tell("2" MS "@1 wait 2 3\n2" MS "@1 suspend - \"%s\n", reason);
}

static void all_threads_are_blocked(void **state)
{
	tell_blocked("blocked");
	assert_int_equal(story_findings_if_killed(900), 1);
	tell_blocked("blocked for a time");
	assert_int_equal(story_findings_if_killed(900), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_task_ends_all),
		cmocka_unit_test(a_part_fails),
		cmocka_unit_test(a_thread_answers_no_more),
		cmocka_unit_test(a_thread_does_not_end_what_another_runs),
		cmocka_unit_test(workers_end_one_after_the_other),
		cmocka_unit_test(one_thread_ends_all),
		cmocka_unit_test(an_end_is_not_noticed),
		cmocka_unit_test(an_end_is_the_last_thing),
		cmocka_unit_test(a_stranger_takes_an_item),
		cmocka_unit_test(a_token_is_kept),
		cmocka_unit_test(a_task_without_a_name_keeps_a_token),
		cmocka_unit_test(another_sort_keeps_a_token),
		cmocka_unit_test(a_failure_meanwhile),
		cmocka_unit_test(nobody_takes_an_item),
		cmocka_unit_test(the_only_taker_is_gone),
		cmocka_unit_test(a_leader_is_cancelled),
		cmocka_unit_test(a_log_line_meanwhile),
		cmocka_unit_test(a_timer_is_put_off),
		cmocka_unit_test(a_timer_is_never_set),
		cmocka_unit_test(all_threads_are_blocked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
