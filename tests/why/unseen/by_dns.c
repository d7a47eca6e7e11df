/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: node issue #8436 ("dns.lookup blocks filesystem I/O") and libuv pull request #1845 ("limit concurrent DNS
 *     calls to nthreads/2"): all look-ups of names go to the thread pool at once and take its four threads. So a “page”, which
 *     only loads a file in the same pool, takes many times as long as in the healthy run, as its load waits in
 *     the queue behind “resolve host”.
 *   culprit: page
 *   victim: proxied
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A proxy that also serves files of its own. Names are resolved and files are loaded on libuv's thread pool. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <unistd.h>
#include <uv.h>

#define THREADS 4
#define WAVES 6
#define HOSTS 12 /* in each wave */
#define PAGES 8
#define MOST (WAVES * (HOSTS + PAGES))

static const char path[] = "/tmp/by_dns_page.html";
static struct thrum_semaphore *resolvers;
static unsigned relayed;
static unsigned loaded;
static size_t bytes;
static uint64_t slowest;

static struct thrum_promise *done(struct thrum_loop *loop)
{
	return thrum_promise_return(loop, thrum_value_none());
}

/* On a thread of the pool: a name server that isn't near. */
static int resolve_host(void *data, struct thrum_value *result)
{
	const unsigned *host = data;

	thrum_suspend(THRUM_BLOCKED_OUTSIDE);
	usleep(30000);
	thrum_resume();
	*result = thrum_value_int(0x0a000000 + *host);
	return 0;
}

static struct thrum_promise *begin_resolving(struct thrum_loop *loop, void *data)
{
	return thrum_work(loop, "resolve host", resolve_host, data, NULL);
}

static struct thrum_promise *relay(struct thrum_loop *loop, void *address, void *data)
{
	(void)data;
	if (thrum_int(address))
		relayed++;
	return thrum_promise_label(thrum_sleep(loop, 3), "relay");
}

static struct thrum_value log_request(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	return thrum_value_none();
}

static struct thrum_promise *begin_proxying(struct thrum_loop *loop, unsigned *host)
{
	struct thrum_promise *address = thrum_semaphore_with(resolvers, begin_resolving, host,
		NULL);
	struct thrum_promise *answer = thrum_promise_bind(address, relay, NULL, NULL);
	struct thrum_promise *promise = thrum_promise_map(answer, log_request, NULL, NULL);

	(void)loop;
	thrum_promise_label(promise, "proxied");
	return thrum_promise_should_resolve(promise);
}

static struct thrum_promise *send_page(struct thrum_loop *loop, void *value, void *data)
{
	const struct thrum_bytes *content = value;
	uint64_t took = uv_now(thrum_loop_uv(loop)) - *(uint64_t *)data;

	if (took > slowest)
		slowest = took;
	loaded++;
	bytes += content->size;
	return done(loop);
}

static struct thrum_promise *begin_page(struct thrum_loop *loop)
{
	uint64_t *begin = malloc(sizeof *begin);
	struct thrum_promise *promise;

	if (!begin)
		return NULL;
	*begin = uv_now(thrum_loop_uv(loop));
	promise = thrum_promise_bind(thrum_file_load(loop, path), send_page, begin, free);
	thrum_promise_label(promise, "page");
	return thrum_promise_should_resolve(promise);
}

struct traffic {
	unsigned wave;
	unsigned step;
	unsigned hosts[MOST];
	struct thrum_promise *requests[MOST];
	size_t count;
};

static struct thrum_promise *next_step(struct thrum_loop *loop, void *value, void *data)
{
	struct traffic *traffic = data;

	(void)value;
	if (traffic->step == 0) { /* a browser opens a page with much in it */
		for (unsigned i = 0; i < HOSTS; i++) {
			unsigned *host = &traffic->hosts[traffic->count];

			*host = i + 1;
			traffic->requests[traffic->count++] = begin_proxying(loop, host);
		}
	} else {
		traffic->requests[traffic->count++] = begin_page(loop);
	}
	if (++traffic->step > PAGES) {
		traffic->step = 0;
		if (++traffic->wave == WAVES)
			return thrum_promise_join(loop, traffic->requests, traffic->count);
		return thrum_promise_bind(thrum_sleep(loop, 150), next_step, traffic, NULL);
	}
	return thrum_promise_bind(thrum_sleep(loop, 5), next_step, traffic, NULL);
}

int main(int argc, char **argv)
{
	bool fair = argc > 1 && !strcmp(argv[1], "healthy");
	struct thrum_loop *loop;
	struct thrum_promise *all;
	static struct traffic traffic;
	FILE *file = fopen(path, "w");
	int result;

	if (!file)
		return 1;
	for (int i = 0; i < 200; i++)
		fputs("<p>Hello</p>\n", file);
	fclose(file);
	setenv("UV_THREADPOOL_SIZE", "4", 1);
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	resolvers = thrum_semaphore_create(loop, "resolvers", fair ? THREADS / 2 : 1000);
	all = thrum_promise_bind(thrum_sleep(loop, 10), next_step, &traffic, NULL);
	result = thrum_promise_run(thrum_promise_label(all, "traffic"));
	thrum_stop();
	printf("%d: %u relayed, %u pages, %zu bytes, slowest page %u ms\n", result, relayed, loaded,
		bytes, (unsigned)slowest);
	thrum_semaphore_destroy(resolvers);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return result != 0;
}
