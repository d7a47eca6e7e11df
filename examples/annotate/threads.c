/* SPDX-License-Identifier: ISC */
/* A thread with no task but its own, and one that joins it. With the bug, it waits for a pipe that nobody
 * closes. */
#include "annotate.h"

struct worker {
	const char *name;
	thrum_task task; /* made before the thread starts */
	pthread_t thread;
};

static int ends[2];

static void *work(void *data)
{
	struct worker *self = data;
	char byte;

	thrum_lane_name(self->name);
	thrum_task_become(self->task, thrum_task_current());
	thrum_task_should_resolve(thrum_task_current());
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (read(ends[0], &byte, 1) == 1)
		continue;
	thrum_resume();
	return NULL; /* the end of the thread resolves its task */
}

static void worker_start(struct worker *worker)
{
	worker->task = thrum_task_create(THRUM_KIND_THREAD, worker->name);
	worker->thread = start(work, worker);
}

static void worker_join(struct worker *worker)
{
	thrum_task_wait(thrum_task_current(), worker->task);
	thrum_suspend(THRUM_BLOCKED);
	pthread_join(worker->thread, NULL);
	thrum_resume();
	thrum_task_read(thrum_task_current(), worker->task);
}

int main(int argc, char **argv)
{
	struct worker logger = {.name = "logger"};

	begin(argc);
	if (pipe(ends))
		return 1;
	worker_start(&logger);
	pause_ms(10);
	if (!broken)
		close(ends[1]);
	worker_join(&logger);
	return 0;
}
