/* SPDX-License-Identifier: ISC */
/* Makes three tasks that should resolve. With an argument it resolves them. Then it kills itself: nobody can
 * tell whether tasks that are so young hang. */
#include <signal.h>
#include <thrum.h>

int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 3; i++) {
		thrum_task task = thrum_task_create(THRUM_KIND_REQUEST, "answer");

		thrum_task_should_resolve(task);
		if (argc > 1)
			thrum_task_resolve(task);
	}
	raise(SIGKILL);
	return 0;
}
