/* SPDX-License-Identifier: ISC */
/* The only signal of a condition woke one of several that wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

struct cache {
	int waiters;    /* of the last condition */
	int alike;      /* conditions before it */
	int signals;    /* of each of those */
	bool is_forced; /* the last condition's signal woke all */
};

/* The thread 1 signals conditions 40, 41 and so on, each after thread 2 began to wait for it. For the last
 * one others wait, too. */
static void tell(const struct cache *cache)
{
	int ms = 10, last = 40 + cache->alike;

	story_begin();
	story_tell("0 create - 1 thread\n0 switch 1\n0 label 1 \"upstream\n");
	for (int i = 0; i < cache->waiters; i++)
		story_tell("0 @%d create - %d thread\n0 @%d switch %d\n", 1 + i, 2 + i, 1 + i,
			2 + i);
	for (int i = 0; i < cache->alike; i++, ms += 10) {
		story_tell("%d" MS "@1 create 2 %d condition\n%d" MS "@1 label %d \"entry %d\n", ms,
			40 + i, ms, 40 + i, i);
		for (int k = 0; k < cache->signals; k++)
			story_tell("%d" MS "@1 wait 2 %d\n%d" MS "signal 1 %d =1\n%d" MS
				   "@1 read 2 %d\n",
				ms + 3 * k, 40 + i, ms + 3 * k + 1, 40 + i, ms + 3 * k + 2, 40 + i);
	}
	story_tell("%d" MS "@1 create 2 %d condition\n%d" MS "@1 label %d \"entry 9\n", ms, last,
		ms, last);
	for (int i = 0; i < cache->waiters; i++)
		story_tell("%d" MS "@%d wait %d %d\n%d" MS "@%d suspend \"blocked\n", ms, 1 + i,
			2 + i, last, ms, 1 + i);
	story_tell("%d" MS "signal 1 %d =%d\n", ms + 5, last, cache->waiters);
	for (int i = 0; i < (cache->is_forced ? cache->waiters : 1); i++)
		story_tell("%d" MS "@%d resume\n%d" MS "@%d read %d %d\n", ms + 6, 1 + i, ms + 6,
			1 + i, 2 + i, last);
	story_tell("5000" MS "log 1 \"end\n");
}

/* How many wait in vain, as is told. */
static unsigned told(struct cache cache)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	unsigned waiters = 0;

	tell(&cache);
	model = story_findings(&findings);
	for (uint32_t i = 0; i < findings.count; i++)
		if (findings.findings[i].steps[0].kind == THRUM__STEP_WAKES_ONE)
			waiters += 1 + findings.findings[i].behind;
	story_free(model, &findings);
	return waiters;
}

static void a_signal_is_spent(void **state)
{
	(void)state;
	assert_int_equal(told((struct cache){4, 5, 1, false}), 3);
	/* All were woken; few are alike; or such a condition is signalled again, as that of a worker is. */
	assert_int_equal(told((struct cache){4, 5, 1, true}), 0);
	assert_int_equal(told((struct cache){4, 2, 1, false}), 0);
	assert_int_equal(told((struct cache){4, 5, 2, false}), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_is_spent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
