/* SPDX-License-Identifier: ISC */
/* Tasks that need nothing but time: they are at work, sleep for the first time, or come when it is time. Each
 * has a twin that waits in vain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

static void begin(void)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
}

/* ---- Those at work -------------------------------------------------------------------------- */

/* A worker's thread rests in the midst of a task's run, or after it has left that. */
static void tell_rest(bool is_left)
{
	begin();
	story_tell("0 @1 create - 2 thread\n0 @1 label 2 \"worker\n0 @1 switch 2\n");
	story_tell("1" MS "create 1 3 task\n1" MS "label 3 \"report\n1" MS "should-resolve 3\n");
	story_tell("100" MS "@1 switch 3\n");
	if (is_left)
		story_tell("101" MS "@1 switch 2\n");
	story_tell("102" MS "@1 suspend \"wait for work\n");
}

static void a_thread_rests_in_a_run(void **state)
{
	(void)state;
	tell_rest(false);
	assert_int_equal(story_findings_if_killed(700), 0);
	tell_rest(true);
	assert_int_equal(story_findings_if_killed(700), 1);
	/* That is too long. */
	tell_rest(false);
	assert_int_equal(story_findings_if_killed(3000), 1);
}

/* A task got the message of a request, and runs; or it has ended. */
static void tell_message(bool has_ended)
{
	begin();
	story_tell("0 @1 create - 2 thread\n0 @1 label 2 \"server\n0 @1 switch 2\n");
	story_tell("1" MS "create 1 3 task\n1" MS "label 3 \"page\n1" MS "should-resolve 3\n");
	story_tell("1" MS "create 3 4 request\n1" MS "label 4 \"ask\n1" MS "wait 3 4\n");
	story_tell("2" MS "link-send 4 \"post\n2" MS "switch 1\n");
	story_tell("600" MS "@1 create 2 5 task\n600" MS "@1 label 5 \"find\n600" MS
		   "@1 switch 5\n600" MS "@1 link-receive 5 \"post\n601" MS
		   "@1 suspend \"wait for work\n");
	if (has_ended)
		story_tell("602" MS "@1 resume\n602" MS "@1 resolve 5 5\n602" MS "@1 switch 2\n");
}

static void somebody_works_on_the_answer(void **state)
{
	(void)state;
	tell_message(false);
	assert_int_equal(story_findings_if_killed(700), 0);
	tell_message(true);
	assert_int_equal(story_findings_if_killed(700), 1);
}

/* ---- Those whose turn it is ------------------------------------------------------------------ */

/* Two threads hand a turn to each other by a condition each, 4 and 5. At `last` ms, one signals the other and
 * waits; with `goes_on`, the other goes on and computes. */
static void tell_pair(int last, bool goes_on)
{
	begin();
	story_tell("0 create 1 2 thread\n0 label 2 \"pair\n0 create 1 3 thread\n0 label 3 \"pair\n"
		   "0 should-resolve 2\n0 @1 create - 32 thread\n0 @1 switch 2\n"
		   "0 @2 create - 64 thread\n0 @2 switch 3\n0 create 1 4 condition\n"
		   "0 create 1 5 condition\n1" MS "wait 1 2\n1" MS "suspend \"blocked\n"
		   "2" MS "@1 wait 2 4\n2" MS "@1 suspend \"blocked\n");
	for (int i = 0; i <= 10; i++) {
		int ms = i < 10 ? 10 * i + 10 : last, a = i % 2, other = 2 + a;
		bool is_woken = i < 10 || goes_on;

		story_tell("%d" MS "@%d signal %d %d =1\n%d" MS "@%d wait %d %d\n%d" MS
			   "@%d suspend \"blocked\n",
			ms, 2 - a, 3 - a, 4 + a, ms, 2 - a, 3 - a, 5 - a, ms, 2 - a);
		if (is_woken)
			story_tell("%d" MS "@%d resume \"blocked\n%d" MS "@%d read %d %d\n", ms + 1,
				1 + a, ms + 1, 1 + a, other, 4 + a);
	}
}

static void a_thread_is_woken(void **state)
{
	(void)state;
	tell_pair(600, false);
	assert_int_equal(story_findings_if_killed(800), 0);
	/* It was not. */
	assert_int_equal(story_findings_if_killed(3000), 1);
}

static void a_thread_has_its_turn(void **state)
{
	(void)state;
	tell_pair(600, true);
	assert_int_equal(story_findings_if_killed(1500), 0);
}

/* Task 3 is ready, or was due, while another one runs since 600 ms. Its like took far less time. */
static void tell_turns(const char *next)
{
	begin();
	for (int i = 2; i <= 9; i++)
		story_tell("0 create 1 %d fiber\n0 label %d \"step %d\n0 should-resolve %d\n", i, i,
			i, i);
	for (int i = 4; i <= 9; i++)
		story_tell("%d" MS "switch %d\n%d" MS "resolve %d %d\n", i, i, i + 1, i, i);
	story_tell("100" MS "suspend \"wait for work\n101" MS "resume\n");
	story_tell("400" MS "switch 2\n401" MS "resolve 2 2\n410" MS "switch 3\n");
	story_tell("%s", next);
	story_tell("600" MS "switch 1\n600" MS "create 1 12 fiber\n600" MS "label 12 \"long\n600" MS
		   "switch 12\n");
}

static void a_task_has_its_next_turn(void **state)
{
	(void)state;
	tell_turns("500" MS "ready 1 3\n");
	assert_int_equal(story_findings_if_killed(690), 0);
	tell_turns("500" MS "due 3 =510000000\n");
	assert_int_equal(story_findings_if_killed(690), 0);
	/* It doesn't come. */
	tell_turns("500" MS "due 3 =510000000\n");
	assert_int_equal(story_findings_if_killed(3000), 1);
}

/* A thread computes since 100 ms with a lock for which another one waits. */
static void a_thread_computes_with_a_lock(void **state)
{
	(void)state;
	begin();
	story_tell("0 create 1 2 thread\n0 label 2 \"reader\n0 should-resolve 2\n"
		   "0 @1 create - 32 thread\n0 @1 switch 2\n0 create 1 4 lock\n0 label 4 \"map\n"
		   "100" MS "lock 1 4\n101" MS "@1 wait 2 4\n101" MS "@1 suspend \"blocked\n");
	assert_int_equal(story_findings_if_killed(900), 0);
	assert_int_equal(story_findings_if_killed(3000), 1);
}

/* So many requests that are answered after 5 ms, and one that isn't. */
static void tell_requests(int answered)
{
	begin();
	for (int i = 0; i <= answered; i++) {
		int ms = 10 * i, task = 10 + 2 * i;

		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"put %d\n%d" MS
			   "should-resolve %d\n",
			ms, task, ms, task, i, ms, task);
		story_tell("%d" MS "create 1 %d request\n%d" MS "label %d \"insert %d\n%d" MS
			   "wait %d %d\n",
			ms, task + 1, ms, task + 1, i, ms, task, task + 1);
		if (i < answered)
			story_tell("%d" MS "resolve 1 %d\n%d" MS "resolve 1 %d\n", ms + 5, task + 1,
				ms + 5, task);
	}
	story_tell("%d" MS "log 1 \"end\n", 10 * answered + 50);
}

/* Two answers don't tell how long the third one takes. */
static void few_answers_tell_little(void **state)
{
	(void)state;
	tell_requests(2);
	assert_int_equal(story_findings_if_killed(75), 0);
	tell_requests(2);
	assert_int_equal(story_findings_if_killed(400), 1);
	tell_requests(6);
	assert_int_equal(story_findings_if_killed(115), 1);
}

/* ---- Sleeps --------------------------------------------------------------------------------- */

/* A task that runs in the second thread sleeps. */
static void tell_sleep(int ms, int task, int timer, int takes, bool is_over)
{
	story_tell("%d" MS "@1 create %d %d timer =8\n%d" MS "@1 label %d \"sleep %d ms\n%d" MS
		   "@1 due %d =%d" MS "\n%d" MS "@1 wait %d %d\n%d" MS
		   "@1 suspend \"blocked for a time\n",
		ms, task, timer, ms, timer, takes, ms, timer, takes, ms, task, timer, ms);
	if (is_over)
		story_tell("%d" MS "@1 resume\n%d" MS "@1 resolve %d %d\n", ms + takes, ms + takes,
			timer, timer);
}

/* Jobs that sleep for 5 ms each, and then one that sleeps for a second, or again and again. */
static void tell_jobs(int sleeps)
{
	int timer = 100;

	begin();
	story_tell("0 @1 create - 2 thread\n0 @1 label 2 \"worker\n0 @1 switch 2\n");
	for (int i = 0; i < 13; i++) {
		int ms = 1 + 10 * i, task = 10 + i;

		story_tell("%d" MS "@1 create 2 %d task =7\n%d" MS "@1 label %d \"job %d\n%d" MS
			   "@1 switch %d\n",
			ms, task, ms, task, i, ms, task);
		for (int k = 0; i == 12 && k < sleeps; k++)
			tell_sleep(ms + 10 * k, task, timer++, 5, true);
		if (i == 12)
			tell_sleep(ms + 10 * sleeps, task, timer++, 900, false);
		else
			tell_sleep(ms, task, timer++, 5, true);
		if (i < 12)
			story_tell("%d" MS "@1 resolve %d %d\n%d" MS "@1 switch 2\n", ms + 6, task,
				task, ms + 6);
	}
	/* Others do such jobs meanwhile. */
	for (int i = 0; i < 12; i++) {
		int ms = 400 + 10 * i, task = 40 + i;

		story_tell("%d" MS "create 1 %d task =7\n%d" MS "label %d \"job %d\n%d" MS
			   "switch %d\n%d" MS "resolve %d %d\n%d" MS "switch 1\n",
			ms, task, ms, task, i, ms, task, ms + 6, task, task, ms + 6);
	}
}

static void a_job_sleeps_once(void **state)
{
	(void)state;
	tell_jobs(0);
	assert_int_equal(story_findings_if_killed(800), 0);
	/* It looks for something that doesn't come. */
	tell_jobs(20);
	assert_int_equal(story_findings_if_killed(800), 1);
}

/* ---- Those that come when it is time -------------------------------------------------------- */

/* A task takes what others put into a stream: imports, which the importer made one after the other, and which
 * have ended. Then `maker`, the importer or the cleaner, rests until `due`. */
static void tell_stream(int maker, int due)
{
	begin();
	story_tell("1" MS "create 1 2 stream\n1" MS "label 2 \"inbox\n1" MS "create 1 3 task\n1" MS
		   "label 3 \"actor\n1" MS "should-resolve 3\n");
	story_tell("1" MS "create 1 4 task\n1" MS "label 4 \"importer\n1" MS "create 1 5 task\n1" MS
		   "label 5 \"cleaner\n");
	for (int i = 0; i < 4; i++) {
		int ms = 10 + 10 * i, import = 20 + i;

		story_tell("%d" MS "wait 3 2\n%d" MS "create 4 %d task\n%d" MS
			   "label %d \"import %d\n",
			ms, ms, import, ms, import, i);
		story_tell("%d" MS "signal %d 2 =1\n%d" MS "read 3 2\n%d" MS "resolve 1 %d\n",
			ms + 5, import, ms + 5, ms + 6, import);
	}
	story_tell("60" MS "wait 3 2\n61" MS "create %d 40 timer\n61" MS "label 40 \"pause\n61" MS
		   "due 40 =%d" MS "\n61" MS "wait %d 40\n900" MS "log 1 \"end\n",
		maker, due, maker);
}

static void the_maker_of_servers_rests(void **state)
{
	(void)state;
	tell_stream(4, 5000);
	assert_int_equal(story_findings_if_killed(950), 0);
	/* That time has passed. */
	tell_stream(4, 100);
	assert_int_equal(story_findings_if_killed(950), 1);
	/* Another one rests, that made none of them. */
	tell_stream(5, 5000);
	assert_int_equal(story_findings_if_killed(950), 1);
}

/* A thread takes the first item of a stream itself, and makes a task that rests, after that or before. A
 * writer waits for room. */
static void tell_first(bool is_after)
{
	begin();
	story_tell("1" MS "create 1 2 stream\n1" MS "label 2 \"rows\n1" MS "create 1 3 task\n1" MS
		   "label 3 \"writer\n1" MS "should-resolve 3\n");
	if (!is_after)
		story_tell("2" MS "create 1 5 task\n2" MS "label 5 \"reader\n");
	story_tell("3" MS "signal 3 2 =0\n4" MS "read 1 2\n");
	if (is_after)
		story_tell("5" MS "create 1 5 task\n5" MS "label 5 \"reader\n");
	story_tell("6" MS "create 1 6 timer\n6" MS "label 6 \"pause\n6" MS "due 6 =5000" MS "\n6" MS
		   "wait 5 6\n7" MS "wait 3 2\n900" MS "log 1 \"end\n");
}

static void who_took_first_made_one_that_rests(void **state)
{
	(void)state;
	tell_first(true);
	assert_int_equal(story_findings_if_killed(950), 0);
	tell_first(false);
	assert_int_equal(story_findings_if_killed(950), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_rests_in_a_run),
		cmocka_unit_test(somebody_works_on_the_answer),
		cmocka_unit_test(a_thread_is_woken),
		cmocka_unit_test(a_thread_has_its_turn),
		cmocka_unit_test(a_task_has_its_next_turn),
		cmocka_unit_test(a_thread_computes_with_a_lock),
		cmocka_unit_test(few_answers_tell_little),
		cmocka_unit_test(a_job_sleeps_once),
		cmocka_unit_test(the_maker_of_servers_rests),
		cmocka_unit_test(who_took_first_made_one_that_rests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
