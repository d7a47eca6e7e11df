/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: For packages whose file is in the cache already (each third one) mirror_package returns the result of
 *     the verification at once, without the step "publish". So they are missing in the index of the mirror.
 *   culprit: publish|on_cached|cached
 *   victim: fetch|index
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A mirror of packages: fetches, verifies and publishes each, and writes the index at the end. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define PACKAGES 30
#define CONNECTIONS 4

struct package {
	int number;
	bool cached;
	bool published;
};

static bool broken;
static struct package packages[PACKAGES];
static struct thrum_semaphore *connections;

static struct thrum_promise *step(struct thrum_loop *loop, const char *name,
	const struct package *package, int ms)
{
	return thrum_promise_labelf(thrum_sleep(loop, (uint64_t)ms), "%s %d", name,
		package->number);
}

static struct thrum_promise *on_published(struct thrum_loop *loop, void *value, void *data)
{
	struct package *package = data;

	(void)value;
	package->published = true;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *publish(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(step(loop, "publish", data, 3), on_published, data, NULL);
}

static struct thrum_promise *verify(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return step(loop, "verify", data, 2);
}

static struct thrum_promise *fetch(struct thrum_loop *loop, void *data)
{
	return step(loop, "fetch", data, 6);
}

/* The file is there; it need not be fetched. */
static struct thrum_promise *on_cached(struct thrum_loop *loop, struct package *package)
{
	struct thrum_promise *verified = verify(loop, NULL, package);

	if (broken)
		return verified;
	return thrum_promise_bind(verified, publish, package, NULL);
}

static struct thrum_promise *mirror_package(struct thrum_loop *loop, struct package *package)
{
	struct thrum_promise *work;

	if (package->cached) {
		work = on_cached(loop, package);
	} else {
		work = thrum_semaphore_with(connections, fetch, package, NULL);
		work = thrum_promise_bind(work, verify, package, NULL);
		work = thrum_promise_bind(work, publish, package, NULL);
	}
	return thrum_promise_labelf(work, "package %d", package->number);
}

static struct thrum_promise *write_index(struct thrum_loop *loop, void *value, void *data)
{
	int count = 0;

	(void)value;
	(void)data;
	for (int i = 0; i < PACKAGES; i++)
		count += packages[i].published;
	printf("index of %d packages\n", count);
	return thrum_promise_label(thrum_sleep(loop, 2), "index");
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[PACKAGES], *sync;
	struct thrum_loop *loop;
	int result;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	connections = thrum_semaphore_create(loop, "connections", CONNECTIONS);
	for (int i = 0; i < PACKAGES; i++) {
		packages[i].number = i + 1;
		packages[i].cached = i % 3 == 2;
		all[i] = mirror_package(loop, &packages[i]);
	}
	sync = thrum_promise_bind(thrum_promise_join(loop, all, PACKAGES), write_index, NULL, NULL);
	result = thrum_promise_run(thrum_promise_should_resolve(thrum_promise_label(sync, "sync")));
	thrum_stop();
	thrum_semaphore_destroy(connections);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	uv_loop_close(uv_default_loop());
	return result ? 1 : 0;
}
