/* SPDX-License-Identifier: ISC */
/* A loop and a thread wait for each other over a pair of sockets, as the loop forgot its time limit. Each
 * twin is a program that idles, or in which somebody goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define PEER 2
#define TO_PEER 3
#define FROM_PEER 4
#define MAILER 5
#define LAST 1000 /* ms: the last rest of the loop begins */
#define END 4000  /* ms */

struct talk {
	int questions;     /* one each 50 ms, with an answer each */
	bool rests_openly; /* the loop had no time limit at first, as it has nothing to do */
	bool rests_long;   /* the loop once waited for half of a second, until a slow answer came */
	bool is_shared;    /* the mailer sends to the loop, too */
	bool is_at_work;   /* the mailer works, each time for longer */
	bool is_elsewhere; /* the peer waits at another socket */
	bool has_limit;    /* the loop's last rest has a limit, too */
};

static void tell_message(int ms, int from, int lane, int to, int to_lane)
{
	story_tell("%d" MS "@%d link-send %d \"message %d %d\n", ms, lane, from, from, ms);
	story_tell("%d" MS "@%d link-receive %d \"message %d %d\n", ms, to_lane, to, from, ms);
}

static void tell_begin(const struct talk *talk)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"services\n0 switch 1\n");
	story_tell("0 @1 create - 20 thread\n0 @2 create - 21 thread\n");
	story_tell("0 @1 create 1 %d thread\n0 @1 label %d \"uplink\n0 @1 switch %d\n", PEER, PEER,
		PEER);
	story_tell("0 @2 create 1 %d thread\n0 @2 label %d \"mailer\n0 @2 switch %d\n", MAILER,
		MAILER, MAILER);
	story_tell("0 @1 create %d %d stream\n0 @1 label %d \"socket %d to 4\n", PEER, TO_PEER,
		TO_PEER, talk->is_elsewhere ? 13 : 3);
	story_tell("1" MS "suspend \"wait for work%s\n", talk->rests_openly ? "" : " for a time");
}

static void tell_question(const struct talk *talk, int n)
{
	int ms = 50 + 50 * n;

	story_tell("%d" MS "@1 wait %d %d =1\n%d" MS "@1 suspend \"blocked\n", ms - 10, PEER,
		TO_PEER, ms - 10);
	story_tell("%d" MS "resume\n%d" MS "signal 1 %d =1\n", ms, ms, TO_PEER);
	story_tell("%d" MS "suspend \"wait for work for a time\n", ms);
	story_tell("%d" MS "@1 resume\n%d" MS "@1 read %d %d\n", ms, ms, PEER, TO_PEER);
	tell_message(ms, 1, 0, PEER, 1);
	story_tell("%d" MS "resume\n", ms + 3);
	tell_message(ms + 3, PEER, 1, 1, 0);
	if (talk->is_shared)
		tell_message(ms + 4, MAILER, 2, 1, 0);
	story_tell("%d" MS "suspend \"wait for work for a time\n", ms + 5);
}

/* The mailer sleeps again and again. */
static void tell_sleeps(const struct talk *talk)
{
	int step = 40, timer = 100;

	for (int ms = LAST + 10; ms < END; ms += step) {
		step = talk->is_at_work ? step * 2 : step;
		story_tell("%d" MS "@2 create %d %d timer\n%d" MS "@2 label %d \"sleep %d ms\n%d" MS
			   "@2 due %d =%d000000\n%d" MS "@2 wait %d %d\n%d" MS
			   "@2 suspend \"blocked for a time\n",
			ms, MAILER, timer, ms, timer, step, ms, timer, step, ms, MAILER, timer, ms);
		if (ms + step < END)
			story_tell("%d" MS "@2 resume\n%d" MS "@2 resolve %d %d\n%d" MS
				   "@2 read %d %d\n",
				ms + step, ms + step, MAILER, timer, ms + step, MAILER, timer);
		timer++;
	}
}

static void tell(const struct talk *talk)
{
	tell_begin(talk);
	for (int n = 0; n < talk->questions; n++)
		tell_question(talk, n);
	if (talk->rests_long)
		story_tell("990" MS "resume\n991" MS "suspend \"wait for work for a time\n");
	story_tell("995" MS "@1 wait %d %d =1\n995" MS "@1 suspend \"blocked\n", PEER, TO_PEER);
	story_tell("%d" MS "resume\n%d" MS "suspend \"wait for work%s\n", LAST - 1, LAST - 1,
		talk->has_limit ? " for a time" : "");
	story_tell("%d" MS "create 1 %d stream\n%d" MS "label %d \"socket 4 to 3\n%d" MS
		   "resume\n%d" MS "wait 1 %d =2\n%d" MS "suspend \"blocked\n",
		LAST, FROM_PEER, LAST, FROM_PEER, LAST, LAST, FROM_PEER, LAST);
	tell_sleeps(talk);
}

/* Expects one deadlock that begins with the loop, or nothing. */
static void expect(const struct talk *talk, bool is_found)
{
	struct thrum__findings findings;
	struct thrum__model *model;

	tell(talk);
	model = story_model(story_told(), false);
	model->end = END * 1000000LL;
	model->ending = THRUM_ENDING_KILLED;
	model->ending_code = 9;
	story_find(model, &findings);
	assert_int_equal(findings.count, is_found);
	if (is_found) {
		const struct thrum__finding *finding = findings.findings;

		assert_int_equal(finding->class, THRUM__FINDING_DEADLOCK);
		assert_int_equal(finding->certainty, THRUM__POSSIBLE);
		assert_int_equal(finding->steps[0].kind, THRUM__STEP_SLEEPS_ON);
		assert_int_equal(finding->steps[0].task, story_task(model, 1));
	}
	story_free(model, &findings);
}

static void a_loop_forgot_its_time_limit(void **state)
{
	(void)state;
	expect(&(struct talk){.questions = 18}, true);
}

/* It rested so before, when it had nothing to do. */
static void an_idle_loop_never_had_one(void **state)
{
	(void)state;
	expect(&(struct talk){.questions = 18, .rests_openly = true}, false);
}

/* Few rests show nothing. */
static void a_young_loop_has_nothing_to_do(void **state)
{
	(void)state;
	expect(&(struct talk){.questions = 3}, false);
}

/* The first answers that take long: so may this one. */
static void an_answer_was_slow_before(void **state)
{
	(void)state;
	expect(&(struct talk){.questions = 10, .rests_long = true}, false);
}

/* A third thread sends news to the loop, or has yet to do something. */
static void another_one_may_come(void **state)
{
	(void)state;
	expect(&(struct talk){.questions = 18, .is_shared = true}, false);
	expect(&(struct talk){.questions = 18, .is_at_work = true}, false);
}

static void the_peer_waits_elsewhere(void **state)
{
	(void)state;
	expect(&(struct talk){.questions = 18, .is_elsewhere = true}, false);
}

static void the_loop_wakes_by_itself(void **state)
{
	(void)state;
	expect(&(struct talk){.questions = 18, .has_limit = true}, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_forgot_its_time_limit),
		cmocka_unit_test(an_idle_loop_never_had_one),
		cmocka_unit_test(a_young_loop_has_nothing_to_do),
		cmocka_unit_test(an_answer_was_slow_before),
		cmocka_unit_test(another_one_may_come),
		cmocka_unit_test(the_peer_waits_elsewhere),
		cmocka_unit_test(the_loop_wakes_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
