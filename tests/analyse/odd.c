/* SPDX-License-Identifier: ISC */
/* Turns that left out what others like them did. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/odd/odd.h"
#include "analyse/why/finding.h"
#include "story.h"

/* A loop with a handle that reads answers, a timer, and a condition for which another thread waits. */
static void begin(void)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n"
		   "0 create 1 2 handle\n0 label 2 \"read on_answer\n"
		   "0 create 2 3 timer\n0 label 3 \"timer on_retry\n"
		   "0 create 1 4 condition\n0 label 4 \"window\n"
		   "0 @1 create - 5 thread\n0 @1 label 5 \"client\n0 @1 switch 5\n");
}

static void begin_run(int at, int task)
{
	story_tell("%d switch %d\n", at, task);
}

/* A run of the handle, in which a request begins if it is not 0, as it ends by itself later. */
static void answer(int at, int request)
{
	begin_run(at, 2);
	if (request > 0)
		story_tell("%d create 2 %d request\n%d label %d \"write %d bytes\n", at + 1,
			request, at + 1, request, request);
	begin_run(at + 2, 1);
	if (request > 0)
		story_tell("%d switch %d\n%d resolve %d %d\n%d switch 1\n", at + 3, request, at + 3,
			request, request, at + 4);
}

/* The client waits for the condition; a run of the handle stops the timer, and signals it if it is to. */
static void ask(int at, bool is_heard, bool is_answered)
{
	if (is_heard)
		story_tell("%d @1 wait 5 4\n", at);
	story_tell("%d switch 2\n%d due 3 =%lld\n", at + 1, at + 1, (long long)INT64_MAX);
	if (is_answered)
		story_tell("%d signal 2 4 =1\n%d switch 1\n%d @1 read 5 4\n", at + 2, at + 3,
			at + 4);
	else
		story_tell("%d switch 1\n", at + 3);
	/* Another one, in which there is nothing to do. */
	story_tell("%d switch 2\n%d switch 1\n", at + 5, at + 6);
}

static int find(struct thrum__odd *odd, struct thrum__model **model, uint32_t max)
{
	struct thrum__odd_search search;
	int count;

	story_tell("10000 log 1 \"end\n");
	*model = story_model(story_told(), false);
	search = (struct thrum__odd_search){.model = *model};
	count = thrum__analyse_odd(&search, THRUM__NONE, 10000, odd, max);
	thrum__analyse_odd_free(&search);
	return count;
}

static void expect_none(void)
{
	struct thrum__model *model;
	struct thrum__odd odd;

	assert_int_equal(find(&odd, &model, 1), 0);
	thrum__model_destroy(model);
}

static void tells_last_run(void **state)
{
	struct thrum__odd_search search;
	struct thrum__model *model;
	struct thrum__odd odd;

	(void)state;
	begin();
	for (int i = 1; i <= 6; i++)
		answer(100 * i, 10 + i);
	answer(700, 0);
	assert_int_equal(find(&odd, &model, 1), 1);
	assert_int_equal(odd.count, 1);
	assert_int_equal(odd.with, 6);
	assert_int_equal(odd.task[0], story_task(model, 2));
	assert_int_equal(odd.time[0], 700);
	assert_int_equal(odd.effect, THRUM__EFFECT_BEGINS);
	assert_int_equal(odd.on, story_task(model, 16));
	assert_int_equal(odd.given, THRUM__EFFECT_NONE);
	assert_int_equal(odd.descriptor, -1);
	/* One search is asked several times. */
	search = (struct thrum__odd_search){.model = model};
	/* It began at that time, and not before. */
	assert_int_equal(thrum__analyse_odd(&search, THRUM__NONE, 700, &odd, 1), 0);
	assert_int_equal(thrum__analyse_odd(&search, THRUM__NONE, 701, &odd, 1), 1);
	/* It isn't about that task. */
	assert_int_equal(thrum__analyse_odd(&search, story_task(model, 4), 10000, &odd, 1), 0);
	assert_int_equal(thrum__analyse_odd(&search, story_task(model, 16), 10000, &odd, 1), 1);
	thrum__analyse_odd_free(&search);
	thrum__model_destroy(model);
}

/* A handle that is closed runs twice more before its loop waits again: it learns so, and it ends. That turn
 * may have left something out, but nobody asks it for an answer. */
static void a_turn_that_closes(void **state)
{
	struct thrum__odd_search search;
	struct thrum__model *model;
	struct thrum__odd odd;

	(void)state;
	begin();
	for (int i = 0; i < 4; i++)
		answer(100 * (i + 1), 10 + i);
	story_tell("900 suspend \"waits for work\n950 resume \"waits for work\n");
	begin_run(1000, 2);
	begin_run(1010, 1);
	begin_run(1020, 2);
	story_tell("1030 resolve 2 2\n1040 switch 1\n");
	assert_int_equal(find(&odd, &model, 1), 1);
	assert_int_equal(odd.time[0], 1000);
	search = (struct thrum__odd_search){.model = model};
	assert_int_equal(thrum__analyse_odd(&search, odd.on, 10000, &odd, 1), 0);
	thrum__analyse_odd_free(&search);
	thrum__model_destroy(model);
}

static void tells_several(void **state)
{
	struct thrum__model *model;
	struct thrum__odd odd;

	(void)state;
	begin();
	for (int i = 1; i <= 10; i++)
		answer(100 * i, i == 4 || i == 10 ? 0 : 10 + i);
	assert_int_equal(find(&odd, &model, 1), 1);
	assert_int_equal(odd.count, 2);
	assert_int_equal(odd.with, 8);
	assert_int_equal(odd.time[0], 1000);
	assert_int_equal(odd.time[1], 400);
	thrum__model_destroy(model);
	/* Too many of them: it is no rule. */
	begin();
	for (int i = 1; i <= 7; i++)
		answer(100 * i, i == 4 || i == 7 ? 0 : 10 + i);
	expect_none();
}

static void needs_a_rule_that_ends(void **state)
{
	(void)state;
	/* All do it. */
	begin();
	for (int i = 1; i <= 6; i++)
		answer(100 * i, 10 + i);
	expect_none();
	/* It goes on after the odd one. */
	begin();
	for (int i = 1; i <= 6; i++)
		answer(100 * i, i == 4 ? 0 : 10 + i);
	expect_none();
	/* Two are no rule. */
	begin();
	for (int i = 1; i <= 2; i++)
		answer(100 * i, 10 + i);
	answer(300, 0);
	expect_none();
	/* The last run in which the handle ends is another thing. */
	begin();
	for (int i = 1; i <= 6; i++)
		answer(100 * i, 10 + i);
	story_tell("700 switch 2\n701 resolve 2 2\n702 switch 1\n");
	expect_none();
	/* Events are missing. */
	begin();
	for (int i = 1; i <= 6; i++)
		answer(100 * i, 10 + i);
	answer(700, 0);
	story_tell("800 lost - =3 \"full\n");
	expect_none();
}

static void tells_what_goes_together(void **state)
{
	struct thrum__model *model;
	struct thrum__odd odd;

	(void)state;
	begin();
	for (int i = 1; i <= 6; i++)
		ask(100 * i, true, i < 6);
	assert_int_equal(find(&odd, &model, 1), 1);
	assert_int_equal(odd.given, THRUM__EFFECT_STOPS);
	assert_int_equal(odd.given_on, story_task(model, 3));
	assert_int_equal(odd.effect, THRUM__EFFECT_SIGNALS);
	assert_int_equal(odd.on, story_task(model, 4));
	assert_int_equal(odd.with, 5);
	assert_int_equal(odd.time[0], 601);
	thrum__model_destroy(model);
	/* Nobody waits, so nobody would know of a signal. */
	begin();
	for (int i = 1; i <= 6; i++)
		ask(100 * i, i < 6, i < 6);
	expect_none();
	/* A thread made such a timer, and nobody knows where that is set. */
	begin();
	story_tell("0 create 1 6 timer\n0 label 6 \"timer on_retry\n1 due 6 =50\n");
	for (int i = 1; i <= 6; i++)
		ask(100 * i, true, i < 6);
	expect_none();
}

/* The client asks a thread that wakes up by descriptors; by 7 it answers, by 8 it measures. */
static void wake(int at, bool is_answered, bool is_both)
{
	story_tell("%d @1 wait 5 4\n%d resume -\n%d tag 1 =7 \"woken by descriptor\n", at, at + 1,
		at + 1);
	if (is_both)
		story_tell("%d tag 1 =8 \"woken by descriptor\n", at + 1);
	if (is_answered)
		story_tell("%d signal 1 4 =1\n%d @1 read 5 4\n", at + 2, at + 5);
	story_tell("%d suspend - \"wait for work\n%d resume -\n%d tag 1 =8 \"woken by descriptor\n"
		   "%d suspend - \"wait for work\n",
		at + 3, at + 6, at + 6, at + 7);
}

static void tells_descriptors(void **state)
{
	struct thrum__model *model;
	struct thrum__odd odd;

	(void)state;
	begin();
	story_tell("1 suspend - \"wait for work\n");
	for (int i = 1; i <= 6; i++)
		wake(100 * i, i < 6, false);
	assert_int_equal(find(&odd, &model, 1), 1);
	assert_int_equal(odd.descriptor, 7);
	assert_int_equal(odd.task[0], story_task(model, 1));
	assert_int_equal(odd.effect, THRUM__EFFECT_SIGNALS);
	assert_int_equal(odd.with, 5);
	assert_int_equal(odd.time[0], 601);
	thrum__model_destroy(model);
	/* It isn't known for which descriptor it worked. */
	begin();
	story_tell("1 suspend - \"wait for work\n");
	for (int i = 1; i <= 6; i++)
		wake(100 * i, i < 6, i == 6);
	expect_none();
}

/* The client goes on after its sleep, and mostly makes the handle ready. */
static void sleep_on(int at, bool is_ready)
{
	story_tell("%d @1 wait 5 3\n%d @1 read 5 3\n", at, at + 1);
	if (is_ready)
		story_tell("%d @1 ready 5 2\n", at + 2);
}

static void tells_threads(void **state)
{
	struct thrum__model *model;
	struct thrum__odd odd;

	(void)state;
	begin();
	for (int i = 1; i <= 5; i++)
		sleep_on(100 * i, i < 5);
	story_tell("600 @1 wait 5 3\n");
	assert_int_equal(find(&odd, &model, 1), 1);
	assert_int_equal(odd.effect, THRUM__EFFECT_READIES);
	assert_int_equal(odd.after, story_task(model, 3));
	assert_int_equal(odd.task[0], story_task(model, 5));
	assert_int_equal(odd.time[0], 501);
	assert_int_equal(odd.with, 4);
	thrum__model_destroy(model);
	/* It isn't over: the thread waits for something else. */
	begin();
	for (int i = 1; i <= 5; i++)
		sleep_on(100 * i, i < 5);
	story_tell("600 @1 wait 5 4\n");
	expect_none();
	/* It wakes up twice for one wait: both are one turn. */
	begin();
	for (int i = 1; i <= 5; i++) {
		sleep_on(100 * i, true);
		story_tell("%d @1 read 5 3\n", 100 * i + 3);
	}
	expect_none();
}

/* The client sleeps anew at a place in the program, and signals the condition afterwards. */
static void sleep_at(int i, int place, bool signals)
{
	int at = 100 * i, id = 10 + i;

	story_tell("%d @1 create 5 %d timer =%d\n%d @1 label %d \"sleep\n%d @1 wait 5 %d\n", at, id,
		place, at, id, at, id);
	story_tell("%d @1 resolve 5 %d\n%d @1 read 5 %d\n", at + 1, id, at + 1, id);
	if (signals)
		story_tell("%d @1 ready 5 2\n", at + 2);
}

static void tells_sleeps_apart(void **state)
{
	struct thrum__model *model;
	struct thrum__odd odd;

	(void)state;
	for (int place = 1; place <= 2; place++) {
		begin();
		for (int i = 1; i <= 5; i++)
			sleep_at(i, 1, true);
		sleep_at(6, place, false);
		story_tell("700 @1 create 5 20 timer =%d\n700 @1 label 20 \"sleep\n"
			   "700 @1 wait 5 20\n",
			place);
		if (place == 1) {
			assert_int_equal(find(&odd, &model, 1), 1);
			assert_int_equal(odd.with, 5);
			thrum__model_destroy(model);
		} else {
			expect_none();
		}
	}
}

/* The client reads, and makes the handle ready. At last its wait goes on, and is told anew: for whom. */
static void a_wait_told_anew(void **state)
{
	struct thrum__model *model;
	struct thrum__odd odd;

	(void)state;
	for (int is_told = 0; is_told < 2; is_told++) {
		begin();
		for (int i = 1; i <= 5; i++)
			sleep_at(i, 1, true);
		sleep_at(6, 1, false);
		story_tell("602 @1 create 5 20 timer =1\n602 @1 label 20 \"sleep\n"
			   "602 @1 create 5 21 handle\n602 @1 label 21 \"process\n");
		if (is_told)
			story_tell("602 @1 wait 20 21\n");
		story_tell("602 @1 wait 5 20\n");
		if (is_told) {
			expect_none();
		} else {
			assert_int_equal(find(&odd, &model, 1), 1);
			thrum__model_destroy(model);
		}
	}
}

/* Requests go from a client to a worker, which answers. */
static void serve(int at, bool is_answered, bool is_late)
{
	story_tell("%d ready 5 2\n", at);
	if (!is_late)
		story_tell("%d @1 wait 5 4\n", at + 1);
	story_tell("%d switch 2\n", at + 2);
	if (is_answered)
		story_tell("%d signal 2 4 =1\n%d @1 read 5 4\n", at + 3, at + 5);
	story_tell("%d switch 1\n", at + 4);
	if (is_late)
		story_tell("%d @1 wait 5 4\n", at + 6);
}

/* How often the findings tell of a run without a signal. */
static unsigned count_left_out(void)
{
	struct thrum__model *model;
	struct thrum__findings findings;
	unsigned count = 0;

	story_tell("900000000 log 1 \"end\n");
	model = story_findings(&findings);
	assert_true(findings.count > 0);
	for (uint32_t i = 0; i < findings.count; i++)
		for (unsigned at = 0; at < findings.findings[i].step_count; at++) {
			const struct thrum__step *step = &findings.findings[i].steps[at];

			if (step->kind != THRUM__STEP_LEAVES_OUT)
				continue;
			assert_int_equal(step->task, story_task(model, 2));
			assert_int_equal(step->other, story_task(model, 4));
			assert_int_equal(step->more, 7);
			count++;
		}
	story_free(model, &findings);
	return count;
}

static void adds_step(void **state)
{
	(void)state;
	begin();
	story_tell("0 should-resolve 5\n");
	for (int i = 1; i <= 8; i++)
		serve(100 * i, i < 8, false);
	assert_int_equal(count_left_out(), 1);
	/* The wait began after the run: a signal would not have ended it. */
	begin();
	story_tell("0 should-resolve 5\n");
	for (int i = 1; i <= 8; i++)
		serve(100 * i, i < 8, i == 8);
	assert_int_equal(count_left_out(), 0);
}

/* A thread that prepares a search. */
struct helper {
	pthread_t thread;
	struct thrum__odd_search search;
	atomic_bool is_unwanted;
	unsigned joined;
};

static void *prepare(void *context)
{
	struct helper *helper = context;

	thrum__analyse_odd_prepare(&helper->search, &helper->is_unwanted);
	return NULL;
}

static void join(struct thrum__odd_search *search, bool is_wanted)
{
	struct helper *helper = search->context;

	helper->joined++;
	helper->is_unwanted = !is_wanted;
	assert_int_equal(pthread_join(helper->thread, NULL), 0);
	search->work = helper->search.work;
}

/* Finds the faults while a thread prepares the search for odd turns. */
static void find_with(struct helper *helper, const struct thrum__model *model,
	struct thrum__findings *findings)
{
	struct thrum__why_work *work = thrum__why_begin(model);
	bool is_explained, is_certain = false;
	int more = 1;

	assert_non_null(work);
	helper->search = *thrum__why_odd(work);
	assert_int_equal(pthread_create(&helper->thread, NULL, prepare, helper), 0);
	thrum__why_odd(work)->join = join;
	thrum__why_odd(work)->context = helper;
	while (more > 0)
		more = thrum__why_go_on(work);
	assert_int_equal(more, 0);
	is_explained = thrum__why_is_explained(work);
	thrum__why_end(work, findings);
	for (uint32_t i = 0; i < findings->count; i++)
		is_certain |= findings->findings[i].certainty != THRUM__POSSIBLE;
	assert_int_equal(is_explained, is_certain);
}

static void a_thread_prepares(void **state)
{
	struct helper helper = {.joined = 0}, unused = {.joined = 0};
	struct thrum__findings findings;
	struct thrum__model *model;
	struct thrum__odd odd;

	(void)state;
	begin();
	for (int i = 1; i <= 6; i++)
		answer(100 * i, 10 + i);
	answer(700, 0);
	assert_int_equal(find(&odd, &model, 1), 1);
	find_with(&helper, model, &findings);
	assert_int_equal(thrum__analyse_odd(&findings.odd, THRUM__NONE, 10000, &odd, 1), 1);
	assert_int_equal(odd.task[0], story_task(model, 2));
	assert_int_equal(odd.time[0], 700);
	assert_int_equal(helper.joined, 1);
	assert_ptr_equal(findings.odd.work, helper.search.work);
	thrum__why_free(&findings);
	assert_int_equal(helper.joined, 1);
	/* Nobody asks. */
	find_with(&unused, model, &findings);
	assert_int_equal(unused.joined, 0);
	thrum__why_free(&findings);
	assert_int_equal(unused.joined, 1);
	/* The thread has given up, and somebody asks all the same. */
	unused = (struct helper){.is_unwanted = true};
	find_with(&unused, model, &findings);
	assert_int_equal(thrum__analyse_odd(&findings.odd, THRUM__NONE, 10000, &odd, 1), 1);
	story_free(model, &findings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_last_run),
		cmocka_unit_test(a_turn_that_closes),
		cmocka_unit_test(tells_several),
		cmocka_unit_test(needs_a_rule_that_ends),
		cmocka_unit_test(tells_what_goes_together),
		cmocka_unit_test(tells_descriptors),
		cmocka_unit_test(tells_threads),
		cmocka_unit_test(tells_sleeps_apart),
		cmocka_unit_test(a_wait_told_anew),
		cmocka_unit_test(adds_step),
		cmocka_unit_test(a_thread_prepares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
