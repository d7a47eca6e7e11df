/* SPDX-License-Identifier: ISC */
/*
 * Does a request for each header `traceparent` among its arguments, each in a task of its own. A request
 * asks one other program in a task below it, and two in another one: the headers for these go to standard
 * output. Without any header it does one request.
 */
#include <stdio.h>
#include <thrum.h>
#include <thrum/traceparent.h>

static void ask(const char *name, const char *received, int times)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, name);

	THRUM_RUN (task) {
		for (int i = 0; i < times; i++) {
			char header[THRUM_TRACEPARENT_SIZE];

			thrum_traceparent_send(received, header);
			puts(header);
		}
	}
	thrum_task_resolve(task);
}

static void serve(const char *header, const char *name)
{
	thrum_task task = thrum_task_create(THRUM_KIND_REQUEST, name);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		if (header)
			(void)thrum_traceparent_receive(header);
		ask("one", header, 1);
		ask("two", header, 2);
	}
	thrum_task_resolve(task);
}

int main(int argc, char **argv)
{
	char name[32];

	if (argc < 3) {
		fprintf(stderr, "usage: traced FILE NAME [HEADER]...\n");
		return 2;
	}
	if (thrum_start(&(struct thrum_config){.file = argv[1]}) < 0)
		return 1;
	if (argc == 3)
		serve(NULL, argv[2]);
	for (int i = 3; i < argc; i++) {
		snprintf(name, sizeof name, "%.20s %d", argv[2], i - 3);
		serve(argv[i], name);
	}
	thrum_stop();
	return 0;
}
