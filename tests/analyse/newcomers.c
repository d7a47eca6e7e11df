/* SPDX-License-Identifier: ISC */
/* Threads that may signal an object for the first time: then a wait for it may still end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 "      /* behind a number: makes ns of ms */
#define SECOND 1000000000 /* ns */

static void expect(uint32_t count)
{
	struct thrum__findings findings;
	struct thrum__model *model;

	story_tell("900" MS "log 1 \"end\n");
	model = story_findings(&findings);
	assert_int_equal(findings.count, count);
	story_free(model, &findings);
}

/* The main thread, and a thread 2 that waits for the condition 3. */
static void begin(void)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		   "0 create 1 3 condition =7\n0 label 3 \"filled\n"
		   "0 @1 create - 2 thread\n0 @1 label 2 \"reader\n0 @1 switch 2\n");
}

static void signal_thrice(void)
{
	for (int ms = 1; ms < 30; ms += 10)
		story_tell("%d" MS "@1 wait 2 3\n%d" MS "signal 1 3 =1\n%d" MS "@1 read 2 3\n", ms,
			ms + 1, ms + 2);
}

static void join(void)
{
	story_tell("31" MS "@1 wait 2 3\n40" MS "should-resolve 2\n40" MS "wait 1 2\n40" MS
		   "suspend \"blocked\n");
}

/* A thread that main started, and that sleeps from a time on until another, in ms. */
static void start_sleeper(int ms, long long due)
{
	story_tell("%d" MS "@2 create 1 4 thread\n%d" MS "@2 label 4 \"sleeper\n%d" MS
		   "@2 switch 4\n%d" MS "@2 create 4 5 timer\n%d" MS "@2 due 5 =%lld\n%d" MS
		   "@2 wait 4 5\n%d" MS "@2 suspend \"blocked for a time\n",
		ms, ms, ms, ms, ms, due, ms, ms);
}

/* Main alone signalled the condition, and waits for the reader. */
static void nobody_else(void **state)
{
	(void)state;
	begin();
	signal_thrice();
	join();
	expect(1);
}

/* Main has started a thread since, which may signal it when its time comes. */
static void the_server_hands_over(void **state)
{
	(void)state;
	begin();
	signal_thrice();
	start_sleeper(35, 5LL * SECOND);
	join();
	expect(0);
	/* That time has passed. */
	begin();
	signal_thrice();
	start_sleeper(35, SECOND / 20);
	join();
	expect(1);
	/* It was there before, and never signalled. */
	begin();
	start_sleeper(1, 5LL * SECOND);
	signal_thrice();
	join();
	expect(1);
}

/* A thread waits for the outside, and went on so many times. */
static void accept_some(int times)
{
	story_tell(
		"1" MS "@2 create 1 4 thread\n1" MS "@2 label 4 \"acceptor\n1" MS "@2 switch 4\n");
	for (int i = 0; i <= times; i++) {
		story_tell("%d" MS "@2 suspend \"blocked by the outside\n", 3 * i + 2);
		if (i < times)
			story_tell("%d" MS "@2 resume\n", 3 * i + 3);
	}
}

/* Another condition that was made at the same place, and that main has signalled. */
static void signal_like(void)
{
	story_tell("1" MS "create 1 9 condition =7\n2" MS "signal 1 9 =1\n");
}

/* Nobody ever signalled the condition. That may be right as long as others wait for the outside: nothing that
 * came from there need have been for this one. */
static void nobody_has_signalled(void **state)
{
	(void)state;
	begin();
	accept_some(0);
	join();
	expect(0);
	begin();
	accept_some(2);
	join();
	expect(0);
	/* Those who signal know such conditions. */
	begin();
	signal_like();
	accept_some(2);
	join();
	expect(1);
	/* The program goes on with its work, and main may wait for the end of that. */
	for (int is_main = 0; is_main < 2; is_main++) {
		begin();
		signal_like();
		accept_some(2);
		join();
		if (!is_main)
			story_tell("41" MS "resume\n41" MS "create 1 8 thread\n41" MS
				   "should-resolve 8\n41" MS "wait 1 8\n41" MS
				   "suspend \"blocked\n41" MS "@8 switch 8\n41" MS
				   "@8 wait 8 2\n41" MS "@8 suspend \"blocked\n");
		story_tell("800" MS "@2 signal 4 9 =0\n");
		expect(!is_main);
	}
	/* Nobody waits for the outside. */
	begin();
	join();
	expect(1);
}

/* ---- A thread that begins those who signal ----------------------------------------------------- */

/* A thread begins three that signal the condition and end, and then rests for a reason. */
static void serve_by_others(const char *rests_for)
{
	story_tell("0 @2 create - 4 thread\n0 @2 label 4 \"acceptor\n0 @2 switch 4\n");
	for (int i = 0; i < 3; i++) {
		int id = 10 + i, ms = 10 * i + 1;

		story_tell("%d" MS "@1 wait 2 3\n%d" MS "@%d create 4 %d thread\n", ms, ms, id, id);
		story_tell("%d" MS "@%d label %d \"worker\n%d" MS "@%d switch %d\n", ms, id, id, ms,
			id, id);
		story_tell("%d" MS "@%d signal %d 3 =1\n%d" MS "@1 read 2 3\n%d" MS
			   "@%d resolve %d %d\n",
			ms + 1, id, id, ms + 2, ms + 3, id, id, id);
	}
	story_tell("30" MS "@2 suspend \"%s\n", rests_for);
}

static void who_begins_servers_may_begin_another(void **state)
{
	(void)state;
	begin();
	serve_by_others("blocked by the outside");
	join();
	expect(0);
	/* Nothing that comes from outside wakes it. */
	begin();
	serve_by_others("blocked");
	join();
	expect(1);
}

/* ---- One like those who signalled ------------------------------------------------------------- */

/* A thread like that which signalled another condition waits for the end of a process. `before`: what it
 * did. */
static void fetch(const char *before)
{
	begin();
	story_tell(
		"0 @8 create 1 8 thread\n0 @8 label 8 \"fetcher\n0 @8 switch 8\n"
		"1" MS "create 1 9 condition =7\n2" MS "@8 signal 8 9 =1\n3" MS "@8 resolve 8 8\n");
	story_tell("4" MS "@2 create 1 4 thread\n4" MS "@2 label 4 \"fetcher\n4" MS
		   "@2 switch 4\n5" MS "@2 suspend \"blocked by the outside\n6" MS
		   "@2 resume \"blocked by the outside\n%s",
		before);
	story_tell("10" MS "@2 create 4 5 request\n10" MS "@2 label 5 \"process 17\n10" MS
		   "@2 wait 4 5\n10" MS "@2 suspend \"blocked by the outside\n");
	join();
}

static void one_like_those_who_signalled_may_do_so(void **state)
{
	(void)state;
	fetch("");
	expect(0);
	/* It gave its signal. */
	fetch("7" MS "@2 signal 4 9 =0\n");
	expect(1);
}

/* ---- Tries ------------------------------------------------------------------------------------- */

/* Handles of a loop signal the condition, one for each wait; the last one doesn't. */
static void answer_but_once(const char *then)
{
	story_tell("0 @2 create - 4 thread\n0 @2 label 4 \"loop\n0 @2 switch 4\n");
	for (int i = 0; i < 4; i++) {
		int id = 10 + i, ms = 10 * i + 1;

		story_tell("%d" MS "@1 wait 2 3\n%d" MS "@2 create 4 %d handle =5\n%d" MS
			   "@2 label %d \"connection\n%d" MS "@2 switch %d\n",
			ms, ms, id, ms, id, ms, id);
		if (i < 3)
			story_tell("%d" MS "@2 signal %d 3 =1\n%d" MS "@1 read 2 3\n", ms + 1, id,
				ms + 2);
		else
			story_tell("%s", then);
		story_tell("%d" MS "@2 switch 4\n%d" MS "@2 resolve 4 %d\n", ms + 3, ms + 3, id);
	}
	story_tell("35" MS "@2 suspend \"wait for work\n40" MS "should-resolve 2\n40" MS
		   "wait 1 2\n40" MS "suspend \"blocked\n");
}

static void a_timer_tries_again(void **state)
{
	(void)state;
	begin();
	answer_but_once("32" MS "@2 create 13 20 timer\n32" MS "@2 due 20 =5000000000\n");
	expect(0);
	/* It doesn't. */
	begin();
	answer_but_once("");
	expect(1);
	/* The timer is another one's. */
	begin();
	answer_but_once("32" MS "@2 create 4 20 timer\n32" MS "@2 due 20 =5000000000\n");
	expect(1);
}

/* ---- The handler of a signal ------------------------------------------------------------------- */

/* A connection's handle in a loop signals the condition for each wait but the last one. */
static void answer_all_but_last(const char *more)
{
	begin();
	story_tell("0 @2 create - 4 thread\n0 @2 label 4 \"loop\n0 @2 switch 4\n"
		   "0 @2 create 4 10 handle\n0 @2 label 10 \"read reply\n%s",
		more);
	for (int ms = 1; ms < 100; ms += 10) {
		story_tell("%d" MS "@1 wait 2 3\n%d" MS "@2 resume \"wait for work\n%d" MS
			   "@2 switch 10\n",
			ms, ms, ms);
		if (ms < 91)
			story_tell("%d" MS "@2 signal 10 3 =1\n%d" MS "@1 read 2 3\n", ms + 1,
				ms + 2);
		story_tell("%d" MS "@2 switch 4\n%d" MS "@2 suspend \"wait for work\n", ms + 3,
			ms + 3);
	}
	story_tell("95" MS "should-resolve 2\n95" MS "wait 1 2\n95" MS "suspend \"blocked\n");
}

static void a_handler_may_tell_of_more(void **state)
{
	(void)state;
	answer_all_but_last("0 create 1 15 handle\n0 label 15 \"signal 15\n");
	expect(0);
	answer_all_but_last("");
	expect(1);
	/* Another loop has it. */
	answer_all_but_last("0 @5 create - 6 thread\n0 @5 switch 6\n0 @5 create 6 15 handle\n"
			    "0 @5 label 15 \"signal 15\n0 @5 suspend \"wait for work\n");
	expect(1);
}

/* ---- A thread that computes -------------------------------------------------------------------- */

static void start_computing(const char *end)
{
	story_tell("1" MS "@2 create 1 4 thread\n1" MS "@2 label 4 \"computer\n1" MS
		   "@2 switch 4\n%s",
		end);
}

static void who_computes_may_signal_what_nobody_did(void **state)
{
	(void)state;
	begin();
	start_computing("");
	join();
	expect(0);
	/* It has ended. */
	begin();
	start_computing("5" MS "@2 resolve 4 4\n");
	join();
	expect(1);
	/* Others signalled the condition. */
	begin();
	start_computing("");
	signal_thrice();
	join();
	expect(1);
}

/* ---- Rounds of a barrier ----------------------------------------------------------------------- */

/* Main waits for the thread 2 and this one at a barrier, to which the thread 4 comes last, each time after so
 * many ms, and now not at all. */
static void come_late(int first, int second, const char *last)
{
	int ms = 0, after[] = {first, second};

	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		   "0 create 1 3 condition =7\n0 label 3 \"barrier b\n"
		   "0 @1 create - 2 thread\n0 @1 label 2 \"party\n0 @1 switch 2\n"
		   "0 @2 create - 4 thread\n0 @2 label 4 \"leader\n0 @2 switch 4\n");
	for (int i = 0; i < 2; i++) {
		story_tell("%d" MS "@1 wait 2 3\n", ms);
		ms += after[i];
		story_tell("%d" MS "@2 signal 4 3 =1\n%d" MS "@1 read 2 3\n", ms, ms);
	}
	story_tell("%d" MS "@1 wait 2 3\n%d" MS "should-resolve 2\n%d" MS "wait 1 2\n%d" MS
		   "suspend \"blocked\n%s",
		ms, ms, ms, ms, last);
}

static void a_round_takes_as_long_as_before(void **state)
{
	(void)state;
	come_late(10, 400, "");
	expect(0);
	/* It takes far longer. */
	come_late(10, 10, "");
	expect(1);
	/* The leader has ended. */
	come_late(10, 400, "450" MS "@2 resolve 4 4\n");
	expect(1);
}

/* ---- A thread that only sleeps ----------------------------------------------------------------- */

/* Three threads come to a barrier and one like them ends without. A fourth thread sleeps so many times, for
 * so many ms each, and then rests until a time. In its fifth sleep something else happens. */
static void leave_barrier(int sleeps, int ms, int longer, const char *else_happens)
{
	int now = 5;

	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		   "0 create 1 3 condition =7\n0 label 3 \"barrier step\n");
	story_tell("0 @9 create 1 9 thread\n0 @9 label 9 \"progress\n0 @9 switch 9\n");
	for (int i = 0; i < 4; i++)
		story_tell("%d" MS "@%d create 1 %d thread =5\n%d" MS "@%d label %d \"strip\n%d" MS
			   "@%d switch %d\n",
			i, i + 4, i + 4, i, i + 4, i + 4, i, i + 4, i + 4);
	story_tell("4" MS "@7 resolve 7 7\n4" MS "should-resolve 4\n4" MS "wait 1 4\n4" MS
		   "suspend \"blocked\n");
	for (int i = 4; i < 7; i++)
		story_tell("4" MS "@%d wait %d 3\n4" MS "@%d suspend \"blocked\n", i, i, i);
	for (int i = 0; i <= sleeps; i++) {
		story_tell("%d" MS "@9 create 9 %d timer\n%d" MS "@9 label %d \"sleep %d ms\n%d" MS
			   "@9 due %d =%d000000\n%d" MS "@9 wait 9 %d\n%d" MS
			   "@9 suspend \"blocked for a time\n",
			now, 20 + i, now, 20 + i, ms, now, 20 + i, now + ms, now, 20 + i, now);
		if (i == sleeps)
			break;
		now += ms;
		ms += longer;
		story_tell("%d" MS "@9 resume\n%d" MS "@9 resolve 9 %d\n%s", now, now, 20 + i,
			i == 5 ? else_happens : "");
	}
}

static void expect_after(int ms, uint32_t count)
{
	struct thrum__findings findings;
	struct thrum__model *model;

	story_tell("%d" MS "log 1 \"end\n", ms);
	model = story_findings(&findings);
	assert_int_equal(findings.count, count);
	if (count > 0)
		assert_int_equal(findings.findings[0].certainty, THRUM__POSSIBLE);
	story_free(model, &findings);
}

static void who_only_sleeps_comes_to_no_barrier(void **state)
{
	(void)state;
	leave_barrier(20, 60, 0, "");
	expect_after(1210, 1);
	/* For how long it sleeps isn't known before a second. */
	leave_barrier(14, 60, 0, "");
	expect_after(850, 0);
	/* It has slept too seldom. */
	leave_barrier(6, 200, 0, "");
	expect_after(1210, 0);
	/* It has done something since. */
	leave_barrier(20, 60, 0, "365" MS "@9 signal 9 3 =0\n");
	expect_after(1210, 0);
	/* It tries again, and waits for longer each time. */
	leave_barrier(20, 30, 6, "");
	expect_after(1750, 0);
}

/* An adapter tells main's loop what is missing, while another thread sleeps again and again. */
static void tell_missing(const char *first, const char *act, const char *missing)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n0 @9 create 1 9 thread\n"
		   "0 @9 label 9 \"progress\n0 @9 switch 9\n%s",
		first);
	for (int i = 0; i < 20; i++) {
		int ms = 60 * i + 5;

		story_tell("%d" MS "@9 create 9 %d timer\n%d" MS "@9 due %d =%d000000\n%d" MS
			   "@9 wait 9 %d\n%d" MS "@9 suspend \"blocked for a time\n",
			ms, 20 + i, ms, 20 + i, ms + 60, ms, 20 + i, ms);
		if (i == 19)
			break;
		story_tell("%d" MS "@9 resume\n%d" MS "@9 resolve 9 %d\n%s", ms + 60, ms + 60,
			20 + i, i == 10 ? act : "");
		if (i == 11)
			story_tell("700" MS "create 1 2 task\n700" MS "label 2 \"%s\n700" MS
				   "should-resolve 2\n700" MS "wait 1 2\n700" MS
				   "suspend \"wait for work\n",
				missing);
	}
}

static void who_only_sleeps_helps_nobody(void **state)
{
	static const char unread[] = "unread data of pipe 4";

	(void)state;
	tell_missing("", "", unread);
	expect_after(1210, 1);
	/* It did something before, and then only sleeps. */
	tell_missing("1" MS "create 1 3 condition\n2" MS "@9 signal 9 3 =0\n", "", unread);
	expect_after(1210, 1);
	/* It does something meanwhile. */
	tell_missing("1" MS "create 1 3 condition\n", "665" MS "@9 signal 9 3 =0\n", unread);
	expect_after(1210, 0);
	/* The adapter has seen that it does nothing for that. */
	tell_missing("1" MS "create 1 3 condition\n", "665" MS "@9 signal 9 3 =0\n",
		"unread data of socket 4 while others go on, left by take");
	expect_after(1210, 1);
	/* The clock alone tells it. */
	tell_missing("1" MS "create 1 3 condition\n", "665" MS "@9 signal 9 3 =0\n",
		"time-out of another clock, 20000 days too late");
	expect_after(1210, 1);
	/* It sleeps once, since long before. */
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n0 @9 create 1 9 thread\n"
		   "0 @9 label 9 \"later\n0 @9 switch 9\n1" MS "@9 create 9 20 timer\n1" MS
		   "@9 due 20 =99000000000\n1" MS "@9 wait 9 20\n1" MS
		   "@9 suspend \"blocked for a time\n700" MS "create 1 2 task\n700" MS
		   "label 2 \"unread data of pipe 4\n700" MS "should-resolve 2\n700" MS
		   "wait 1 2\n700" MS "suspend \"wait for work\n");
	expect_after(1210, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_else),
		cmocka_unit_test(the_server_hands_over),
		cmocka_unit_test(nobody_has_signalled),
		cmocka_unit_test(who_begins_servers_may_begin_another),
		cmocka_unit_test(one_like_those_who_signalled_may_do_so),
		cmocka_unit_test(a_timer_tries_again),
		cmocka_unit_test(a_handler_may_tell_of_more),
		cmocka_unit_test(who_computes_may_signal_what_nobody_did),
		cmocka_unit_test(a_round_takes_as_long_as_before),
		cmocka_unit_test(who_only_sleeps_comes_to_no_barrier),
		cmocka_unit_test(who_only_sleeps_helps_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
