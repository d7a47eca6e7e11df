/* SPDX-License-Identifier: ISC */
/*
 * After libuv/libuv, issues #28 and #660.
 *
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=page-#
 *   truth: The files of the pages are read by libuv's pool of four threads. resolve_host runs in the same pool, and when
 *     the network is poor, four lookups of 150 ms each take all its threads. So the slow pages wait for a thread
 *     of the pool behind the lookups; reading the file itself takes no time.
 *   culprit: lookup|resolve_host|getaddrinfo
 *   victim: monitor
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A web server with static pages, which is also a proxy: for that it looks up the names of other hosts. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <unistd.h>
#include <uv.h>

#define PAGES 40
#define LOOKUPS 16
#define POOL 4

struct host {
	int number;
	unsigned ms; /* for which its name server takes */
};

static struct thrum_semaphore *lookups; /* so that the pool always has a thread for files */
static bool limits;
static char file[] = "/tmp/staticfsXXXXXX";
static unsigned long bytes;
static unsigned resolved, looks;
static bool ended;

/* In a thread of the pool: asks the name server and waits for the answer. */
static int resolve_host(void *data, struct thrum_value *result)
{
	const struct host *host = data;

	thrum_suspend(THRUM_BLOCKED_OUTSIDE);
	usleep(host->ms * 1000);
	thrum_resume();
	*result = thrum_value_int(host->number);
	return 0;
}

static struct thrum_value on_resolved(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop, (void)value, (void)data;
	resolved++;
	return thrum_value_none();
}

static struct thrum_promise *lookup(struct thrum_loop *loop, void *data)
{
	return thrum_work(loop, "lookup", resolve_host, data, NULL);
}

static struct thrum_promise *proxy(struct thrum_loop *loop, void *value, void *data)
{
	struct host *host = data;
	struct thrum_promise *done;

	(void)value;
	done = limits ? thrum_semaphore_with(lookups, lookup, host, NULL) : lookup(loop, host);
	return thrum_promise_labelf(thrum_promise_map(done, on_resolved, host, NULL), "proxy-%d",
		host->number);
}

static struct thrum_value on_content(struct thrum_loop *loop, void *value, void *data)
{
	const struct thrum_bytes *content = value;

	(void)loop, (void)data;
	bytes += content->size;
	return thrum_value_none();
}

static struct thrum_promise *page(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *done = thrum_promise_map(thrum_file_load(loop, file), on_content,
		NULL, NULL);

	(void)value;
	return thrum_promise_should_resolve(
		thrum_promise_labelf(done, "page-%d", (int)(intptr_t)data));
}

/* Looks at the counters now and then. */
static struct thrum_promise *monitor(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (ended)
		return thrum_promise_return(loop, thrum_value_none());
	looks++;
	return thrum_promise_bind(thrum_sleep(loop, 30), monitor, data, NULL);
}

static struct thrum_promise *begin_monitor(struct thrum_loop *loop, void *data)
{
	return monitor(loop, NULL, data);
}

int main(int argc, char **argv)
{
	static struct thrum_promise *promises[PAGES + LOOKUPS];
	static struct host hosts[LOOKUPS];
	static char content[20000];
	struct thrum_loop *loop;
	int error, fd;

	if (argc < 2)
		return 2;
	limits = !strcmp(argv[1], "healthy");
	fd = mkstemp(file);
	memset(content, 'x', sizeof(content));
	if (fd < 0 || write(fd, content, sizeof(content)) != (ssize_t)sizeof(content))
		return 2;
	close(fd);
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 2;
	lookups = thrum_semaphore_create(loop, "lookups", POOL - 1);
	thrum_promise_async(loop, "monitor", begin_monitor, NULL, NULL);
	for (int i = 0; i < PAGES; i++)
		promises[i] = thrum_promise_bind(thrum_sleep(loop, (uint64_t)(5 + 20 * i)), page,
			(void *)(intptr_t)(i + 1), NULL);
	/* The name servers answer quickly at first; the last four are asked at once, and are slow. */
	for (int i = 0; i < LOOKUPS; i++) {
		bool is_late = i >= LOOKUPS - POOL;

		hosts[i].number = i + 1;
		hosts[i].ms = is_late ? 150 : 3;
		promises[PAGES + i] = thrum_promise_bind(thrum_sleep(loop,
								 (uint64_t)(is_late ? 500
										    : 12 + 40 * i)),
			proxy, &hosts[i], NULL);
	}
	error = thrum_promise_run(thrum_promise_join(loop, promises, PAGES + LOOKUPS));
	ended = true;
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	printf("%lu bytes, %u lookups, %u looks: %s\n", bytes, resolved, looks,
		thrum_promise_error_message(error));
	thrum_stop();
	thrum_semaphore_destroy(lookups);
	thrum_loop_destroy(loop);
	unlink(file);
	return 0;
}
