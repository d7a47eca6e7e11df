/* SPDX-License-Identifier: ISC */
/* Two threads write to each other over one connection, and neither reads. Each twin has somebody who may
 * still read, or a thread that does something else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define THERE "1\001\377\n"
#define BACK "1\002\377\n"
#define END 4000 /* ms */

enum way {
	BOTH_WRITE,
	ONE_READS,     /* the other thread waits for data */
	ANOTHER_READS, /* a thread beside it reads what comes */
	SHARES,        /* a thread beside it read something */
	GOES_ON        /* the other one's write is over */
};

static void tell(enum way way)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"client\n0 switch 1\n0 @1 create - 2 thread\n"
		   "0 @1 label 2 \"server\n0 @1 switch 2\n0 @2 create - 3 thread\n"
		   "0 @2 label 3 \"reader\n0 @2 switch 3\n");
	for (int i = 0; i < 4; i++) {
		int lane = way == ANOTHER_READS || (way == SHARES && i == 2) ? 2 : 1;

		story_tell("%d" MS "link-send 1 \"conn345" THERE, 10 + 2 * i);
		story_tell("%d" MS "@%d link-receive %d \"conn345" THERE, 11 + 2 * i, lane,
			lane + 1);
		story_tell("%d" MS "@1 link-send 2 \"conn345" BACK, 11 + 2 * i);
		story_tell("%d" MS "link-receive 1 \"conn345" BACK, 12 + 2 * i);
	}
	story_tell("100" MS "link-send 1 \"conn345" THERE);
	story_tell("100" MS "create 1 10 request\n100" MS "label 10 \"write to socket 3\n100" MS
		   "wait 1 10\n100" MS "suspend \"blocked by the outside\n100" MS
		   "link-send 1 \"conn345" THERE);
	story_tell("101" MS "@1 link-send 2 \"conn345" BACK);
	story_tell("101" MS "@1 create 2 20 %s\n101" MS "@1 label 20 \"%s socket 4\n101" MS
		   "@1 wait 2 20\n101" MS "@1 suspend \"blocked by the outside\n",
		way == ONE_READS ? "handle" : "request",
		way == ONE_READS ? "read from" : "write to");
	story_tell("101" MS "@1 %s 2 \"conn345%s", way == ONE_READS ? "link-receive" : "link-send",
		way == ONE_READS ? THERE : BACK);
	if (way == GOES_ON)
		story_tell("102" MS "@1 resume \"blocked by the outside\n102" MS
			   "@1 resolve 2 20\n102" MS "@1 read 2 20\n102" MS
			   "@1 suspend \"wait for work outside\n");
	story_tell("103" MS "@2 suspend \"wait for work outside\n");
}

static void both_wait_for_room(void **state)
{
	(void)state;
	tell(BOTH_WRITE);
	assert_int_equal(story_findings_if_killed(END), 1);
}

static void somebody_may_read(void **state)
{
	(void)state;
	for (enum way way = ONE_READS; way <= GOES_ON; way++) {
		tell(way);
		assert_int_equal(story_findings_if_killed(END), 0);
	}
}

/* The server reads 4 messages and rests until 5 s, while the client's write lacks room. */
static void tell_of_rest(int due)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"client\n0 switch 1\n0 should-resolve 1\n"
		   "0 @1 create - 2 thread\n0 @1 label 2 \"server\n0 @1 switch 2\n");
	story_tell("1" MS "@1 link-send 2 \"conn345" BACK "2" MS "link-receive 1 \"conn345" BACK);
	for (int i = 0; i < 5; i++) {
		int ms = 10 + 5 * i, task = 10 + i;

		story_tell("%d" MS "create 1 %d request\n%d" MS
			   "label %d \"write to socket 3\n%d" MS "wait 1 %d\n%d" MS
			   "suspend \"blocked by the outside\n%d" MS "link-send 1 \"conn345" THERE,
			ms, task, ms, task, ms, task, ms, ms);
		if (i == 4)
			break;
		story_tell("%d" MS "resume \"blocked by the outside\n%d" MS "resolve %d %d\n%d" MS
			   "read 1 %d\n%d" MS "@1 link-receive 2 \"conn345" THERE,
			ms + 1, ms + 1, task, task, ms + 1, task, ms + 2);
	}
	story_tell("50" MS "@1 create 2 30 timer\n50" MS "@1 label 30 \"sleep\n50" MS
		   "@1 due 30 =%d000000\n50" MS "@1 wait 2 30\n50" MS
		   "@1 suspend \"blocked for a time\n",
		due);
}

static void the_reader_rests(void **state)
{
	(void)state;
	tell_of_rest(END + 1000);
	assert_int_equal(story_findings_if_killed(END), 0);
	tell_of_rest(100);
	assert_true(story_findings_if_killed(END) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_wait_for_room),
		cmocka_unit_test(somebody_may_read),
		cmocka_unit_test(the_reader_rests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
