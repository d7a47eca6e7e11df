/* SPDX-License-Identifier: ISC */
/* Tasks that nobody marked, and excuses that are none: each story with a finding has a twin without
 * one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define MAIN \
	"0 create - 1 thread\n" \
	"0 label 1 \"main\n" \
	"0 switch 1\n"

static void begin(void)
{
	story_begin();
	story_tell(MAIN);
}

/* The findings of the story. */
static struct {
	struct thrum__model *model;
	struct thrum__findings findings;
} judged;

static const struct thrum__finding *judge_ended(uint32_t count, int ending)
{
	judged.model = story_model(story_told(), false);
	judged.model->ending = ending;
	story_find(judged.model, &judged.findings);
	assert_int_equal(judged.findings.count, count);
	return judged.findings.findings;
}

static const struct thrum__finding *judge(uint32_t count)
{
	return judge_ended(count, THRUM_ENDING_UNKNOWN);
}

static void finish(void)
{
	story_free(judged.model, &judged.findings);
}

static void expect_none(void)
{
	judge(0);
	finish();
}

static uint32_t task(uint64_t id)
{
	return story_task(judged.model, id);
}

/* The first finding's first step of this kind; fails if there is none. */
static const struct thrum__step *step(int kind)
{
	const struct thrum__finding *finding = judged.findings.findings;

	for (unsigned i = 0; i < finding->step_count; i++)
		if (finding->steps[i].kind == kind)
			return &finding->steps[i];
	fail_msg("no step %s", thrum__why_step_name(kind));
	return NULL;
}

/* ---- Peers --------------------------------------------------------------------------------- */

/* A job every 10 ms, which takes 5 ms; that of `odd` never ends. */
static void tell_jobs(int count, int odd)
{
	begin();
	for (int i = 0; i < count; i++) {
		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"job %d\n", 10 * i, 100 + i,
			10 * i, 100 + i, i);
		if (i != odd)
			story_tell("%d" MS "resolve 1 %d\n", 10 * i + 5, 100 + i);
	}
}

static void one_of_a_hundred(void **state)
{
	const struct thrum__finding *finding;

	tell_jobs(100, 60);
	story_tell("1500" MS "log 1 \"end\n");
	finding = judge(1);
	assert_int_equal(finding->class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_equal(finding->certainty, THRUM__LIKELY);
	assert_int_equal(finding->task, task(160));
	assert_int_equal(finding->peers, 99);
	finish();
	tell_jobs(100, 99);
	story_tell("998" MS "log 1 \"end\n");
	expect_none();
}

/* Where several are old, it is usual that some are. */
static void several_of_a_hundred(void **state)
{
	(void)state;
	for (int hang = 1; hang < 6; hang += 4) {
		begin();
		for (int i = 0; i < 30; i++) {
			story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"job %d\n", 10 * i,
				100 + i, 10 * i, 100 + i, i);
			if (i % 5 != 2 || i / 5 >= hang)
				story_tell("%d" MS "resolve 1 %d\n", 10 * i + 5, 100 + i);
		}
		story_tell("1500" MS "log 1 \"end\n");
		judge(hang == 1);
		finish();
	}
}

/* Connections may last. */
static void idle_connection(void **state)
{
	begin();
	for (int i = 0; i < 100; i++) {
		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"connection %d\n", 10 * i,
			100 + i, 10 * i, 100 + i, i);
		story_tell("%d" MS "create 1 %d request\n%d" MS "label %d \"read\n%d" MS
			   "wait %d %d\n",
			10 * i, 300 + i, 10 * i, 300 + i, 10 * i, 100 + i, 300 + i);
		if (i != 30)
			story_tell("%d" MS "resolve 1 %d\n%d" MS "resolve 1 %d\n", 10 * i + 5,
				300 + i, 10 * i + 5, 100 + i);
	}
	story_tell("3000" MS "log 1 \"end\n");
	expect_none();
}

/* Each link of a chain takes 1 ms; the last one hangs. The links before it are no peers. */
static void links_are_no_peers(void **state)
{
	const struct thrum__finding *finding;

	begin();
	story_tell("1" MS "create 1 2 promise\n1" MS "label 2 \"link\n1" MS "should-resolve 2\n");
	for (int i = 0; i < 30; i++)
		story_tell("%d" MS "create 1 %d promise\n%d" MS "label %d \"link\n%d" MS
			   "become %d %d\n",
			2 + 40 * i, 3 + i, 2 + 40 * i, 3 + i, 2 + 40 * i, 2 + i, 3 + i);
	story_tell("1190" MS "log 1 \"end\n");
	finding = judge(1);
	assert_int_equal(finding->class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_equal(finding->peers, 0);
	finish();
}

/* Queries for names that differ in words, which take 2 ms each; the last one may hang. */
static void tell_queries(bool hangs, const char *first, const char *label)
{
	static const char *const names[] = {"www", "ftp", "news", "chat", "shop", "maps"};

	begin();
	for (int i = 0; i < 6; i++) {
		story_tell("%d" MS "create 1 %d request\n%d" MS "label %d \"%s %s.org\n", 10 * i,
			100 + i, 10 * i, 100 + i, first, names[i]);
		story_tell("%d" MS "resolve 1 %d\n", 10 * i + 2, 100 + i);
	}
	story_tell("70" MS "create 1 2 task\n70" MS "label 2 \"deliver\n");
	story_tell("70" MS "create 1 3 request\n70" MS "label 3 \"%s\n70" MS "wait 2 3\n", label);
	if (!hangs)
		story_tell("72" MS "resolve 1 3\n72" MS "resolve 1 2\n");
	story_tell("900" MS "log 1 \"end\n");
}

static void peers_by_first_word(void **state)
{
	const struct thrum__finding *finding;

	tell_queries(true, "query", "query mx.org");
	finding = judge(1);
	assert_int_equal(finding->class, THRUM__FINDING_OUTSIDE);
	assert_int_equal(finding->certainty, THRUM__POSSIBLE);
	assert_int_equal(finding->steps[0].task, task(3));
	finish();
	tell_queries(false, "query", "query mx.org");
	expect_none();
	/* Not alike. */
	tell_queries(true, "query", "subscribe mx.org");
	expect_none();
}

/* ---- Excuses ------------------------------------------------------------------------------- */

/* Ten naps of 5 ms, then one that is due at `due`. */
static void tell_naps(const char *name, int64_t due)
{
	begin();
	for (int i = 0; i < 11; i++) {
		story_tell("%d" MS "create 1 %d timer\n%d" MS "label %d \"%s %d ms\n", 10 * i + 1,
			100 + i, 10 * i + 1, 100 + i, name, i < 10 ? 5 : (int)(due / 1000000));
		if (i < 10)
			story_tell("%d" MS "due %d =5000000\n%d" MS "resolve 1 %d\n", 10 * i + 1,
				100 + i, 10 * i + 6, 100 + i);
	}
	story_tell("101" MS "due 110 =%lld\n", (long long)due);
	story_tell("101" MS "create 1 2 promise\n101" MS "should-resolve 2\n101" MS "wait 2 110\n");
	story_tell("900" MS "log 1 \"end\n");
}

static void timer_far_too_late(void **state)
{
	const struct thrum__finding *finding;

	tell_naps("nap", INT64_C(3600000000000));
	finding = judge(1);
	assert_int_equal(finding->class, THRUM__FINDING_OUTSIDE);
	assert_int_equal(finding->steps[0].kind, THRUM__STEP_DUE_LATE);
	assert_int_equal(finding->steps[0].task, task(110));
	finish();
	tell_naps("nap", 1000000000);
	expect_none();
	/* So long was it asked to sleep, and the others weren't. */
	tell_naps("sleep", INT64_C(3600000000000));
	expect_none();
}

/* A few timers of 20 ms, and one that is due at a time. */
static void tell_few(int count, const char *due)
{
	begin();
	for (int i = 0; i <= count; i++)
		story_tell("%d" MS "create 1 %d timer\n%d" MS "label %d \"back off\n%d" MS
			   "due %d =%s\n",
			10 * i, 100 + i, 10 * i, 100 + i, 10 * i, 100 + i,
			i < count ? "20000000" : due);
	for (int i = 0; i < count; i++)
		story_tell("%d" MS "resolve 1 %d\n", 50 + i, 100 + i);
	story_tell("60" MS "create 1 2 promise\n60" MS "should-resolve 2\n60" MS "wait 2 %d\n900" MS
		   "log 1 \"end\n",
		100 + count);
}

/* Two tell enough if it is due so late as if it were in another unit. */
static void few_timers_are_due_far_sooner(void **state)
{
	(void)state;
	tell_few(2, "20000000000000");
	assert_int_equal(judge(1)->steps[0].kind, THRUM__STEP_DUE_LATE);
	finish();
	tell_few(2, "20000000000");
	expect_none();
	tell_few(1, "20000000000000");
	expect_none();
}

/* Timeouts, nearly all of which are cancelled in time; one of these was due in a minute as well. */
static void timeouts_are_cancelled(void **state)
{
	const struct thrum__finding *finding;

	for (int is_healthy = 0; is_healthy < 2; is_healthy++) {
		begin();
		for (int i = 0; i < 6; i++)
			story_tell("%d" MS "create 1 %d timer\n%d" MS "label %d \"timeout %d\n%d" MS
				   "due %d =%s\n%d" MS "cancel 1 %d\n",
				10 * i, 100 + i, 10 * i, 100 + i, i, 10 * i, 100 + i,
				i == 3 || (is_healthy && i > 0) ? "60000000000" : "30000000",
				10 * i + 5, 100 + i);
		story_tell("70" MS "create 1 2 promise\n70" MS "should-resolve 2\n");
		story_tell("70" MS "create 1 3 timer\n70" MS "label 3 \"timeout 7\n70" MS
			   "due 3 =60000000000\n70" MS "wait 2 3\n900" MS "log 1 \"end\n");
		if (is_healthy) {
			expect_none();
			continue;
		}
		finding = judge(1);
		assert_int_equal(finding->class, THRUM__FINDING_OUTSIDE);
		assert_int_equal(finding->steps[0].kind, THRUM__STEP_DUE_LATE);
		finish();
	}
}

/* Six pings, each with a fresh timer of 20 ms, and two calls with one of 20 s: all are answered after
 * 5 ms, or the calls after `answered` ms. A third call gets no answer. */
static void tell_calls(int answered)
{
	begin();
	story_tell("0 create 1 3 handle\n0 label 3 \"udp\n");
	for (int i = 0; i < 9; i++) {
		bool is_call = i > 5;
		int at = 100 * i, end = at + (is_call ? answered : 5);

		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"%s %d\n%d" MS
			   "should-resolve %d\n",
			at, 10 + i, at, 10 + i, is_call ? "call" : "ping", i, at, 10 + i);
		story_tell("%d" MS "create %d %d choose\n%d" MS "label %d \"answer or timer\n", at,
			10 + i, 20 + i, at, 20 + i);
		story_tell("%d" MS "create %d %d timer\n%d" MS "label %d \"%s\n%d" MS
			   "due %d =%s\n",
			at, 10 + i, 30 + i, at, 30 + i, is_call ? "redial" : "again", at, 30 + i,
			is_call ? "20000000000" : "20000000");
		story_tell("%d" MS "wait %d %d\n%d" MS "wait %d 3\n%d" MS "wait %d %d\n", at,
			20 + i, 30 + i, at, 20 + i, at, 10 + i, 20 + i);
		if (i < 8)
			story_tell("%d" MS "cancel 1 %d\n%d" MS "resolve 1 %d\n%d" MS
				   "resolve 1 %d\n",
				end, 30 + i, end, 20 + i, end, 10 + i);
	}
	story_tell("1500" MS "log 1 \"end\n");
}

static void timer_too_late_for_its_place(void **state)
{
	const struct thrum__finding *finding;

	tell_calls(5);
	finding = judge(1);
	assert_int_equal(finding->class, THRUM__FINDING_OUTSIDE);
	assert_int_equal(finding->steps[0].kind, THRUM__STEP_DUE_LATE);
	assert_int_equal(finding->steps[0].task, task(38));
	assert_int_equal(finding->steps[0].more, 1);
	finish();
	tell_calls(95); /* calls take their time */
	expect_none();
}

/* Tries of 3 ms, each after a rest of 7 ms; all end with that event. */
static void tell_tries(int count, const char *end)
{
	begin();
	story_tell("1" MS "create 1 2 fiber\n1" MS "label 2 \"sync\n1" MS "should-resolve 2\n");
	for (int i = 0; i < count; i++) {
		story_tell("%d" MS "create 2 %d task\n%d" MS "label %d \"try %d\n%d" MS
			   "wait 2 %d\n",
			10 * i + 2, 100 + i, 10 * i + 2, 100 + i, i, 10 * i + 2, 100 + i);
		story_tell("%d" MS "%s 1 %d \"busy\n%d" MS "read 2 %d\n", 10 * i + 5, end, 100 + i,
			10 * i + 5, 100 + i);
		story_tell("%d" MS "create 2 %d timer\n%d" MS "due %d =7000000\n%d" MS
			   "wait 2 %d\n",
			10 * i + 5, 300 + i, 10 * i + 5, 300 + i, 10 * i + 5, 300 + i);
		if (i + 1 < count)
			story_tell("%d" MS "resolve 1 %d\n", 10 * i + 12, 300 + i);
	}
	story_tell("%d" MS "log 1 \"end\n", 10 * count);
}

static void tries_without_end(void **state)
{
	const struct thrum__finding *finding;

	tell_tries(100, "fail");
	finding = judge(1);
	assert_int_equal(finding->class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_equal(finding->steps[0].kind, THRUM__STEP_FAILS_AGAIN);
	assert_int_equal(finding->steps[0].task, task(199));
	assert_int_equal(finding->count, 100);
	finish();
	tell_tries(4, "fail");
	expect_none();
	/* These are timeouts, or the like, that weren't needed. */
	tell_tries(100, "cancel");
	expect_none();
}

/* Four tasks, of which three end soon or late, and the fourth becomes its next try again and again, after a
 * rest each time. All are awaited by one that should resolve. */
static void tell_retries(int count, int end)
{
	static const char *const names[] = {"delta", "alpha", "bravo", "charlie"};
	int before = 10;

	begin();
	story_tell("1" MS "create 1 2 join\n1" MS "label 2 \"start\n1" MS "should-resolve 2\n");
	for (int i = 0; i < 4; i++)
		story_tell("1" MS "create 1 %d =5 bind\n1" MS "label %d \"sync %s\n1" MS
			   "wait 2 %d\n",
			10 + i, 10 + i, names[i], 10 + i);
	for (int i = 0; i < count; before = 100 + i++) {
		story_tell("%d" MS "create 1 %d timer\n%d" MS "due %d =8000000\n", 10 * i + 2,
			300 + i, 10 * i + 2, 300 + i);
		story_tell("%d" MS "create 1 %d =6 bind\n%d" MS "wait %d %d\n%d" MS
			   "become %d %d\n",
			10 * i + 2, 100 + i, 10 * i + 2, 100 + i, 300 + i, 10 * i + 2, before,
			100 + i);
		if (10 * i + 2 <= end && end < 10 * i + 12)
			story_tell("%d" MS "resolve 1 11\n%d" MS "resolve 1 12\n%d" MS
				   "resolve 1 13\n",
				end, end, end);
		if (i + 1 < count)
			story_tell("%d" MS "resolve 1 %d\n%d" MS "read %d %d\n", 10 * i + 12,
				300 + i, 10 * i + 12, 100 + i, 300 + i);
	}
	story_tell("%d" MS "log 1 \"end\n", 10 * count);
}

static void tries_that_do_not_fail(void **state)
{
	const struct thrum__finding *finding;

	tell_retries(100, 20);
	finding = judge(1);
	assert_int_equal(finding->class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_equal(finding->certainty, THRUM__POSSIBLE);
	assert_int_equal(finding->steps[0].kind, THRUM__STEP_FAILS_AGAIN);
	assert_int_equal(finding->steps[0].task, task(10));
	assert_int_equal(finding->steps[0].more, 1);
	assert_int_equal(finding->count, 99);
	finish();
	/* Its like took long, too, or it tried only a few times. */
	tell_retries(100, 500);
	expect_none();
	tell_retries(9, 3);
	expect_none();
}

/* ---- Objects ------------------------------------------------------------------------------- */

/* A producer signals three times. Main waits for the consumer. */
static void tell_producer(bool ends)
{
	begin();
	story_tell("1" MS "create 1 2 condition\n1" MS "label 2 \"filled\n");
	story_tell("1" MS "create 1 3 fiber\n1" MS "label 3 \"consumer\n");
	story_tell("1" MS "create 1 4 fiber\n1" MS "label 4 \"producer\n");
	story_tell("2" MS "wait 1 3\n");
	for (int i = 0; i < 3; i++)
		story_tell("%d" MS "wait 3 2\n%d" MS "switch 4\n%d" MS "signal 4 2 =1\n%d" MS
			   "switch 3\n"
			   "%d" MS "read 3 2\n",
			10 * i + 3, 10 * i + 4, 10 * i + 6, 10 * i + 7, 10 * i + 7);
	story_tell("40" MS "wait 3 2\n40" MS "switch 4\n");
	if (ends)
		story_tell("41" MS "resolve 4 4\n");
	else
		story_tell(
			"41" MS "create 4 5 timer\n41" MS "due 5 =5000000000\n41" MS "wait 4 5\n");
	story_tell("41" MS "switch 1\n900" MS "counter =1 \"beat\n");
}

static void producer_ends(void **state)
{
	const struct thrum__finding *finding;

	tell_producer(true);
	finding = judge(1);
	assert_int_equal(finding->class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_equal(finding->certainty, THRUM__LIKELY);
	assert_int_equal(finding->steps[0].kind, THRUM__STEP_SERVER_ENDED);
	assert_int_equal(finding->steps[0].task, task(4));
	assert_int_equal(step(THRUM__STEP_WAITS_FOR)->task, task(3));
	finish();
	tell_producer(false);
	expect_none();
}

/* Tasks put pictures into a mailbox. The third of them fails, so the last picture never comes. */
static void a_server_fails(void **state)
{
	begin();
	story_tell("1" MS "create 1 2 mailbox\n1" MS "label 2 \"decoded\n");
	story_tell("1" MS "create 1 3 task\n1" MS "label 3 \"album\n1" MS "should-resolve 3\n");
	story_tell("1" MS "wait 3 2\n");
	for (int i = 0; i < 5; i++) {
		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"decode %d\n", 10 * i + 3,
			10 + i, 10 * i + 3, 10 + i, i);
		if (i == 2)
			story_tell("%d" MS "fail 1 %d \"illegal\n%d" MS "read 1 %d\n", 10 * i + 5,
				10 + i, 10 * i + 5, 10 + i);
		else
			story_tell("%d" MS "signal %d 2 =1\n%d" MS "read 3 2\n%d" MS
				   "wait 3 2\n%d" MS "resolve %d %d\n",
				10 * i + 5, 10 + i, 10 * i + 6, 10 * i + 6, 10 * i + 7, 10 + i,
				10 + i);
	}
	story_tell("900" MS "counter =1 \"beat\n");
	(void)judge(1);
	assert_int_equal(step(THRUM__STEP_FAILED)->task, task(12));
	assert_int_equal(step(THRUM__STEP_WAITS_FOR)->task, task(3));
	finish();
}

/* A callback that would resolve a task listens for a source, and that is cancelled. In the twin it
 * resolves the task. */
static void tell_callback(bool is_cancelled)
{
	begin();
	story_tell("1" MS "create 1 2 task\n1" MS "label 2 \"fetch\n");
	story_tell(
		"1" MS "create 1 3 promise\n1" MS "label 3 \"settings\n1" MS "should-resolve 3\n");
	story_tell("1" MS "create 1 4 task\n1" MS "wait 4 2\n");
	story_tell("1" MS "create 1 5 task\n1" MS "label 5 \"preview\n");
	if (is_cancelled)
		story_tell("40" MS "cancel 5 2\n40" MS "read 4 2\n40" MS "resolve 4 4\n");
	else
		story_tell("40" MS "resolve 5 2\n40" MS "read 4 2\n40" MS "resolve 4 3\n40" MS
			   "resolve 4 4\n");
	story_tell("50" MS "resolve 5 5\n900" MS "counter =1 \"beat\n");
}

static void the_source_of_a_callback_is_cancelled(void **state)
{
	tell_callback(true);
	(void)judge(1);
	assert_int_equal(step(THRUM__STEP_CANCELLED)->task, task(2));
	assert_int_equal(step(THRUM__STEP_CANCELLED)->other, task(5));
	assert_int_equal(step(THRUM__STEP_NEVER_RESOLVED)->task, task(3));
	finish();
	tell_callback(false);
	expect_none();
}

/* A writer takes lines from a queue; two threads put them there, and wait when the queue is full. At
 * last the writer waits for a pipe. In the twin nothing is left to write. */
static void tell_writer(bool has_lines)
{
	begin();
	story_tell("1" MS "create 1 2 condition\n1" MS "label 2 \"changed\n");
	story_tell("1" MS "create 1 3 thread\n1" MS "label 3 \"writer\n");
	story_tell("1" MS "create 1 4 thread\n1" MS "label 4 \"worker\n1" MS "should-resolve 4\n");
	story_tell("1" MS "create 1 5 thread\n1" MS "label 5 \"worker\n");
	story_tell("1" MS "create 1 6 handle\n1" MS "label 6 \"pipe\n");
	for (int i = 0; i < 3; i++)
		story_tell("%d" MS "wait 3 2\n%d" MS "signal 4 2 =1\n%d" MS "read 3 2\n"
			   "%d" MS "signal 3 2 =0\n",
			10 * i + 10, 10 * i + 11, 10 * i + 12, 10 * i + 13);
	story_tell("40" MS "wait 5 2\n41" MS "signal 3 2 =1\n42" MS "read 5 2\n43" MS "wait 3 6\n");
	if (has_lines)
		story_tell("50" MS "signal 5 2 =0\n51" MS "signal 4 2 =0\n");
	story_tell("60" MS "wait 4 2\n61" MS "wait 5 2\n900" MS "counter =1 \"beat\n");
}

static void writer_is_stuck(void **state)
{
	const struct thrum__finding *finding;

	tell_writer(true);
	finding = judge(1);
	assert_int_equal(finding->class, THRUM__FINDING_OUTSIDE);
	assert_int_equal(step(THRUM__STEP_PENDING)->task, task(6));
	assert_int_equal(step(THRUM__STEP_PENDING)->time, 43 * 1000000);
	assert_int_equal(step(THRUM__STEP_SERVES)->task, task(3));
	finish();
	tell_writer(false);
	expect_none();
}

/* All threads wait for a condition that two of them signalled before. One of these was told to hold a lock,
 * after it had begun to wait. In the twin it read something after that. */
static void tell_pool(const char *afterwards)
{
	begin();
	story_tell("1" MS "create 1 2 condition\n1" MS "label 2 \"finished\n");
	story_tell("1" MS "create 1 6 lock\n1" MS "label 6 \"jobs\n");
	for (int i = 0; i < 2; i++)
		story_tell("1" MS "@%d create - %d thread\n1" MS "@%d label %d \"worker\n1" MS
			   "@%d switch %d\n",
			i + 1, i + 3, i + 1, i + 3, i + 1, i + 3);
	for (int i = 0; i < 2; i++)
		story_tell("%d" MS "wait 1 2\n%d" MS "@%d signal %d 2 =1\n%d" MS "read 1 2\n",
			10 * i + 10, 10 * i + 11, i + 1, i + 3, 10 * i + 12);
	story_tell("40" MS "wait 1 2\n40" MS "suspend \"blocked\n");
	story_tell("50" MS "@1 wait 3 2\n50" MS "@1 suspend \"blocked\n");
	story_tell("51" MS "@2 lock 3 6\n51" MS "@2 lock 4 6\n51" MS "@2 unlock 4 6\n%s",
		afterwards);
	story_tell("52" MS "@2 wait 4 2\n52" MS "@2 suspend \"blocked\n900" MS "@3 log \"end\n");
}

static void pool_without_a_thread(void **state)
{
	tell_pool("");
	(void)judge(1);
	assert_int_equal(step(THRUM__STEP_SERVES_ITSELF)->other, task(2));
	finish();
	tell_pool("51" MS "@1 read 3 2\n");
	expect_none();
}

/* Three workers make room for each other, and all wait for it. Another thread looks how things stand, or does
 * something for others once. */
static void tell_room(bool only_looks)
{
	begin();
	story_tell(
		"1" MS "create 1 2 condition\n1" MS "label 2 \"room\n1" MS "suspend \"blocked\n");
	for (int i = 0; i < 4; i++)
		story_tell("1" MS "@%d create - %d thread\n1" MS "@%d label %d \"%s\n1" MS
			   "@%d switch %d\n",
			i + 1, i + 3, i + 1, i + 3, i < 3 ? "worker" : "progress", i + 1, i + 3);
	for (int i = 0; i < 3; i++)
		story_tell("%d" MS "@%d wait %d 2\n%d" MS "@%d signal %d 2 =1\n%d" MS
			   "@%d read %d 2\n",
			2 * i + 5, i + 1, i + 3, 2 * i + 6, (i + 1) % 3 + 1, (i + 1) % 3 + 3,
			2 * i + 6, i + 1, i + 3);
	for (int i = 0; i < 3; i++)
		story_tell("%d" MS "@%d wait %d 2\n%d" MS "@%d suspend \"blocked\n", i + 20, i + 1,
			i + 3, i + 20, i + 1);
	for (int i = 0; i < 12; i++)
		story_tell("%d" MS "@4 create 6 %d timer\n%d" MS "@4 wait 6 %d\n%d" MS
			   "@4 suspend \"blocked for a time\n%d" MS
			   "@4 resume \"blocked for a time\n%d" MS "@4 resolve 6 %d\n",
			50 * i + 30, 20 + i, 50 * i + 30, 20 + i, 50 * i + 30, 50 * i + 79,
			50 * i + 79, 20 + i);
	if (!only_looks)
		story_tell("629" MS "@4 create 6 50 request\n");
	story_tell("630" MS "@4 create 6 40 timer\n630" MS "@4 wait 6 40\n630" MS
		   "@4 suspend \"blocked for a time\n2900" MS "@5 log \"end\n");
}

static void workers_want_room(void **state)
{
	tell_room(true);
	assert_int_equal(judge_ended(1, THRUM_ENDING_KILLED)->certainty, THRUM__POSSIBLE);
	assert_int_equal(step(THRUM__STEP_SERVES_ITSELF)->other, task(2));
	finish();
	tell_room(false);
	(void)judge_ended(0, THRUM_ENDING_KILLED);
	finish();
}

/* Requests go over two connections. One of them says nothing more. */
static void silent_connection(void **state)
{
	begin();
	story_tell("1" MS "create 1 2 handle\n1" MS "label 2 \"connection 1\n");
	story_tell("1" MS "create 1 3 handle\n1" MS "label 3 \"connection 2\n");
	for (int i = 0; i < 3; i++)
		story_tell("%d" MS "create 1 %d request\n%d" MS "label %d \"query %d\n%d" MS
			   "wait %d 2\n%d" MS "read %d 2\n%d" MS "resolve %d %d\n",
			10 * i + 3, 10 + i, 10 * i + 3, 10 + i, i, 10 * i + 3, 10 + i, 10 * i + 6,
			10 + i, 10 * i + 6, 10 + i, 10 + i);
	story_tell("40" MS "create 1 20 request\n40" MS "label 20 \"query 3\n40" MS
		   "should-resolve 20\n40" MS "wait 20 3\n900" MS "counter =1 \"beat\n");
	(void)judge(1);
	assert_int_equal(step(THRUM__STEP_PENDING)->task, task(20));
	assert_int_equal(step(THRUM__STEP_SILENT)->task, task(3));
	assert_int_equal(step(THRUM__STEP_SILENT)->other, task(20));
	finish();
}

/* Two tasks take from and put into each other's mailbox. In the twin the second rests. */
static void tell_mailboxes(bool rests)
{
	begin();
	story_tell("1" MS "create 1 2 mailbox\n1" MS "label 2 \"questions\n");
	story_tell("1" MS "create 1 3 mailbox\n1" MS "label 3 \"answers\n");
	story_tell("1" MS "create 1 4 fiber\n1" MS "label 4 \"asker\n");
	story_tell("1" MS "create 1 5 fiber\n1" MS "label 5 \"answerer\n");
	for (int i = 0; i < 3; i++) {
		story_tell("%d" MS "switch 5\n%d" MS "wait 5 2\n", 10 * i + 2, 10 * i + 2);
		story_tell("%d" MS "switch 4\n%d" MS "signal 4 2 =1\n%d" MS "wait 4 3\n",
			10 * i + 3, 10 * i + 3, 10 * i + 3);
		story_tell("%d" MS "switch 5\n%d" MS "read 5 2\n%d" MS "signal 5 3 =1\n",
			10 * i + 4, 10 * i + 4, 10 * i + 4);
		story_tell("%d" MS "switch 4\n%d" MS "read 4 3\n", 10 * i + 5, 10 * i + 5);
	}
	story_tell("40" MS "switch 4\n40" MS "wait 4 3\n40" MS "switch 5\n");
	if (rests)
		story_tell(
			"41" MS "create 5 6 timer\n41" MS "due 6 =5000000000\n41" MS "wait 5 6\n");
	else
		story_tell("41" MS "wait 5 2\n");
	story_tell("41" MS "switch 1\n900" MS "log 1 \"end\n");
}

static void mailboxes_in_a_circle(void **state)
{
	const struct thrum__finding *finding;

	tell_mailboxes(false);
	finding = judge(1);
	assert_int_equal(finding->class, THRUM__FINDING_DEADLOCK);
	assert_int_equal(finding->count, 2);
	assert_int_equal(step(THRUM__STEP_SERVES)->kind, THRUM__STEP_SERVES);
	finish();
	tell_mailboxes(true);
	expect_none();
}

/* Workers that take job after job wait for the next one. */
static void idle_workers(void **state)
{
	begin();
	story_tell("1" MS "create 1 2 condition\n1" MS "label 2 \"filled\n");
	for (int i = 0; i < 4; i++)
		story_tell("1" MS "create 1 %d fiber\n1" MS "label %d \"worker %d\n1" MS
			   "wait %d 2\n",
			3 + i, 3 + i, i, 3 + i);
	for (int i = 0; i < 40; i++) {
		int worker = 3 + i % 4;

		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"job %d\n", 10 * i + 2,
			100 + i, 10 * i + 2, 100 + i, i);
		story_tell("%d" MS "switch %d\n%d" MS "signal %d 2 =1\n%d" MS "switch %d\n",
			10 * i + 2, 100 + i, 10 * i + 2, 100 + i, 10 * i + 3, worker);
		story_tell("%d" MS "read %d 2\n%d" MS "resolve %d %d\n%d" MS "wait %d 2\n",
			10 * i + 3, worker, 10 * i + 4, worker, 100 + i, 10 * i + 4, worker);
		story_tell("%d" MS "switch 1\n", 10 * i + 4);
	}
	story_tell("5000" MS "log 1 \"end\n");
	expect_none();
}

/* A holder ends without unlocking; in the twin it rests. */
static void tell_lock(bool ends)
{
	begin();
	story_tell("1" MS "create 1 2 lock\n1" MS "label 2 \"table\n");
	story_tell("1" MS "create 1 3 fiber\n1" MS "label 3 \"writer\n");
	story_tell("1" MS "create 1 4 fiber\n1" MS "label 4 \"reader\n");
	story_tell("2" MS "switch 3\n2" MS "lock 3 2\n");
	if (ends)
		story_tell("5" MS "resolve 3 3\n");
	else
		story_tell("5" MS "create 3 5 timer\n5" MS "due 5 =5000000000\n5" MS "wait 3 5\n");
	story_tell("6" MS "switch 4\n6" MS "wait 4 2\n6" MS "switch 1\n");
	story_tell("900" MS "log 1 \"end\n");
}

static void holder_ends(void **state)
{
	const struct thrum__finding *finding;

	tell_lock(true);
	finding = judge(1);
	assert_int_equal(finding->certainty, THRUM__LIKELY);
	assert_int_equal(finding->steps[0].kind, THRUM__STEP_STILL_HOLDS);
	assert_int_equal(finding->steps[0].task, task(3));
	finish();
	tell_lock(false);
	expect_none();
}

/* Two permits, taken one after the other since the wait began, by tasks that end. The semaphore is taken
 * often, but not free. */
static void tell_permits(bool gives_back)
{
	begin();
	story_tell(
		"0 create 1 2 semaphore\n0 label 2 \"slots\n0 create 1 3 task\n0 label 3 \"publish\n"
		"0 should-resolve 3\n");
	for (int id = 4; id < 8; id++)
		story_tell("0 create 1 %d task\n0 label %d \"upload %d\n", id, id, id);
	story_tell("1" MS "lock 4 2\n1" MS "lock 5 2\n2" MS "wait 3 2\n");
	for (int id = 4; id < 6; id++)
		story_tell("%d" MS "unlock %d 2\n%d" MS "resolve %d %d\n%d" MS "lock %d 2\n", id,
			id, id, id, id, id, id + 2);
	for (int id = 6; id < 8; id++) {
		if (gives_back)
			story_tell("%d" MS "unlock %d 2\n", id + 4, id);
		story_tell("%d" MS "resolve %d %d\n", id + 4, id, id);
	}
	story_tell("900" MS "log 1 \"end\n");
}

static void permits_that_nobody_gives_back(void **state)
{
	(void)state;
	tell_permits(false);
	judge(1);
	assert_int_equal(step(THRUM__STEP_STILL_HOLDS)->other, task(2));
	finish();
	tell_permits(true);
	judge(1);
	assert_int_equal(step(THRUM__STEP_FREE)->task, task(2));
	finish();
}

/* The program is gone. Uploads give their permit back before they end, or afterwards. The last one has just
 * ended with it. */
static void tell_lost_permit(bool is_late)
{
	begin();
	story_tell(
		"0 create 1 2 semaphore\n0 label 2 \"window\n0 create 1 3 task\n0 label 3 \"send\n"
		"0 should-resolve 3\n");
	for (int id = 4; id < 14; id++) {
		const char *order = is_late ? "%d" MS "resolve %d %d\n%d" MS "unlock %d 2\n"
					    : "%d" MS "unlock %d 2\n%d" MS "resolve %d %d\n";

		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"part %d\n", id, id, id, id,
			id);
		story_tell("%d" MS "lock %d 2\n", id, id);
		if (id == 13)
			story_tell("13" MS "resolve 13 13\n");
		else if (is_late)
			story_tell(order, id, id, id, id + 1, id);
		else
			story_tell(order, id, id, id, id, id);
	}
	story_tell("13" MS "wait 3 2\n14" MS "log 1 \"end\n");
}

static void permit_is_lost_soon(void **state)
{
	(void)state;
	tell_lost_permit(false);
	judge_ended(1, THRUM_ENDING_GONE);
	assert_int_equal(step(THRUM__STEP_STILL_HOLDS)->task, task(13));
	finish();
	tell_lost_permit(true);
	judge_ended(0, THRUM_ENDING_GONE);
	finish();
}

/* A loop keeps a lock while it waits for work. Before, it did so too; in the twin it did not. */
static void tell_gate(bool waits)
{
	begin();
	story_tell("1" MS "create 1 2 lock\n1" MS "label 2 \"gate\n1" MS "lock 1 2\n");
	story_tell("1" MS "@1 create - 3 thread\n1" MS "label 3 \"helper\n1" MS "@1 wait 3 2\n");
	if (waits)
		story_tell("2" MS "suspend \"wait for work\n9" MS "resume \"wait for work\n");
	story_tell("10" MS "unlock 1 2\n10" MS "@1 lock 3 2\n11" MS "@1 unlock 3 2\n");
	story_tell("12" MS "lock 1 2\n13" MS "@1 wait 3 2\n");
	story_tell("14" MS "suspend \"wait for work\n");
	story_tell("900" MS "@2 create - 9 thread\n900" MS "@2 resolve 9 9\n");
}

static void lock_is_a_gate(void **state)
{
	const struct thrum__finding *finding;

	tell_gate(false);
	finding = judge(1);
	assert_int_equal(finding->steps[0].task, task(1));
	finish();
	tell_gate(true);
	expect_none();
}

/* The only thread that ever signalled a condition ends with the program; in the twin long before. */
static void tell_last_server(int end)
{
	begin();
	story_tell("1" MS "create 1 2 condition\n1" MS "label 2 \"jobs\n");
	story_tell("1" MS "@1 create - 3 thread\n1" MS "label 3 \"helper\n1" MS "@1 wait 3 2\n");
	story_tell("1" MS "@2 create - 4 thread\n1" MS "label 4 \"boss\n5" MS "@2 signal 4 2\n");
	story_tell("5" MS "@1 read 3 2\n6" MS "@1 wait 3 2\n");
	story_tell("%d" MS "@2 resolve 4 4\n900" MS "log 1 \"end\n", end);
}

static void server_ends_with_the_program(void **state)
{
	for (int end = 400; end <= 899; end += 499) {
		tell_last_server(end);
		judged.model = story_model(story_told(), false);
		judged.model->ending = THRUM_ENDING_EXITED;
		story_find(judged.model, &judged.findings);
		assert_int_equal(judged.findings.count, end == 400);
		finish();
	}
}

/* ---- Joins --------------------------------------------------------------------------------- */

static void tell_join(int open, int end)
{
	begin();
	story_tell("1" MS "create 1 2 join\n1" MS "label 2 \"all\n");
	for (int i = 0; i < 5; i++)
		story_tell("1" MS "create 1 %d task\n1" MS "label %d \"part %c\n1" MS "wait 2 %d\n",
			3 + i, 3 + i, 'a' + i, 3 + i);
	for (int i = 0; i < 5; i++)
		if (i != open)
			story_tell("%d" MS "resolve 1 %d\n", 10 + i, 3 + i);
	story_tell("%d" MS "log 1 \"end\n", end);
}

static void join_kept_open(void **state)
{
	const struct thrum__finding *finding;

	tell_join(2, 900);
	finding = judge(1);
	assert_int_equal(finding->certainty, THRUM__LIKELY);
	assert_int_equal(step(THRUM__STEP_WAITS_FOR)->other, task(5));
	finish();
	tell_join(2, 30);
	expect_none();
}

/* ---- Those who should have ended it ---------------------------------------------------------- */

/* Ten replies, each resolved by its handler; the eleventh isn't. `end` tells what its handler does
 * instead. */
static void tell_replies(const char *end)
{
	begin();
	for (int i = 0; i < 11; i++) {
		story_tell("%d" MS "create 1 %d promise\n%d" MS "label %d \"reply %d\n", 10 * i + 1,
			100 + i, 10 * i + 1, 100 + i, i);
		if (i == 10 && !end)
			break;
		story_tell("%d" MS "create 1 %d fiber\n%d" MS "label %d \"handler %d\n", 10 * i + 2,
			200 + i, 10 * i + 2, 200 + i, i);
		if (i < 10)
			story_tell("%d" MS "switch %d\n%d" MS "resolve %d %d\n%d" MS
				   "resolve %d %d\n%d" MS "switch 1\n",
				10 * i + 3, 200 + i, 10 * i + 4, 200 + i, 100 + i, 10 * i + 5,
				200 + i, 200 + i, 10 * i + 5);
	}
	story_tell("102" MS "should-resolve 110\n%s900" MS "log 1 \"end\n", end ? end : "");
}

static const struct thrum__step *first_step(const char *end, int kind)
{
	const struct thrum__finding *finding;

	tell_replies(end);
	finding = judge(1);
	assert_string_equal(thrum__why_step_name(finding->steps[0].kind),
		thrum__why_step_name(kind));
	return &finding->steps[0];
}

static void handler_is_to_blame(void **state)
{
	const struct thrum__step *one;

	one = first_step("103" MS "switch 210\n104" MS "resolve 210 210\n104" MS "switch 1\n",
		THRUM__STEP_ENDS_WITHOUT);
	assert_int_equal(one->task, task(210));
	assert_int_equal(one->other, task(110));
	finish();
	one = first_step("104" MS "cancel 1 210\n", THRUM__STEP_CANCELLED);
	assert_int_equal(one->task, task(210));
	finish();
	one = first_step(NULL, THRUM__STEP_NOT_STARTED);
	assert_int_equal(one->task, task(110));
	finish();
}

/* The handler itself waits for a query that has no answer. */
static void handler_hangs_itself(void **state)
{
	const struct thrum__step *one = first_step("104" MS "create 210 300 request\n"
						   "104" MS "label 300 \"query\n"
						   "104" MS "wait 210 300\n",
		THRUM__STEP_PENDING);

	assert_int_equal(one->task, task(300));
	assert_int_equal(step(THRUM__STEP_SHOULD_END)->task, task(210));
	finish();
}

/* ---- Findings that are alike ------------------------------------------------------------------ */

/* A request of this name that waits for a reply, which never comes. */
static void tell_request(int ms, int task, const char *name)
{
	story_tell("%d" MS "create 1 %d promise\n%d" MS "label %d \"%s %d\n", ms, task, ms, task,
		name, task);
	story_tell("%d" MS "create 1 %d promise\n%d" MS "label %d \"reply to %s\n", ms, task + 1,
		ms, task + 1, name);
	story_tell("%d" MS "should-resolve %d\n%d" MS "wait %d %d\n", ms, task, ms, task, task + 1);
}

/* However many are alike, others are told, too. */
static void many_alike_are_one(void **state)
{
	begin();
	for (int i = 0; i < 120; i++)
		tell_request(i, 100 + 2 * i, "item");
	tell_request(130, 1000, "another");
	story_tell("900" MS "log 1 \"end\n");
	assert_int_equal(judge(2)[0].behind, 119);
	finish();
}

/* The surest of those that are alike tells how sure the finding is. */
static void the_surest_of_those_alike_counts(void **state)
{
	for (int later = 0; later < 2; later++) {
		begin();
		tell_request(1, 100, "item");
		story_tell("10" MS "lost =3 \"full\n");
		if (later)
			tell_request(20, 200, "item");
		story_tell("900" MS "log 1 \"end\n");
		assert_int_equal(judge(1)->certainty, later ? THRUM__LIKELY : THRUM__POSSIBLE);
		finish();
	}
}

/* ---- The program's end ----------------------------------------------------------------------- */

static void tell_loop(const char *reason)
{
	begin();
	story_tell("1" MS "create 1 2 promise\n1" MS "label 2 \"answer\n");
	story_tell("1" MS "create 1 3 promise\n1" MS "label 3 \"all\n1" MS "wait 3 2\n");
	story_tell("2" MS "suspend \"%s\n900" MS "@1 create - 9 thread\n900" MS "@1 resolve 9 9\n",
		reason);
}

static void loop_has_nothing_left(void **state)
{
	const struct thrum__finding *finding;

	tell_loop("deadlocked");
	finding = judge(1);
	assert_int_equal(finding->certainty, THRUM__LIKELY);
	assert_int_equal(step(THRUM__STEP_WAITS_FOR)->other, task(2));
	finish();
	tell_loop("wait for work");
	expect_none();
}

/* Another thread may still wake it. */
static void loop_has_nothing_left_beside_a_thread(void **state)
{
	begin();
	story_tell("1" MS "create 1 2 promise\n1" MS "label 2 \"answer\n");
	story_tell("1" MS "create 1 3 promise\n1" MS "label 3 \"all\n1" MS "wait 3 2\n");
	story_tell("2" MS "suspend \"deadlocked\n2" MS "@1 create - 9 thread\n900" MS
		   "@1 log 9 \"beat\n");
	expect_none();
}

/* A wait that has just begun may end soon, but not if the loop says that nothing can wake it. */
static void loop_has_nothing_left_at_once(void **state)
{
	static const char waits[] = "800" MS "create 1 2 promise\n"
				    "899" MS "create 1 3 promise\n"
				    "899" MS "should-resolve 3\n"
				    "899" MS "wait 3 2\n";

	begin();
	story_tell("%s900" MS "suspend \"deadlocked\n", waits);
	judge(1);
	assert_int_equal(step(THRUM__STEP_WAITS_FOR)->task, task(3));
	finish();
	begin();
	story_tell("%s900" MS "suspend \"wait for work\n", waits);
	expect_none();
}

/* A writer waits as its mailbox is full; the only one who read from it has ended. */
static void reader_goes_home(void **state)
{
	begin();
	story_tell("0" MS "create 1 2 mailbox\n1" MS "create 1 3 task\n1" MS "label 3 \"cook\n");
	story_tell("1" MS "create 1 4 task\n1" MS "label 4 \"waiter\n1" MS "should-resolve 4\n");
	for (unsigned ms = 2; ms < 20; ms += 2)
		story_tell("%u" MS "signal 4 2 =1\n%u" MS "read 3 2\n", ms, ms + 1);
	story_tell("20" MS "resolve 3 3\n21" MS "signal 4 2 =0\n22" MS "wait 4 2\n900" MS
		   "log 1 \"end\n");
	judge(1);
	assert_int_equal(step(THRUM__STEP_SERVER_ENDED)->task, task(3));
	finish();
}

/* A watch gives a thread its first job and ends, as the thread is to watch the connection. Another connection
 * may bring the next job, if there is one. */
static void tell_first_job(bool is_only)
{
	begin();
	story_tell("0" MS "create 1 2 thread\n0" MS "label 2 \"worker\n0" MS "@1 switch 2\n");
	story_tell("0" MS "create 2 3 condition\n0" MS "label 3 \"jobs\n");
	for (int i = 0; i < (is_only ? 1 : 2); i++)
		story_tell("1" MS "create 1 %d handle\n1" MS "label %d \"watch on_line\n", 10 + i,
			10 + i);
	story_tell("2" MS "@1 wait 2 3\n2" MS "@1 suspend \"blocked\n");
	story_tell(
		"9" MS "switch 10\n9" MS "signal 10 3 =1\n9" MS "switch 1\n9" MS "resolve 1 10\n");
	story_tell("10" MS "@1 resume \"blocked\n10" MS "@1 read 2 3\n");
	story_tell("300" MS "@1 wait 2 3\n300" MS "@1 suspend \"blocked\n");
	if (!is_only)
		story_tell("980" MS "switch 11\n981" MS "switch 1\n");
	story_tell("990" MS "counter =1 \"beat\n");
}

static void first_job_of_several(void **state)
{
	tell_first_job(true);
	judge(1);
	assert_int_equal(step(THRUM__STEP_SERVER_ENDED)->task, task(10));
	finish();
	tell_first_job(false);
	expect_none();
}

/* ---- Messages and silence -------------------------------------------------------------------- */

/* A client sends questions to another loop, which answers them. The last one is lost. */
static void tell_posts(unsigned received, bool is_local)
{
	begin();
	story_tell("0" MS "@1 create - 90 thread\n0" MS "@1 label 90 \"other loop\n");
	for (unsigned i = 0; i < 6; i++) {
		unsigned ms = 10 + 10 * i, id = 10 + i;

		story_tell("%u" MS "create 1 %u promise\n%u" MS "label %u \"answer\n", ms, id, ms,
			id);
		story_tell("%u" MS "link-send 1 \"post %u\n%u" MS "wait 2 %u\n", ms, i, ms, id);
		if (i >= received)
			continue;
		if (is_local)
			story_tell("%u" MS "@1 link-receive 90 \"post %u\n", ms + 1, i);
		story_tell("%u" MS "@1 resolve 90 %u\n%u" MS "read 2 %u\n", ms + 2, id, ms + 3, id);
	}
	story_tell("900" MS "@1 log 90 \"end\n");
}

static void message_is_lost(void **state)
{
	const struct thrum__finding *finding;

	tell_posts(5, true);
	finding = judge(1);
	assert_int_equal(finding->class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_equal(finding->certainty, THRUM__LIKELY);
	assert_int_equal(step(THRUM__STEP_LOST_MESSAGE)->task, task(1));
	assert_int_equal(step(THRUM__STEP_LOST_MESSAGE)->other, task(90));
	assert_int_equal(step(THRUM__STEP_WAITS_FOR)->other, task(15));
	finish();
	/* All are received, or all in another process. */
	tell_posts(6, true);
	expect_none();
	tell_posts(5, false);
	expect_none();
}

/* A thread, 90, sends letters over a connection to a watch, 2, whose last run waits for a loop of its own.
 * Perhaps the recording of this process ends before that of another one. */
static void tell_letters(bool has_loop, bool ends_before)
{
#define SENT "12345678\001\377\n"
	begin();
	story_tell("0 create 1 2 handle\n0 label 2 \"watch\n0" MS "@1 create - 90 thread\n0" MS
		   "@1 switch 90\n");
	for (unsigned ms = 10; ms < 30; ms += 10)
		story_tell("%u" MS "@1 link-send 90 \"" SENT "%u" MS "switch 2\n%u" MS
			   "link-receive 2 \"" SENT "%u" MS "switch 1\n%u" MS
			   "suspend \"wait for work\n%u" MS "resume\n",
			ms, ms + 1, ms + 1, ms + 2, ms + 2, ms + 9);
	story_tell("31" MS "switch 2\n");
	if (has_loop)
		story_tell("31" MS "create 2 5 handle\n31" MS "label 5 \"main loop\n31" MS
			   "wait 2 5\n");
	else
		story_tell("32" MS "switch 1\n");
	story_tell("32" MS "suspend \"wait for work\n40" MS "@1 link-send 90 \"" SENT "41" MS
		   "@1 create 90 91 handle\n41" MS "@1 label 91 \"read from socket 4\n41" MS
		   "@1 wait 90 91\n41" MS "@1 suspend \"blocked by the outside\n");
	if (ends_before)
		story_tell("1800" MS "suspend \"no more is recorded\n1800" MS
			   "@1 suspend \"no more is recorded\n");
	story_tell("1900" MS "@2 log \"end\n");
}

static void loop_within_a_run(void **state)
{
	const struct thrum__finding *finding;

	(void)state;
	tell_letters(true, true);
	judge(1);
	assert_int_equal(step(THRUM__STEP_LOST_MESSAGE)->other, task(2));
	finish();
	tell_letters(true, false);
	finding = judge(1);
	assert_int_equal(finding->class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_equal(finding->certainty, THRUM__POSSIBLE);
	assert_int_equal(finding->steps[0].task, task(2));
	assert_int_equal(finding->steps[0].other, task(5));
	assert_int_equal(step(THRUM__STEP_LOST_MESSAGE)->task, task(90));
	assert_int_equal(step(THRUM__STEP_LOST_MESSAGE)->other, task(2));
	finish();
	/* It may read the letter when it likes. */
	tell_letters(false, false);
	expect_none();
}

/* A thread sends with one request after the other what its own loop reads by a handle, 2. Nobody reads what
 * the last one sends, unless all is read. */
static void tell_upload(bool is_read, bool is_closed)
{
	begin();
	story_tell("0 create 1 2 handle\n0 label 2 \"read upload\n");
	for (unsigned i = 0; i < 21; i++) {
		unsigned ms = 10 + 2 * i, id = 10 + i;

		story_tell("%u" MS "create 1 %u request\n%u" MS "label %u \"write\n%u" MS
			   "link-send 1 \"" SENT,
			ms, id, ms, id, ms);
		if (i < 20 || is_read)
			story_tell("%u" MS "link-receive 1 \"" SENT "%u" MS "switch 2\n%u" MS
				   "switch 1\n",
				ms, ms, ms);
		if (i < 20)
			story_tell("%u" MS "resolve 1 %u\n", ms + 1, id);
	}
	if (is_closed)
		story_tell("60" MS "resolve 1 2\n");
	story_tell("61" MS "suspend \"wait for work\n1900" MS "@2 log \"end\n");
}

static void a_stream_is_read_no_more(void **state)
{
	(void)state;
	tell_upload(false, false);
	assert_int_equal(judge(1)->class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_equal(judged.findings.findings->steps[0].kind, THRUM__STEP_READS_NO_MORE);
	assert_int_equal(step(THRUM__STEP_READS_NO_MORE)->task, task(2));
	assert_int_equal(step(THRUM__STEP_READS_NO_MORE)->other, task(30));
	assert_int_equal(step(THRUM__STEP_PENDING)->task, task(30));
	finish();
	/* All is read, or nothing is left that reads. */
	tell_upload(true, false);
	assert_int_equal(judge(1)->class, THRUM__FINDING_OUTSIDE);
	finish();
	tell_upload(false, true);
	assert_int_equal(judge(1)->class, THRUM__FINDING_OUTSIDE);
	finish();
}

/* Tasks do something each 10 ms. Then nothing happens until the program is ended by a signal. */
static void tell_silence(const char *label)
{
	begin();
	story_tell("1" MS "create 1 3 task\n1" MS "label 3 \"%s\n", label);
	for (unsigned i = 0; i < 20; i++)
		story_tell("%u" MS "create 1 %u promise\n%u" MS "resolve 1 %u\n", 10 + 10 * i,
			10 + i, 11 + 10 * i, 10 + i);
	story_tell("200" MS "create 1 4 task\n200" MS "wait 3 4\n");
}

/* Counts the findings if a signal ends the program at a time. */
static uint32_t killed_by(int signal, int64_t ms)
{
	struct thrum_trace_info info = {.end = ms * 1000000,
		.ending = THRUM_ENDING_KILLED,
		.ending_code = signal};
	uint32_t count;

	judged.model = story_model(story_told(), false);
	thrum__model_note_end(judged.model, &info);
	story_find(judged.model, &judged.findings);
	count = judged.findings.count;
	if (count > 0)
		assert_int_equal(judged.findings.findings[0].certainty, THRUM__POSSIBLE);
	finish();
	return count;
}

/* Nothing like it has ended, and it waits for a moment only: nobody can say whether it hangs. */
static void too_soon_to_judge(void **state)
{
	struct thrum_trace_info info = {.end = 5000000,
		.ending = THRUM_ENDING_KILLED,
		.ending_code = 9};

	begin();
	story_tell(
		"0" MS "create 1 2 promise\n0" MS "label 2 \"answer\n0" MS "create 1 3 promise\n");
	story_tell("0" MS "should-resolve 3\n3" MS "wait 3 2\n4" MS "log 1 \"end\n");
	judged.model = story_model(story_told(), false);
	thrum__model_note_end(judged.model, &info);
	story_find(judged.model, &judged.findings);
	assert_int_equal(judged.findings.count, 0);
	assert_int_equal(judged.findings.unjudged_count, 1);
	assert_int_equal(judged.findings.unjudged[0].task, task(3));
	assert_int_equal(judged.findings.unjudged[0].reason, THRUM__UNJUDGED_TOO_SOON);
	finish();
	/* Nothing is left open where all has ended. */
	story_tell("5" MS "resolve 1 2\n6" MS "resolve 1 3\n");
	judge(0);
	assert_int_equal(judged.findings.unjudged_count, 0);
	finish();
}

static void silence_until_killed(void **state)
{
	tell_silence("job");
	assert_int_equal(killed_by(9, 3000), 1);
	/* An idle program is told to end, or does not wait for long. */
	assert_int_equal(killed_by(15, 3000), 0);
	assert_int_equal(killed_by(9, 250), 0);
	tell_silence("connection");
	assert_int_equal(killed_by(9, 3000), 0);
	/* It was silent before. */
	tell_silence("job");
	story_tell("1500" MS "create 1 90 promise\n1500" MS "resolve 1 90\n");
	assert_int_equal(killed_by(9, 3000), 0);
}

/* Peers show that a task waits for very long. But nothing is known any more of that for which it waited. If
 * it is a bind, that may be a promise which became another. */
static void awaited_task_is_gone(void **state)
{
	for (int i = 0; i < 16; i++) {
		bool is_gone = i & 1, is_marked = i & 2, has_table = i & 4, is_bind = i & 8;
		bool is_found = !has_table || !is_gone || is_marked || !is_bind;

		begin();
		for (int k = 0; k < 100; k++) {
			story_tell("%d" MS "create 1 %d =7 %s\n", 10 * k, 100 + k,
				is_bind ? "bind" : "promise");
			if (k != 60)
				story_tell("%d" MS "resolve 1 %d\n", 10 * k + 5, 100 + k);
		}
		story_tell("1000" MS "wait 160 900\n");
		if (is_marked)
			story_tell("1000" MS "should-resolve 160\n");
		story_tell("1500" MS "log 1 \"end\n");
		judged.model = story_model(story_told(), false);
		judged.model->has_live = has_table;
		if (!is_gone)
			THRUM__TASK(judged.model, task(900), flags) |= THRUM__TASK_LIVE;
		story_find(judged.model, &judged.findings);
		assert_int_equal(judged.findings.count, is_found);
		if (is_found)
			assert_int_equal(judged.findings.findings[0].certainty, THRUM__POSSIBLE);
		if (is_found && has_table)
			assert_int_equal(step(THRUM__STEP_WAITS_FOR)->more, is_gone);
		finish();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_a_hundred),
		cmocka_unit_test(several_of_a_hundred),
		cmocka_unit_test(idle_connection),
		cmocka_unit_test(links_are_no_peers),
		cmocka_unit_test(peers_by_first_word),
		cmocka_unit_test(timer_far_too_late),
		cmocka_unit_test(few_timers_are_due_far_sooner),
		cmocka_unit_test(timeouts_are_cancelled),
		cmocka_unit_test(timer_too_late_for_its_place),
		cmocka_unit_test(tries_without_end),
		cmocka_unit_test(tries_that_do_not_fail),
		cmocka_unit_test(producer_ends),
		cmocka_unit_test(a_server_fails),
		cmocka_unit_test(the_source_of_a_callback_is_cancelled),
		cmocka_unit_test(writer_is_stuck),
		cmocka_unit_test(pool_without_a_thread),
		cmocka_unit_test(workers_want_room),
		cmocka_unit_test(silent_connection),
		cmocka_unit_test(mailboxes_in_a_circle),
		cmocka_unit_test(idle_workers),
		cmocka_unit_test(holder_ends),
		cmocka_unit_test(lock_is_a_gate),
		cmocka_unit_test(server_ends_with_the_program),
		cmocka_unit_test(permits_that_nobody_gives_back),
		cmocka_unit_test(permit_is_lost_soon),
		cmocka_unit_test(join_kept_open),
		cmocka_unit_test(handler_is_to_blame),
		cmocka_unit_test(handler_hangs_itself),
		cmocka_unit_test(many_alike_are_one),
		cmocka_unit_test(the_surest_of_those_alike_counts),
		cmocka_unit_test(loop_has_nothing_left),
		cmocka_unit_test(loop_has_nothing_left_at_once),
		cmocka_unit_test(loop_has_nothing_left_beside_a_thread),
		cmocka_unit_test(too_soon_to_judge),
		cmocka_unit_test(reader_goes_home),
		cmocka_unit_test(first_job_of_several),
		cmocka_unit_test(message_is_lost),
		cmocka_unit_test(loop_within_a_run),
		cmocka_unit_test(a_stream_is_read_no_more),
		cmocka_unit_test(silence_until_killed),
		cmocka_unit_test(awaited_task_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
