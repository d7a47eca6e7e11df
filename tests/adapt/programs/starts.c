/* SPDX-License-Identifier: ISC */
/* A program that uses libthrum itself, and forks two children. Only the second starts a recording. */
#define _GNU_SOURCE
#include <sys/wait.h>
#include <unistd.h>

#include "thrum.h"

/* Both wait for long enough that a child of another program would begin to record. */
static int run_child(bool starts)
{
	if (starts && thrum_start(NULL) != 0)
		return 1;
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "work of the child");

	usleep(200000);
	thrum_task_resolve(task);
	return 0;
}

int main(void)
{
	int failed = 0;

	for (int i = 0; i < 2; i++)
		if (fork() == 0)
			_exit(run_child(i == 1));
	for (int i = 0, status; i < 2 && waitpid(-1, &status, 0) > 0; i++)
		failed += status != 0;
	return failed;
}
