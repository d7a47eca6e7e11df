/* SPDX-License-Identifier: ISC */
/* Threads of a pool that all wait for jobs which only they could do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define QUEUE 10     /* the condition for which threads without a job wait */
#define PLACE 7      /* where a job waits for its parts */

struct pool {
	bool by_other;  /* the main thread ended one of the earlier waits */
	bool is_free;   /* the second thread waits for a job */
	bool is_taken;  /* the second thread came to the queue after the last job was put there */
	bool has_other; /* another thread takes jobs out of the queue, too */
	bool is_elsewhere; /* the second thread waits in another place */
	bool is_idle;      /* none of the threads put a job into the queue */
	bool is_growing;   /* the thread that made them goes on */
	unsigned rounds;   /* jobs before the last ones */
	unsigned end;      /* ms */
};

/* A thread has a job, which waits for its part: the other one does that. */
static void tell_job(const struct pool *pool, unsigned round, unsigned ms)
{
	unsigned a = round % 2, b = 1 - a, condition = 100 + round;

	story_tell("%u" MS "signal 1 10 =1\n", ms);
	story_tell("%u" MS "@%u resume\n%u" MS "@%u read %u 10\n", ms, 1 + a, ms, 1 + a, 2 + a);
	story_tell("%u" MS "@%u signal %u 10 =1\n", ms + 1, 1 + a, 2 + a);
	story_tell("%u" MS "@%u create %u %u condition =2\n%u" MS "@%u wait %u %u =7\n", ms + 1,
		1 + a, 2 + a, condition, ms + 1, 1 + a, 2 + a, condition);
	story_tell("%u" MS "@%u suspend - \"blocked\n", ms + 1, 1 + a);
	story_tell("%u" MS "@%u resume\n%u" MS "@%u read %u 10\n", ms + 2, 1 + b, ms + 2, 1 + b,
		2 + b);
	if (pool->by_other && round == 0)
		story_tell("%u" MS "signal 1 %u =1\n", ms + 2, condition);
	else
		story_tell("%u" MS "@%u signal %u %u =1\n", ms + 2, 1 + b, 2 + b, condition);
	story_tell("%u" MS "@%u wait %u 10 =3\n%u" MS "@%u suspend - \"blocked\n", ms + 3, 1 + b,
		2 + b, ms + 3, 1 + b);
	story_tell("%u" MS "@%u resume\n%u" MS "@%u read %u %u\n%u" MS "@%u resolve %u %u\n",
		ms + 3, 1 + a, ms + 3, 1 + a, 2 + a, condition, ms + 3, 1 + a, 2 + a, condition);
	story_tell("%u" MS "@%u wait %u 10 =3\n%u" MS "@%u suspend - \"blocked\n", ms + 4, 1 + a,
		2 + a, ms + 4, 1 + a);
}

/* A thread has a job, and waits for a part that nobody does. */
static void tell_last(const struct pool *pool, unsigned i, unsigned ms)
{
	unsigned place = i == 1 && pool->is_elsewhere ? PLACE + 1 : PLACE;

	if (!pool->is_idle)
		story_tell("%u" MS "@%u signal %u 10 =0\n", ms, 1 + i, 2 + i);
	if (pool->is_taken && i == 1)
		story_tell("%u" MS "@2 wait 3 10 =3\n%u" MS "@2 read 3 10\n", ms + 1, ms + 1);
	story_tell("%u" MS "@%u create %u %u condition =2\n%u" MS "@%u wait %u %u =%u\n%u" MS
		   "@%u suspend - \"blocked\n",
		ms + 2, 1 + i, 2 + i, 200 + i, ms + 2, 1 + i, 2 + i, 200 + i, place, ms + 2, 1 + i);
}

static void tell(const struct pool *pool)
{
	unsigned ms = 10;

	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		   "0 create 1 2 thread\n0 label 2 \"album\n0 create 1 3 thread\n"
		   "0 label 3 \"album\n0 create 1 10 condition\n0 label 10 \"filled\n"
		   "0 create 1 11 condition\n0 label 11 \"done\n"
		   "0 @1 switch 2\n0 @2 switch 3\n"
		   "0 @3 create - 4 thread\n0 @3 label 4 \"http\n0 @3 switch 4\n");
	story_tell("1" MS "@1 wait 2 10 =3\n1" MS "@1 suspend - \"blocked\n1" MS
		   "@2 wait 3 10 =3\n1" MS "@2 suspend - \"blocked\n");
	if (pool->has_other)
		story_tell("1" MS "@3 wait 4 10 =3\n2" MS "@3 read 4 10\n");
	for (unsigned round = 0; round < pool->rounds; round++, ms += 10)
		tell_job(pool, round, ms);
	story_tell("%u" MS "signal 1 10 =2\n%u" MS "signal 1 10 =1\n", ms, ms);
	if (!pool->is_growing)
		story_tell("%u" MS "wait 1 11 =9\n%u" MS "suspend - \"blocked\n", ms, ms);
	for (unsigned i = 0; i < (pool->is_free ? 1U : 2U); i++)
		story_tell("%u" MS "@%u resume\n%u" MS "@%u read %u 10\n", ms, 1 + i, ms, 1 + i,
			2 + i);
	for (unsigned i = 0; i < (pool->is_free ? 1U : 2U); i++)
		tell_last(pool, i, ms + 2);
	for (ms += 20; ms < pool->end; ms += 50)
		story_tell("%u" MS "@3 log 4 \"answers\n", ms);
}

/* How it was found: 0: it wasn't; else its certainty, plus one. */
static int find(const struct pool *pool)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	int found = 0;

	tell(pool);
	model = story_findings(&findings);
	for (uint32_t i = 0; i < findings.count; i++) {
		const struct thrum__finding *finding = &findings.findings[i];

		if (finding->steps[finding->step_count - 1].kind != THRUM__STEP_MAY_SIGNAL)
			continue;
		assert_int_equal(finding->class, THRUM__FINDING_NEVER_RESOLVED);
		assert_int_equal(finding->step_count, 2);
		assert_int_equal(finding->steps[0].kind, THRUM__STEP_WAITS_FOR);
		assert_int_equal(finding->steps[0].task, story_task(model, 2));
		assert_int_equal(finding->steps[1].task, story_task(model, 3));
		found = finding->certainty + 1;
	}
	story_free(model, &findings);
	return found;
}

#define FIND(...) find(&(struct pool){.rounds = 4, .end = 2000, __VA_ARGS__})

static void all_wait_for_their_own_jobs(void **state)
{
	(void)state;
	assert_int_equal(FIND(.is_free = false), THRUM__LIKELY + 1);
	assert_int_equal(FIND(.is_growing = true), THRUM__POSSIBLE + 1);
}

static void others_may_do_the_jobs(void **state)
{
	(void)state;
	assert_int_equal(FIND(.by_other = true), 0);
	assert_int_equal(FIND(.is_free = true), 0);
	assert_int_equal(FIND(.is_taken = true), 0);
	assert_int_equal(FIND(.has_other = true), 0);
	assert_int_equal(FIND(.is_elsewhere = true), 0);
	/* Threads without a job may wait so. */
	assert_int_equal(FIND(.is_idle = true), 0);
}

static void too_little_is_known(void **state)
{
	struct pool young = {.rounds = 4, .end = 500}, unused = {.rounds = 1, .end = 2000};

	(void)state;
	assert_int_equal(find(&young), 0);
	assert_int_equal(find(&unused), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_wait_for_their_own_jobs),
		cmocka_unit_test(others_may_do_the_jobs),
		cmocka_unit_test(too_little_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
