/* SPDX-License-Identifier: ISC */
/* Threads with no tasks but their own. With the bug, one of them waits for a pipe that nobody
 * closes. */
#include "annotate.h"

static int ends[2];

static void *work(void *data)
{
	char byte;

	thrum_lane_name(data);
	thrum_task_should_resolve(thrum_task_current());
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (read(ends[0], &byte, 1) == 1)
		continue;
	thrum_resume();
	return NULL; /* the end of the thread resolves its task */
}

int main(int argc, char **argv)
{
	pthread_t thread;

	begin(argc);
	if (pipe(ends))
		return 1;
	thread = start(work, "logger");
	pause_ms(10);
	if (!broken)
		close(ends[1]);
	pthread_join(thread, NULL);
	return 0;
}
