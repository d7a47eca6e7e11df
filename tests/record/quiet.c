/* SPDX-License-Identifier: ISC */
/* No recording call changes errno. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "record_helper.h"

#define STRANGE 4711

THRUM_CATEGORY(net, "net");
THRUM_TAG(parse, &net, "net/parse", 1);

#define QUIET(call) \
	do { \
		errno = STRANGE; \
		call; \
		if (errno != STRANGE) \
			return "errno after " #call; \
	} while (0)

static struct thrum_counter *counter;

/* Returns the name of a call that changed errno, or NULL. */
static const char *call_everything(void)
{
	static char text[600];

	memset(text, 'x', sizeof text - 1);
	QUIET(thrum_task_create(THRUM_KIND_TASK, text));
	QUIET(thrum_task_create(THRUM_KIND_TASK, "short"));
	QUIET(thrum_task_createf(THRUM_KIND_TASK, "%d %s", 1, text));
	QUIET(thrum_task_create_in(1, THRUM_KIND_TASK, NULL));
	QUIET(thrum_task_create_waiting(THRUM_KIND_TASK, "label", 1));
	QUIET(thrum_task_label(1, text));
	QUIET(thrum_task_should_resolve(1));
	QUIET(thrum_task_due(1, 5));
	QUIET(thrum_task_current());
	QUIET(thrum_task_switch(1));
	QUIET(thrum_task_leave(thrum_task_enter(2)));
	QUIET(thrum_task_leave(thrum__enter_reading(2, 3)));
	QUIET(thrum_task_wait(1, 2));
	QUIET(thrum_task_read(1, 2));
	QUIET(thrum_task_resolve(1));
	QUIET(thrum_task_fail(1, text));
	QUIET(thrum_task_cancel(1));
	QUIET(thrum_task_become(1, 2));
	QUIET(thrum_task_signal(1, 2));
	QUIET(thrum_lock_acquired(1));
	QUIET(thrum_lock_released(1));
	QUIET(thrum_task_ready(1));
	QUIET(thrum_link_send("key", 3));
	QUIET(thrum_link_receive("key", 3));
	QUIET(thrum_lane_name("name"));
	QUIET(thrum_suspend(THRUM_WAIT_FOR_WORK));
	QUIET(thrum_resume());
	QUIET(thrum_tag(&parse));
	QUIET(thrum_tag_value(&parse, 1));
	QUIET(thrum_span_begin(&parse));
	QUIET(thrum_span_end(&parse));
	QUIET(thrum_log(text));
	QUIET(thrum_logf("%s %d", text, 2));
	QUIET(thrum_counter_add(counter, 1));
	QUIET(thrum_counter_set(counter, 1));
	QUIET(thrum_counter_observe(counter, 1));
	QUIET(thrum_counter_value(counter));
	return NULL;
}

static void *call_often(void *times)
{
	const char *loud = NULL;

	for (uintptr_t i = 0; i < (uintptr_t)times && !loud; i++)
		loud = call_everything();
	return (void *)(uintptr_t)loud;
}

static void check(uintptr_t times)
{
	pthread_t thread;
	void *loud;

	assert_null(call_often((void *)times));
	/* The first call of a thread, too. */
	assert_int_equal(pthread_create(&thread, NULL, call_often, (void *)times), 0);
	pthread_join(thread, &loud);
	if (loud)
		fail_msg("%s", (const char *)loud);
}

static void while_nothing_is_recorded(void **state)
{
	(void)state;
	check(2);
}

static void in_memory(void **state)
{
	(void)state;
	start_in_memory(256 << 10, NULL);
	check(500);
	thrum_stop();
}

static void in_a_file(void **state)
{
	const char *file = scratch("quiet.thrum");

	(void)state;
	assert_int_equal(thrum_start(&(struct thrum_config){.file = file, .size = 1 << 20}), 0);
	check(2000);
	thrum_stop();
}

static void when_it_is_full(void **state)
{
	const char *file = scratch("full.thrum");

	(void)state;
	assert_int_equal(thrum_start(&(struct thrum_config){.file = file,
				 .size = 256 << 10,
				 .full = THRUM_FULL_DISCARD}),
		0);
	check(500);
	thrum_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(while_nothing_is_recorded),
		cmocka_unit_test(in_memory),
		cmocka_unit_test(in_a_file),
		cmocka_unit_test(when_it_is_full),
	};

	scratch("");
	counter = thrum_counter_create("quiet", THRUM_COUNTER_GAUGE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
