/* SPDX-License-Identifier: ISC */
/* Has counters of all kinds. With an argument, prints a line and waits to be killed. */
#include <stdio.h>
#include <thrum.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	(void)argv;
	struct thrum_counter *get = thrum_counter_create("http/requests/get",
		THRUM_COUNTER_CUMULATIVE);
	struct thrum_counter *put = thrum_counter_create("http/requests/put",
		THRUM_COUNTER_CUMULATIVE);
	struct thrum_counter *open = thrum_counter_create("http/open", THRUM_COUNTER_GAUGE);
	struct thrum_counter *sizes = thrum_counter_create("http/size", THRUM_COUNTER_DISTRIBUTION);

	thrum_counter_create("odd\tname", THRUM_COUNTER_DISTRIBUTION);
	thrum_counter_set(open, -3);
	for (int i = 1; i <= 1000; i++) {
		thrum_counter_add(i % 4 ? get : put, 1);
		thrum_counter_observe(sizes, i);
	}
	if (argc > 1) {
		puts("ready");
		fflush(stdout);
		for (;;)
			pause();
	}
	return 0;
}
