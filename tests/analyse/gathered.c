/* SPDX-License-Identifier: ISC */
/* A thread that takes the questions of others over connections, several in one turn, and leaves out an
 * answer. Each story has twins in which that is no fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define SERVER 1
#define FIRST 2  /* the first one that asks */
#define SECOND 3 /* this one hangs */
#define OTHER 4  /* to which a question may be passed on */
#define ROUNDS 5
#define ROUND 10  /* ms */
#define END 20000 /* ms */

struct talk {
	bool is_busy; /* the first one hears its answers only when the server has its next question */
	bool is_in_turn;  /* the second one has its answers in the next turn only */
	bool is_passed;   /* the last question goes to another thread */
	bool is_on_way;   /* so, and that one hasn't received it */
	bool is_handed;   /* the turn signals a condition */
	bool is_begun;    /* it begins a request */
	bool is_answered; /* all is answered */
};

static int next_task;

/* The key by which one sends to the server, or it sends to that. */
static const char *key(int task, bool is_answer)
{
	static const char *const keys[][2] = {
		{"first678\001\377", "first678\002\377"},
		{"second78\001\377", "second78\002\377"},
		{"other678\001\377", "other678\002\377"},
	};

	return keys[task - FIRST][is_answer];
}

/* A thread waits for the next message by the key. */
static void rest(int ms, int task, const char *by)
{
	int handle = ++next_task;

	story_tell("%d" MS "@%d create %d %d handle\n", ms, task, task, handle);
	story_tell("%d" MS "@%d label %d \"receive from socket %d\n", ms, task, handle, task);
	story_tell("%d" MS "@%d wait %d %d\n", ms, task, task, handle);
	story_tell("%d" MS "@%d suspend \"blocked by the outside\n", ms, task);
	if (by)
		story_tell("%d" MS "@%d link-receive %d \"%s\n", ms, task, task, by);
}

/* It goes on. */
static void wake(int ms, int task, int handle)
{
	story_tell("%d" MS "@%d resume\n%d" MS "@%d resolve %d %d\n", ms, task, ms, task, task,
		handle);
	story_tell("%d" MS "@%d read %d %d\n", ms, task, task, handle);
}

static void send(int ms, int task, const char *by)
{
	story_tell("%d" MS "@%d link-send %d \"%s\n", ms, task, task, by);
}

static void receive(int ms, int task, const char *by)
{
	story_tell("%d" MS "@%d link-receive %d \"%s\n", ms, task, task, by);
}

static void tell_begin(void)
{
	story_begin();
	next_task = 100;
	for (int task = SERVER; task <= OTHER; task++)
		story_tell("0 @%d create - %d thread\n0 @%d label %d \"%s\n0 @%d switch %d\n", task,
			task, task, task, task == SERVER ? "serve" : "ask", task, task);
	story_tell("0 @1 create 1 9 condition\n0 @1 label 9 \"job\n0 @3 should-resolve 3\n");
}

/* Both ask, the server takes both in one turn, and answers. */
static void tell_round(const struct talk *talk, int ms)
{
	int server = next_task, first, second;

	send(ms + 1, SECOND, key(SECOND, false));
	rest(ms + 1, SECOND, key(SECOND, true));
	second = next_task;
	wake(ms + 2, SERVER, server);
	receive(ms + 2, SERVER, key(SECOND, false));
	if (!talk->is_in_turn)
		send(ms + 2, SERVER, key(SECOND, true));
	send(ms + 2, FIRST, key(FIRST, false));
	if (!talk->is_busy)
		rest(ms + 2, FIRST, key(FIRST, true));
	first = next_task;
	receive(ms + 3, SERVER, key(FIRST, false));
	send(ms + 3, SERVER, key(FIRST, true));
	rest(ms + 4, SERVER, NULL);
	if (talk->is_in_turn) {
		wake(ms + 5, SERVER, next_task);
		send(ms + 5, SERVER, key(SECOND, true));
		rest(ms + 5, SERVER, NULL);
	}
	server = next_task;
	wake(ms + 6, SECOND, second);
	receive(ms + 6, SECOND, key(SECOND, true));
	if (!talk->is_busy) {
		wake(ms + 6, FIRST, first);
		receive(ms + 6, FIRST, key(FIRST, true));
	}
	next_task = server;
}

/* The same, but the second one gets no answer. */
static void tell_last(const struct talk *talk, int ms)
{
	int server = next_task;

	send(ms + 1, SECOND, key(SECOND, false));
	rest(ms + 1, SECOND, key(SECOND, true));
	wake(ms + 2, SERVER, server);
	receive(ms + 2, SERVER, key(SECOND, false));
	if (talk->is_busy)
		receive(ms + 2, FIRST, key(FIRST, true));
	send(ms + 2, FIRST, key(FIRST, false));
	receive(ms + 3, SERVER, key(FIRST, false));
	send(ms + 3, SERVER, key(FIRST, true));
	if (talk->is_passed || talk->is_on_way)
		send(ms + 3, SERVER, key(OTHER, true));
	if (talk->is_handed)
		story_tell("%d" MS "@1 signal 1 9 =1\n", ms + 3);
	if (talk->is_begun)
		story_tell("%d" MS "@1 create 1 8 request\n%d" MS "@1 resolve 1 8\n", ms + 3,
			ms + 3);
	if (talk->is_answered)
		send(ms + 3, SERVER, key(SECOND, true));
	rest(ms + 4, SERVER, NULL);
	receive(ms + 5, FIRST, key(FIRST, true));
	story_tell("%d" MS "@2 resolve 2 2\n%d" MS "@2 suspend \"blocked\n", ms + 5, ms + 5);
	if (talk->is_passed)
		receive(ms + 6, OTHER, key(OTHER, true));
}

static void tell(const struct talk *talk)
{
	int ms = 10;

	tell_begin();
	/* The other one sent a message before, and waits. */
	send(1, OTHER, key(OTHER, false));
	receive(1, SERVER, key(OTHER, false));
	send(2, SERVER, key(OTHER, true));
	receive(2, OTHER, key(OTHER, true));
	rest(4, SERVER, NULL);
	for (int i = 0; i < ROUNDS; i++, ms += ROUND) {
		if (talk->is_busy && i > 0)
			receive(ms, FIRST, key(FIRST, true));
		tell_round(talk, ms);
	}
	tell_last(talk, ms);
	story_tell("%d" MS "@4 suspend \"blocked\n", ms + 7);
}

/* Expects that the server's turn is told, or no such. */
static void expect(const struct talk *talk, bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	bool is_found = false;

	tell(talk);
	model = story_model(story_told(), false);
	model->end = END * 1000000LL;
	model->ending = THRUM_ENDING_KILLED;
	model->ending_code = 9;
	story_find(model, &findings);
	for (uint32_t i = 0; i < findings.count; i++) {
		const struct thrum__step *step = findings.findings[i].steps;

		if (step->kind != THRUM__STEP_LEAVES_OUT)
			continue;
		is_found = true;
		assert_int_equal(step->task, story_task(model, SERVER));
		assert_int_equal(step->more, ROUNDS);
		assert_int_equal(findings.findings[i].task, story_task(model, SECOND));
	}
	assert_int_equal(is_found, is_told);
	story_free(model, &findings);
}

static void a_turn_that_leaves_out_one_answer_is_told(void **state)
{
	(void)state;
	expect(&(struct talk){.is_busy = false}, true);
	expect(&(struct talk){.is_busy = true}, true);
}

static void one_that_may_answer_is_not(void **state)
{
	(void)state;
	expect(&(struct talk){.is_in_turn = true}, false);
	expect(&(struct talk){.is_passed = true}, false);
	expect(&(struct talk){.is_on_way = true}, false);
	expect(&(struct talk){.is_handed = true}, false);
	expect(&(struct talk){.is_begun = true}, false);
	expect(&(struct talk){.is_answered = true}, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_that_leaves_out_one_answer_is_told),
		cmocka_unit_test(one_that_may_answer_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
