/* SPDX-License-Identifier: ISC */
/* instructions CALL N: makes a recording call N times, for count.sh. */
#include <stdlib.h>
#include <string.h>
#include <thrum.h>

static char memory[1 << 24] __attribute__((aligned(65536)));

#define CALL(name, call) \
	if (strcmp(argv[1], name) == 0) \
		for (long i = 0; i < count; i++) \
	call

int main(int argc, char **argv)
{
	const struct thrum_config config = {.size = sizeof memory,
		.memory = memory,
		.no_live_tasks = true};

	if (argc != 3 || (strcmp(argv[1], "off") != 0 && thrum_start(&config)))
		return 1;
	long count = atol(argv[2]);
	thrum_task a = thrum_task_create(THRUM_KIND_PROMISE, NULL);
	thrum_task b = thrum_task_create(THRUM_KIND_PROMISE, NULL);
	struct thrum_counter *counter = thrum_counter_create("c", THRUM_COUNTER_CUMULATIVE);

	CALL("off", thrum_task_wait(a, b));
	CALL("wait", thrum_task_wait(a, b));
	CALL("resolve", thrum_task_resolve(a));
	CALL("switch", thrum_task_enter(i % 2 ? a : b));
	CALL("counter", thrum_counter_add(counter, 1));
	CALL("create", thrum_task_create(THRUM_KIND_PROMISE, "0123456789"));
	return 0;
}
