/* SPDX-License-Identifier: ISC */
/* Loops that leave an answer out, as the messages between them and the threads that ask tell. Each story has
 * twins in which that is no fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 "        /* behind a number: makes ns of ms */
#define THREAD(i) (1 + (i)) /* the loop is thread 0, on the lane of that number, as all are */
#define SOCKET(i) (20 + (i))
#define THREADS 5
#define END 4000 /* ms */

static const char *const keys[2] = {"\002\377", "\001\377"};

static void tell_begin(void)
{
	story_begin();
	for (int i = 0; i < THREADS; i++)
		story_tell("0 @%d create - %d thread\n0 @%d label %d \"thread %d\n0 @%d switch %d\n"
			   "0 @%d create %d %d stream\n0 @%d label %d \"socket %d\n",
			i, THREAD(i), i, THREAD(i), i, i, THREAD(i), i, THREAD(i), SOCKET(i), i,
			SOCKET(i), i);
}

/* A thread sends something to the loop, or the loop to it. The other side takes it. */
static void tell_sent(int ms, int thread, bool is_to_loop)
{
	int from = is_to_loop ? thread : 0;

	story_tell("%d" MS "@%d link-send %d \"thread%02d%s\n", ms, from, THREAD(from), thread,
		keys[is_to_loop]);
}

static void tell_taken(int ms, int thread, bool is_by_loop)
{
	int to = is_by_loop ? 0 : thread;

	story_tell("%d" MS "@%d link-receive %d \"thread%02d%s\n", ms, to, THREAD(to), thread,
		keys[is_by_loop]);
}

/* The loop waits for work from a time on, and has its next turn. */
static void tell_rest(int ms)
{
	story_tell("%d" MS "suspend \"wait for work for a time\n", ms);
}

static void tell_turn(int ms)
{
	story_tell("%d" MS "resume\n", ms);
}

/* A thread waits for a message, or has got it. */
static void tell_wait(int ms, int thread)
{
	story_tell("%d" MS "@%d wait %d %d =1\n%d" MS "@%d suspend \"blocked by the outside\n", ms,
		thread, THREAD(thread), SOCKET(thread), ms, thread);
}

static void tell_got(int ms, int thread)
{
	story_tell("%d" MS "@%d resume\n%d" MS "@%d read %d %d\n", ms, thread, ms, thread,
		THREAD(thread), SOCKET(thread));
	tell_taken(ms, thread, false);
}

/* The loop gives a thread an answer in its turn. */
static void tell_answer(int ms, int thread)
{
	tell_sent(ms, thread, false);
	story_tell("%d" MS "signal 1 %d =1\n", ms, SOCKET(thread));
	tell_got(ms, thread);
}

/* A thread sends something, and the loop takes it in a turn of its own. */
static void tell_message(int ms, int thread)
{
	tell_sent(ms, thread, true);
	tell_turn(ms);
	tell_taken(ms, thread, true);
}

/* The last thread sleeps from a time on, again and again, or once for long. */
static void tell_sleeps(int from, bool is_once)
{
	int each = is_once ? END : 100, task = 100;

	for (int ms = from; ms < END; ms += each, task++) {
		if (ms > from)
			story_tell("%d" MS "@4 resume\n%d" MS "@4 resolve 5 %d\n%d" MS
				   "@4 read 5 %d\n",
				ms, ms, task - 1, ms, task - 1);
		story_tell("%d" MS "@4 create 5 %d timer\n%d" MS "@4 label %d \"sleep %d ms\n%d" MS
			   "@4 due %d =%d" MS "\n%d" MS "@4 wait 5 %d\n%d" MS
			   "@4 suspend \"blocked for a time\n",
			ms, task, ms, task, each, ms, task, each, ms, task, ms);
	}
}

/* Expects one finding that tells of the loop's turn at a time, and of who waits; or none, if there is no
 * time. */
static void expect(int end, int ms, int victim, uint32_t behind)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_model(story_told(), false);

	model->end = end * 1000000LL;
	assert_int_equal(thrum__why_make(model, &findings), 0);
	assert_int_equal(findings.count, ms > 0);
	if (ms > 0) {
		const struct thrum__finding *finding = &findings.findings[0];

		assert_int_equal(finding->class, THRUM__FINDING_NEVER_RESOLVED);
		assert_int_equal(finding->certainty, THRUM__POSSIBLE);
		assert_int_equal(finding->task, story_task(model, THREAD(victim)));
		assert_int_equal(finding->behind, behind);
		assert_int_equal(finding->steps[0].kind, THRUM__STEP_LEAVES_OUT);
		assert_int_equal(finding->steps[0].task, story_task(model, THREAD(0)));
		assert_int_equal(finding->steps[0].time, ms * 1000000LL);
	}
	story_free(model, &findings);
}

/* ---- Returns ----------------------------------------------------------------------------------- */

/* Three threads have a seat in turn. Each asks for it, waits, and returns it. */
struct seats {
	int rounds;       /* in which the loop gives a returned seat to the next one */
	int each;         /* ms that a round takes; 0: 10 */
	int end;          /* ms; 0: END */
	bool is_answered; /* the last one, too */
	bool is_late;     /* it is, a turn later, as it was once before */
	bool is_content;  /* who returned the last seat doesn't ask again */
	bool is_once;     /* the thread that looks may yet do something else */
	bool is_outside;  /* the loop also waits for others */
	bool is_left;     /* the thread that looks has asked, too, and gave up */
};

static void tell_question(int ms, int thread)
{
	tell_message(ms, thread);
	tell_wait(ms, thread);
}

static void expect_seats(const struct seats *seats, bool is_found)
{
	int each = seats->each ? seats->each : 10, ms = 5, holder = 1;

	tell_begin();
	tell_rest(1);
	for (int i = 1; i <= 3; i++) {
		tell_question(ms, i);
		if (i == 1)
			tell_answer(ms, i);
		tell_rest(ms);
	}
	if (seats->is_left) {
		tell_message(ms + 1, 4);
		tell_rest(ms + 1);
	}
	for (int i = 0; i <= seats->rounds; i++) {
		bool is_last = i == seats->rounds;
		int next = holder % 3 + 1;

		ms += each;
		tell_message(ms, holder);
		if (seats->is_late && (is_last || i == 2)) {
			tell_rest(ms);
			tell_turn(ms + 1);
		}
		if (!is_last || seats->is_answered || seats->is_late)
			tell_answer(ms + seats->is_late, next);
		tell_rest(ms + seats->is_late);
		if (!is_last || !seats->is_content) {
			tell_question(ms + 2, holder);
			tell_rest(ms + 2);
		}
		holder = next;
	}
	if (seats->is_outside) {
		tell_turn(ms + 3);
		story_tell("%d" MS "suspend \"wait for work outside\n", ms + 3);
	}
	tell_sleeps(ms + 3, seats->is_once);
	expect(seats->end ? seats->end : END, is_found ? ms : 0, holder, 2);
}

static void nobody_gets_what_is_returned(void **state)
{
	(void)state;
	expect_seats(&(struct seats){.rounds = 12}, true);
	expect_seats(&(struct seats){.rounds = 12, .each = 20}, true);
	expect_seats(&(struct seats){.rounds = 12, .is_left = true}, true);
}

static void a_return_need_not_lead_to_an_answer(void **state)
{
	(void)state;
	expect_seats(&(struct seats){.rounds = 6}, false); /* too few */
	expect_seats(&(struct seats){.rounds = 12, .is_answered = true}, false);
	expect_seats(&(struct seats){.rounds = 12, .is_late = true}, false);
	/* It may yet come. */
	expect_seats(&(struct seats){.rounds = 12, .end = 800}, false);
	expect_seats(&(struct seats){.rounds = 12, .each = 120}, false);
	/* Somebody may yet say something. */
	expect_seats(&(struct seats){.rounds = 12, .is_content = true}, false);
	expect_seats(&(struct seats){.rounds = 12, .is_once = true}, false);
	expect_seats(&(struct seats){.rounds = 12, .is_outside = true}, false);
}

/* ---- Relays ------------------------------------------------------------------------------------ */

/* The loop passes questions of thread 2 and 3 on to thread 1, and the answers back. */
struct relay {
	int answers;        /* to thread 3 */
	int end;            /* ms; 0: END */
	bool is_given;      /* the answer to thread 2, too */
	bool is_on_its_way; /* it hasn't come back */
	bool has_news;      /* thread 1 also says something that nobody asked for */
	bool has_own;       /* the loop answers a question of thread 3 by itself */
};

/* The loop passes a question on. */
static void tell_passed(int ms, int thread)
{
	tell_message(ms, thread);
	tell_wait(ms, thread);
	tell_sent(ms, 1, false);
	tell_taken(ms, 1, false);
	tell_rest(ms);
}

/* The answer comes back to the loop, which gives it to a thread, or to nobody: 0. */
static void tell_back(int ms, int thread)
{
	tell_message(ms, 1);
	if (thread)
		tell_answer(ms, thread);
	tell_rest(ms);
}

static void expect_relay(const struct relay *relay, bool is_found)
{
	int ms = 5, lost = 0;

	tell_begin();
	tell_rest(1);
	for (int i = 0; i < relay->answers; i++, ms += 10) {
		if (i == 2)
			tell_passed(ms, 2);
		if (relay->has_own && i == 3) {
			tell_message(ms, 3);
			tell_wait(ms, 3);
			tell_answer(ms, 3);
			tell_rest(ms);
		}
		tell_passed(ms + 1, 3);
		tell_back(ms + 3, 3);
		if (i != 2 || relay->is_on_its_way)
			continue;
		lost = ms + 4;
		tell_back(lost, relay->is_given ? 2 : 0);
	}
	if (relay->has_news)
		tell_back(ms, 0);
	tell_sleeps(ms, false);
	expect(relay->end ? relay->end : END, is_found ? lost : 0, 2, 0);
}

static void an_answer_is_passed_on_to_nobody(void **state)
{
	(void)state;
	expect_relay(&(struct relay){.answers = 20}, true);
	expect_relay(&(struct relay){.answers = 80}, true);
}

static void an_answer_may_be_on_its_way(void **state)
{
	(void)state;
	expect_relay(&(struct relay){.answers = 10}, false); /* too few */
	expect_relay(&(struct relay){.answers = 20, .is_given = true}, false);
	expect_relay(&(struct relay){.answers = 20, .is_on_its_way = true}, false);
	expect_relay(&(struct relay){.answers = 20, .end = 800}, false);
	/* It isn't just a relay: so its turns may be about something else. */
	expect_relay(&(struct relay){.answers = 20, .has_news = true}, false);
	expect_relay(&(struct relay){.answers = 20, .has_own = true}, false);
	expect_relay(&(struct relay){.answers = 20, .is_on_its_way = true, .has_news = true},
		false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_gets_what_is_returned),
		cmocka_unit_test(a_return_need_not_lead_to_an_answer),
		cmocka_unit_test(an_answer_is_passed_on_to_nobody),
		cmocka_unit_test(an_answer_may_be_on_its_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
