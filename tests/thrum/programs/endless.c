/* SPDX-License-Identifier: ISC */
/* endless FILE: begins 200 spans that never end, one in each run of a task. */
#include <thrum.h>

THRUM_TAG(endless, NULL, "endless", 1);

int main(int argc, char **argv)
{
	if (argc != 2 || thrum_start(&(struct thrum_config){.file = argv[1]}))
		return 1;
	for (int i = 0; i < 200; i++) {
		thrum_task task = thrum_task_create(THRUM_KIND_FIBER, NULL);

		THRUM_RUN (task)
			thrum_span_begin(&endless);
	}
	thrum_stop();
	return 0;
}
