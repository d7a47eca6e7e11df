/* SPDX-License-Identifier: ISC */
/* A thread has moved on with a read lock that others still get, while a writer waits for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define ROUNDS 14    /* before the reader keeps the lock, */
#define TURNS 100    /* and after that */
#define NAP 7        /* the place where the reader sleeps in each round */
#define HOLD 8       /* where it takes the lock */

/* How the reader differs from one that forgot its lock. */
struct reader {
	int place;       /* where it sleeps once it keeps the lock */
	int taker;       /* where it takes the lock that it keeps */
	bool naps_below; /* it sleeps with the lock in each round */
	int turns;       /* how often it sleeps with the lock that it keeps */
	bool is_shared;  /* the other thread has the lock, too, at the end */
	bool is_bound;   /* the writer should end */
	bool is_new;     /* it never took the lock before */
};

/* A thread sleeps for a time at a place. */
static void tell_nap(int lane, int thread, int timer, int time, int end, int place)
{
	story_tell("%d" MS "@%d create %d %d timer\n%d" MS "@%d label %d \"sleep\n%d" MS
		   "@%d wait %d %d =%d\n%d" MS "@%d suspend \"blocked for a time\n",
		time, lane, thread, timer, time, lane, timer, time, lane, thread, timer, place,
		time, lane);
	if (end > 0)
		story_tell("%d" MS "@%d resume \"blocked for a time\n%d" MS
			   "@%d resolve %d %d\n%d" MS "@%d read %d %d\n",
			end, lane, end, lane, thread, timer, end, lane, thread, timer);
}

/* Another thread, 4, holds the lock 3 for some us in each turn. */
static void tell_other(int time)
{
	story_tell("%d" MS "@2 lock 4 3 =9\n%d100000 @2 unlock 4 3\n", time, time);
}

/* The reader, 2, takes the lock 3 in each round of 10 ms, and then keeps it. The writer, 1, waits for it. */
static void tell(const struct reader *reader)
{
	int time = 10, timer = 100;

	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"writer\n0 switch 1\n"
		   "0 create 1 3 lock\n0 label 3 \"table\n"
		   "0 @1 create - 2 thread\n0 @1 label 2 \"reader\n0 @1 switch 2\n"
		   "0 @2 create - 4 thread\n0 @2 label 4 \"other\n0 @2 switch 4\n");
	for (int i = 0; i < ROUNDS; i++, time += 10) {
		if (!reader->is_new)
			story_tell("%d" MS "@1 lock 2 3 =%d\n", time, HOLD);
		if (reader->naps_below)
			tell_nap(1, 2, timer++, time, time + 2, NAP);
		if (!reader->is_new)
			story_tell("%d" MS "@1 unlock 2 3\n", time + 2);
		tell_nap(1, 2, timer++, time + 2, time + 9, NAP);
		tell_other(time + 9);
	}
	story_tell("%d" MS "@1 lock 2 3 =%d\n%d" MS "wait 1 3 =5\n%d" MS "suspend \"blocked\n",
		time, reader->taker, time, time);
	for (int i = 0; i < TURNS + 20; i++, time += 10) {
		bool is_last = i == TURNS + 19;

		if (i < reader->turns || is_last)
			tell_nap(1, 2, timer++, time, is_last ? 0 : time + 9, reader->place);
		if (!reader->is_shared || i % 4 == 0)
			tell_other(time + (is_last ? 0 : 9));
	}
	if (reader->is_bound)
		story_tell("%d" MS "should-resolve 1\n", time);
	if (reader->is_shared) {
		story_tell("%d" MS "@2 lock 4 3 =9\n", time);
		tell_nap(2, 4, timer, time, 0, 30);
	}
}

/* Expects so many findings: the reader holds the lock. */
static void expect(uint32_t count)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_findings(&findings);

	assert_int_equal(findings.count, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct thrum__finding *finding = &findings.findings[i];

		assert_int_equal(finding->certainty, THRUM__POSSIBLE);
		assert_int_equal(finding->steps[0].kind, THRUM__STEP_HOLDS);
		assert_int_equal(finding->steps[0].task, story_task(model, 2));
	}
	story_free(model, &findings);
}

static void a_reader_moves_on_with_the_lock(void **state)
{
	(void)state;
	tell(&(struct reader){NAP, HOLD, false, TURNS + 20});
	expect(1);
	tell(&(struct reader){NAP, HOLD, false, TURNS + 20, .is_shared = true});
	expect(1);
	/* Others show how long it is held, where the writer should end. */
	tell(&(struct reader){NAP, HOLD, false, TURNS + 20, .is_new = true, .is_bound = true});
	expect(1);
	tell(&(struct reader){NAP, HOLD, false, TURNS + 20, .is_new = true});
	expect(0);
}

static void a_long_batch_is_no_loss(void **state)
{
	(void)state;
	/* It sleeps elsewhere than before, */
	tell(&(struct reader){NAP + 20, HOLD, false, TURNS + 20});
	expect(0);
	/* took the lock elsewhere, */
	tell(&(struct reader){NAP, HOLD + 20, false, TURNS + 20});
	expect(0);
	/* always slept with the lock, */
	tell(&(struct reader){NAP, HOLD, true, TURNS + 20});
	expect(0);
	/* or doesn't go round. */
	tell(&(struct reader){NAP, HOLD, false, 3});
	expect(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_moves_on_with_the_lock),
		cmocka_unit_test(a_long_batch_is_no_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
