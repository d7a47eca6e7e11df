/* SPDX-License-Identifier: ISC */
/* A loop that sends no answer over a pair of sockets of the program. Each story has twins in which that is no
 * fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define CLIENT 2
#define SOCKET 3
#define READER 5
#define TICKER 6
#define OTHER 7
#define REQUEST 20 /* the first one */
#define LAST 200   /* ms: the question without an answer */
#define END 2000   /* ms */

struct talk {
	int answers;       /* to questions, one each 5 ms */
	int deferred;      /* of them, by requests that the reader's turns began */
	int news;          /* of them, by another handle */
	int slow;          /* ms until the first answer */
	bool is_failed;    /* the last turn begins a request, which fails */
	bool begins;       /* or one that ends well */
	bool goes_on;      /* or one that doesn't end */
	bool is_answered;  /* the last question has an answer, too */
	bool is_outside;   /* the loop also waits for the outside */
	bool is_elsewhere; /* the client asks the last question at another place */
	bool is_set;       /* a timer is to come once */
};

static void tell_begin(void)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"server\n0 switch 1\n");
	story_tell("0 create 1 %d handle\n0 label %d \"read on_question\n", READER, READER);
	story_tell("0 create 1 %d handle\n0 label %d \"async on_news\n", OTHER, OTHER);
	story_tell("0 create 1 %d timer\n0 label %d \"timer on_tick\n", TICKER, TICKER);
	story_tell("0 @1 create 1 %d thread\n0 @1 label %d \"ask\n0 @1 switch %d\n", CLIENT, CLIENT,
		CLIENT);
	story_tell("0 @1 create %d %d stream\n0 @1 label %d \"socket 4 to 5\n", CLIENT, SOCKET,
		SOCKET);
}

/* The client asks at a place, and the loop gets that. */
static void tell_question(int ms, int place)
{
	story_tell("%d" MS "@1 link-send %d \"question %d\n%d" MS "@1 wait %d %d =%d\n", ms, CLIENT,
		ms, ms, CLIENT, SOCKET, place);
	story_tell("%d" MS "@1 suspend \"blocked\n%d" MS "resume\n%d" MS
		   "link-receive 1 \"question %d\n%d" MS "switch %d\n",
		ms, ms, ms, ms, ms, READER);
}

/* A task sends the answer, and the client gets it. */
static void tell_answer(int ms, int task)
{
	story_tell("%d" MS "switch %d\n%d" MS "link-send %d \"answer %d\n%d" MS "signal %d %d =1\n",
		ms, task, ms, task, ms, ms, task, SOCKET);
	story_tell("%d" MS "@1 resume\n%d" MS "@1 read %d %d\n%d" MS
		   "@1 link-receive %d \"answer %d\n",
		ms, ms, CLIENT, SOCKET, ms, CLIENT, ms);
}

static void tell_rest(int ms, bool is_outside)
{
	story_tell("%d" MS "switch 1\n%d" MS "suspend \"wait for work%s for a time\n", ms, ms,
		is_outside ? " outside" : "");
}

static void tell_request(int ms, int task, const char *end)
{
	story_tell("%d" MS "create %d %d request\n%d" MS "label %d \"file open rates\n", ms, READER,
		task, ms, task);
	story_tell("%d" MS "switch %d\n%d" MS "%s %d %d\n", ms, task, ms, end, task, task);
}

static void tell(const struct talk *talk)
{
	tell_begin();
	tell_rest(1, talk->is_outside);
	for (int i = 0; i < talk->answers; i++) {
		int ms = 5 + 5 * i + (i > 0 ? talk->slow : 0);
		int at = i == 0 ? ms + talk->slow : ms;

		tell_question(ms, 1);
		if (i >= talk->deferred + talk->news) {
			tell_answer(at, READER);
		} else if (i >= talk->news) {
			tell_request(ms, REQUEST + i, "label");
			tell_answer(at, REQUEST + i);
			story_tell("%d" MS "resolve %d %d\n", at, REQUEST + i, REQUEST + i);
		} else {
			tell_answer(at, OTHER);
		}
		tell_rest(at, talk->is_outside);
	}
	tell_question(LAST, talk->is_elsewhere ? 2 : 1);
	if (talk->is_failed || talk->begins || talk->goes_on)
		tell_request(LAST, REQUEST + talk->answers,
			talk->is_failed        ? "fail"
				: talk->begins ? "resolve"
					       : "label");
	if (talk->is_answered)
		tell_answer(LAST, READER);
	if (talk->is_set)
		story_tell("%d" MS "create 1 9 timer\n%d" MS "label 9 \"timer on_poll\n%d" MS
			   "due 9 =5000000000\n",
			LAST, LAST, LAST);
	tell_rest(LAST, talk->is_outside);
	for (int ms = LAST + 30; ms < END; ms += 30) {
		story_tell("%d" MS "resume\n%d" MS "switch %d\n%d" MS "due %d =30000000\n", ms, ms,
			TICKER, ms, TICKER);
		tell_rest(ms, talk->is_outside);
	}
}

/* Expects one finding that begins with this step, or none: then the kind is -1. */
static void expect(const struct talk *talk, int kind, uint64_t task)
{
	struct thrum__findings findings;
	struct thrum__model *model;

	tell(talk);
	model = story_model(story_told(), false);
	model->end = END * 1000000LL;
	model->ending = THRUM_ENDING_KILLED;
	model->ending_code = 9;
	story_find(model, &findings);
	/* That a request failed may be told, too. */
	assert_int_equal(findings.count, (kind >= 0) + talk->is_failed);
	if (kind >= 0) {
		const struct thrum__finding *finding = &findings.findings[findings.count - 1];

		assert_int_equal(finding->class, THRUM__FINDING_NEVER_RESOLVED);
		assert_int_equal(finding->certainty, THRUM__POSSIBLE);
		assert_int_equal(finding->task, story_task(model, CLIENT));
		assert_int_equal(finding->steps[0].kind, kind);
		assert_int_equal(finding->steps[0].task, story_task(model, task));
	}
	story_free(model, &findings);
}

static void a_turn_sends_no_answer(void **state)
{
	(void)state;
	expect(&(struct talk){.answers = 8}, THRUM__STEP_LEAVES_OUT, READER);
	expect(&(struct talk){.answers = 8, .deferred = 8}, THRUM__STEP_LEAVES_OUT, READER);
	expect(&(struct talk){.answers = 8, .slow = 4}, THRUM__STEP_LEAVES_OUT, READER);
	expect(&(struct talk){.answers = 8, .begins = true}, THRUM__STEP_LEAVES_OUT, REQUEST + 8);
	expect(&(struct talk){.answers = 8, .is_failed = true}, THRUM__STEP_FAILED_MEANWHILE,
		REQUEST + 8);
}

static void an_answer_may_come_late(void **state)
{
	(void)state;
	expect(&(struct talk){.answers = 5}, -1, 0); /* too few */
	expect(&(struct talk){.answers = 8, .is_answered = true}, -1, 0);
	/* It may be a poll for news, or it took as long before. */
	expect(&(struct talk){.answers = 8, .news = 1}, -1, 0);
	expect(&(struct talk){.answers = 8, .slow = 95}, -1, 0);
	expect(&(struct talk){.answers = 8, .is_outside = true}, -1, 0);
	expect(&(struct talk){.answers = 8, .is_set = true}, -1, 0);
	expect(&(struct talk){.answers = 8, .is_elsewhere = true}, -1, 0);
	/* It is under way. */
	expect(&(struct talk){.answers = 8, .goes_on = true}, -1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_sends_no_answer),
		cmocka_unit_test(an_answer_may_come_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
