/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The store stage ends at the first package that it can't verify. It should have skipped that
 *          one or closed the pipeline; nobody reads the stream "checked" any more, and it stays full.
 *   culprit: store stage|store_failed|store_next|store_one
 *   victim: checked|fetched|check stage|fetch stage|mirror
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A mirror of a package archive: three stages fetch, check and store packages, with streams between. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <unistd.h>
#include <uv.h>

enum {
	PACKAGES = 40,
	BAD_PACKAGE = 9
};

struct package {
	int number;
	bool verified;
	char content[256];
};

static struct mirror {
	struct thrum_loop *loop;
	struct thrum_stream *fetched, *checked;
	int requested, stored, skipped;
	bool skip_bad, finished;
} mirror;

/* ---- The first stage fetches ---- */

static struct thrum_promise *fetch_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *fetch_one(struct thrum_loop *loop, void *value, void *data)
{
	struct package *package = calloc(1, sizeof(*package));

	(void)loop, (void)value, (void)data;
	package->number = mirror.requested++;
	memset(package->content, package->number, sizeof(package->content));
	return thrum_promise_bind(thrum_stream_push(mirror.fetched, thrum_value_own(package, free)),
		fetch_next, NULL, NULL);
}

static struct thrum_promise *fetch_next(struct thrum_loop *loop, void *value, void *data)
{
	(void)value, (void)data;
	if (mirror.requested == PACKAGES) {
		thrum_stream_close(mirror.fetched);
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_promise_bind(thrum_sleep(loop, 2), fetch_one, NULL, NULL); /* the network */
}

/* ---- The second stage checks ---- */

static int hash_content(void *data, struct thrum_value *result)
{
	struct package *package = data;
	unsigned hash = 5381;

	for (int round = 0; round < 2000; round++)
		for (size_t i = 0; i < sizeof(package->content); i++)
			hash = hash * 33 ^ (unsigned char)package->content[i];
	package->verified = package->number != BAD_PACKAGE && hash != 0;
	*result = thrum_value_own(package, free);
	return 0;
}

static struct thrum_promise *check_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *push_checked(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_value package;

	(void)value, (void)data;
	if (!thrum_loop_take(loop, &package))
		return thrum_promise_fail(loop, EBUSY, "the package is in use");
	return thrum_promise_bind(thrum_stream_push(mirror.checked, package), check_next, NULL,
		NULL);
}

static struct thrum_promise *check_one(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_value package;

	(void)data;
	if (!value) {
		thrum_stream_close(mirror.checked);
		return thrum_promise_return(loop, thrum_value_none());
	}
	if (!thrum_loop_take(loop, &package))
		return thrum_promise_fail(loop, EBUSY, "the package is in use");
	return thrum_promise_bind(thrum_work(loop, "sha256", hash_content, package.data, NULL),
		push_checked, NULL, NULL);
}

static struct thrum_promise *check_next(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop, (void)value, (void)data;
	return thrum_promise_bind(thrum_stream_next(mirror.fetched), check_one, NULL, NULL);
}

/* ---- The third stage stores ---- */

static struct thrum_promise *store_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *store_one(struct thrum_loop *loop, void *value, void *data)
{
	const struct package *package = value;

	(void)data;
	if (!package)
		return thrum_promise_return(loop, thrum_value_none());
	if (!package->verified && mirror.skip_bad) {
		mirror.skipped++;
		return store_next(loop, NULL, NULL);
	}
	if (!package->verified)
		return thrum_promise_fail(loop, EBADMSG, "package %d: wrong hash", package->number);
	mirror.stored++;
	return thrum_promise_bind(thrum_sleep(loop, 3), store_next, NULL, NULL); /* the disk */
}

static struct thrum_promise *store_next(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop, (void)value, (void)data;
	return thrum_promise_bind(thrum_stream_next(mirror.checked), store_one, NULL, NULL);
}

static struct thrum_promise *store_failed(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	(void)data;
	fprintf(stderr, "mirror: %s\n", failure->message);
	return thrum_promise_return(loop, thrum_value_none());
}

/* ---- The progress line ---- */

static struct thrum_promise *show_progress(struct thrum_loop *loop, void *value, void *data)
{
	(void)value, (void)data;
	if (mirror.finished)
		return thrum_promise_return(loop, thrum_value_none());
	printf("%d of %d\n", mirror.stored, PACKAGES);
	return thrum_promise_bind(thrum_sleep(loop, 50), show_progress, NULL, NULL);
}

static struct thrum_promise *begin_progress(struct thrum_loop *loop, void *data)
{
	return show_progress(loop, NULL, data);
}

int main(int argc, char **argv)
{
	struct thrum_promise *stages[3];
	uv_loop_t uv;
	int error;

	mirror.skip_bad = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &mirror.loop))
		return 1;
	mirror.fetched = thrum_stream_create(mirror.loop, "fetched", 4);
	mirror.checked = thrum_stream_create(mirror.loop, "checked", 2);
	thrum_promise_async(mirror.loop, "progress", begin_progress, NULL, NULL);
	stages[0] = thrum_promise_label(fetch_next(mirror.loop, NULL, NULL), "fetch stage");
	stages[1] = thrum_promise_label(check_next(mirror.loop, NULL, NULL), "check stage");
	stages[2] = thrum_promise_label(store_next(mirror.loop, NULL, NULL), "store stage");
	stages[2] = thrum_promise_catch(stages[2], store_failed, NULL, NULL);
	error = thrum_promise_run(thrum_promise_should_resolve(
		thrum_promise_label(thrum_promise_join(mirror.loop, stages, 3), "mirror")));
	mirror.finished = true;
	thrum_stop();
	printf("stored %d, skipped %d\n", mirror.stored, mirror.skipped);
	return error ? 1 : 0;
}
