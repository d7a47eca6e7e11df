/* SPDX-License-Identifier: ISC */
/* witness FILE: records a task of that name in dom0, to the file. */
#include <stdio.h>
#include <thrum.h>

int main(int argc, char **argv)
{
	int error = argc == 2
		? thrum_start(&(struct thrum_config){.file = argv[1], .size = 1 << 18})
		: -THRUM_E_ARGUMENT;

	if (error) {
		fprintf(stderr, "witness: %s\n", thrum_error_message(error));
		return 1;
	}
	thrum_task_resolve(thrum_task_createf(THRUM_KIND_PROMISE, "witness %s", argv[1]));
	thrum_stop();
	return 0;
}
