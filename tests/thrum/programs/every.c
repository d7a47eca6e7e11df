/* SPDX-License-Identifier: ISC */
/*
 * every FILE: records one of everything, by a clock that stands still but for what it is told, so
 * that each recording is the same. every FILE wrap: and then overwrites it all, but for what is
 * remembered.
 */
#include <stdio.h>
#include <string.h>
#include <thrum.h>

/* In sixteenths of a tick of 10 ns. */
static uint64_t now;

static uint64_t read_clock(void *context)
{
	(void)context;
	return now;
}

/* So much later, in ns. */
static void later(uint64_t ns)
{
	now += ns / 10 * 16;
}

THRUM_CATEGORY(net, "net");
THRUM_TAG(parse, &net, "net/parse", 1);
THRUM_TAG(compile, NULL, "compile", 0);

static void tasks(void)
{
	thrum_task request = thrum_task_create(THRUM_KIND_REQUEST, "GET /");
	thrum_task timer = thrum_task_create(THRUM_KIND_TIMER, NULL);

	later(1000);
	thrum_task_label(timer, "patience");
	thrum_task_due(timer, 1500000);
	thrum_task_should_resolve(request);
	later(10);
	THRUM_RUN (request) {
		thrum_task both = thrum_task_create_waiting(THRUM_KIND_JOIN, "both", timer);

		thrum_task_wait(request, both);
		later(1234567);
		thrum_task_resolve(timer);
		thrum_task_read(both, timer);
		thrum_task_become(both, timer);
	}
	thrum_task_fail(request, "connection reset");
	thrum_task_cancel(thrum_task_create(THRUM_KIND_PROMISE, "never\twanted\n"));
}

static void others(void)
{
	thrum_task condition = thrum_task_create(THRUM_KIND_CONDITION, "news");
	thrum_task lock = thrum_task_create(THRUM_KIND_LOCK,
		"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e");
	struct thrum_counter *open = thrum_counter_create("net/open", THRUM_COUNTER_GAUGE);

	later(3000000000);
	thrum_task_signal(condition, 0);
	thrum_task_signal(condition, 3);
	thrum_lock_acquired(lock);
	thrum_lock_released(lock);
	thrum_link_send("127.0.0.1:80", 12);
	thrum_link_receive("\0\1\377", 3);
	thrum_log("a\\b \"quoted\" caf\xe9 \x1b[31m");
	thrum_tag(&parse);
	thrum_tag_value(&parse, -42);
	thrum_span_begin(&compile);
	later(250);
	thrum_span_end(&compile);
	thrum_counter_set(open, 7);
	thrum_counter_add(open, -9);
	thrum_level("net", 0);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	later(1000000);
	thrum_resume();
	thrum_task_ready(lock);
	thrum_suspend(THRUM_DEADLOCKED);
	thrum_resume();
}

static void wrap(void)
{
	thrum_task noise = thrum_task_create(THRUM_KIND_TASK, "noise");

	for (int i = 0; i < 100000; i++) {
		later(100);
		thrum_task_switch(i % 2 ? noise : THRUM_TASK_NONE);
	}
}

int main(int argc, char **argv)
{
	const struct thrum_clock clock = {read_clock, NULL, 100000000};
	const struct thrum_config config = {.file = argv[1], .size = 256 << 10, .clock = &clock};
	int error = argc > 1 ? thrum_start(&config) : -THRUM_E_ARGUMENT;

	if (error < 0) {
		fprintf(stderr, "every: error %d\n", -error);
		return 1;
	}
	tasks();
	others();
	if (argc > 2 && strcmp(argv[2], "wrap") == 0)
		wrap();
	thrum_stop();
	return 0;
}
