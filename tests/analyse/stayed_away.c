/* SPDX-License-Identifier: ISC */
/* A reader that stays away: a writer is blocked by it, and serves nobody else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

struct radio {
	bool reads_on;  /* the first reader reads between its naps */
	bool is_single; /* there is no other reader */
	bool is_timed;  /* the other reader is served after pauses as long as this one */
};

/* The thread 1 sends to the reader 2 by the stream 10, and to the reader 3 by 11, each 10 ms. Then the reader
 * 2 naps, and 1 is blocked in sending to it. */
static void tell(const struct radio *radio)
{
	unsigned ms = 10, task = 20;

	story_begin();
	story_tell(
		"0 create - 1 thread\n0 switch 1\n0 create 1 10 stream\n0 create 1 11 stream\n"
		"0 label 10 \"socket 5 to 6\n0 label 11 \"socket 7 to 8\n0 should-resolve 1\n"
		"0 @1 create - 2 thread\n0 @1 switch 2\n0 @2 create - 3 thread\n0 @2 switch 3\n");
	for (int i = 0; i < 20; i++, ms += radio->is_timed && i == 9 ? 2000 : 10) {
		story_tell("%u" MS "@1 wait 2 10\n%u" MS "signal 1 10 =1\n%u" MS "@1 read 2 10\n",
			ms, ms + 1, ms + 2);
		if (!radio->is_single)
			story_tell("%u" MS "@2 wait 3 11\n%u" MS "signal 1 11 =1\n%u" MS
				   "@2 read 3 11\n",
				ms, ms + 3, ms + 4);
	}
	story_tell("%u" MS "wait 1 10\n%u" MS "suspend \"blocked by the outside\n", ms, ms);
	if (!radio->is_single)
		story_tell("%u" MS "@2 wait 3 11\n%u" MS "@2 suspend \"blocked by the outside\n",
			ms, ms);
	for (int i = 0; i < 30; i++, ms += 100, task++) {
		if (radio->reads_on)
			story_tell("%u" MS "@1 read 2 10\n", ms);
		story_tell("%u" MS "@1 create 2 %u timer\n%u" MS "@1 due %u =100000000\n%u" MS
			   "@1 wait 2 %u\n%u" MS "@1 suspend \"blocked for a time\n",
			ms, task, ms, task, ms, task, ms);
		if (i < 29)
			story_tell("%u" MS "@1 resume\n%u" MS "@1 resolve 2 %u\n%u" MS
				   "@1 read 2 %u\n",
				ms + 100, ms + 100, task, ms + 100, task);
	}
}

/* Whether the reader 2 is told to stay away. */
static bool is_told(struct radio radio)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	bool is_found = false;

	tell(&radio);
	model = story_findings(&findings);
	for (uint32_t i = 0; i < findings.count; i++)
		is_found |= findings.findings[i].steps[0].task == story_task(model, 2);
	story_free(model, &findings);
	return is_found;
}

static void a_reader_stays_away(void **state)
{
	(void)state;
	assert_true(is_told((struct radio){0}));
	/* It reads on; nobody else waits; or others wait as they did before. */
	assert_false(is_told((struct radio){.reads_on = true}));
	assert_false(is_told((struct radio){.is_single = true}));
	assert_false(is_told((struct radio){.is_timed = true}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_stays_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
