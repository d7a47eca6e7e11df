/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=read file
 *   truth: A "read file" waits for a thread of the pool, because four slow "lookup host" occupy all its threads for 300 ms.
 *   culprit: lookup host|lookup_host
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about node: dns.lookup blocks filesystem I/O, because slow getaddrinfo calls occupy the four threads
 * of libuv's pool.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <unistd.h>
#include <uv.h>

enum {
	LOOKUPS = 4,
	READS = 12
};

static struct thrum_loop *loop;
static unsigned answered;

/* Stands for getaddrinfo with a name server that doesn't answer at once. */
static int lookup_host(void *data, struct thrum_value *result)
{
	(void)data;
	(void)result;
	usleep(300 * 1000);
	return 0;
}

static int read_file(void *data, struct thrum_value *result)
{
	(void)data;
	(void)result;
	usleep(2000);
	return 0;
}

static struct thrum_promise *send_file(struct thrum_loop *in, void *value, void *data)
{
	(void)value;
	(void)data;
	answered++;
	return thrum_promise_return(in, thrum_value_none());
}

/* Serves a static file. */
static struct thrum_promise *serve(struct thrum_loop *in, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_promise_bind(thrum_work(in, "read file", read_file, NULL, NULL), send_file,
		NULL, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[LOOKUPS + READS];
	int count = 0, lookups, error;

	setenv("UV_THREADPOOL_SIZE", "4", 1);
	/* The healthy server limits the lookups that are under way. */
	lookups = argc > 1 && !strcmp(argv[1], "broken") ? LOOKUPS : 2;
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	for (int i = 0; i < READS / 2; i++)
		all[count++] = thrum_promise_bind(thrum_sleep(loop, 10 * (uint64_t)i), serve, NULL,
			NULL);
	error = thrum_promise_run(thrum_promise_join(loop, all, (size_t)count));
	count = 0;
	for (int i = 0; i < lookups; i++)
		all[count++] = thrum_work(loop, "lookup host", lookup_host, NULL, NULL);
	for (int i = 0; i < READS / 2; i++)
		all[count++] = thrum_promise_bind(thrum_sleep(loop, 10 * (uint64_t)(i + 1)), serve,
			NULL, NULL);
	if (!error)
		error = thrum_promise_run(thrum_promise_join(loop, all, (size_t)count));
	printf("%u files, %s\n", answered, thrum_promise_error_message(error));
	return error != 0;
}
