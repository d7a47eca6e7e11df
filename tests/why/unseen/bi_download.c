/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: all downloads share one promise for the mirror list, which is ended by on_mirrors, the
 *     callback of the task "fetch mirrors". The user gives up download 1, which started that fetch, so
 *     "fetch mirrors" is cancelled, on_mirrors never runs, and nobody ends the list for which the other
 *     downloads wait.
 *   culprit: fetch mirrors|user gives up
 *   victim: download ([2-9]|\d\d)\b
 * case: healthy
 *   args: healthy
 *   run: self kill 2500
 *   ask: why
 *   culprit: nothing
 */
/* A download manager. The first download asks for the list of mirrors, and all others share it for a while. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define SEGMENTS 3

struct download {
	int number, left;
};

static struct thrum_loop *loop;
static struct thrum_semaphore *connections;
static struct thrum_promise *mirrors; /* the shared list; NULL if there is none */
static struct thrum_resolver *mirrors_end;
static struct thrum_promise *mirrors_fetch; /* ours, to stop it */
static bool keep_fetch;
static int next_number = 1, finished, mirror_age;

static struct thrum_value on_mirrors(struct thrum_loop *l, void *value, void *data)
{
	(void)l;
	(void)value;
	(void)data;
	thrum_resolver_resolve(mirrors_end, thrum_value_static("mirror-a mirror-b"));
	return thrum_value_none();
}

static void mirrors_start(void)
{
	struct thrum_promise *answer;

	mirrors = thrum_promise_wait(loop, "mirror list", &mirrors_end);
	answer = thrum_promise_map(thrum_promise_label(thrum_sleep(loop, 120),
					   "answer of the index"),
		on_mirrors, NULL, NULL);
	answer = thrum_promise_label(answer, "fetch mirrors");
	thrum_task_wait(thrum_promise_task_id(mirrors), thrum_promise_task_id(answer));
	if (mirrors_fetch)
		thrum_promise_unref(mirrors_fetch);
	mirrors_fetch = answer;
	mirror_age = 0;
}

/* The list is asked for anew after a number of downloads. */
static struct thrum_promise *mirrors_get(void)
{
	if (!mirrors ||
		(thrum_promise_state(mirrors) != THRUM_PROMISE_PENDING && ++mirror_age > 40)) {
		if (mirrors)
			thrum_promise_unref(mirrors);
		mirrors_start();
	}
	return thrum_promise_protected(thrum_promise_ref(mirrors));
}

static struct thrum_promise *segment_load(struct thrum_loop *l, void *data)
{
	struct download *download = data;

	return thrum_promise_labelf(thrum_sleep(l, (uint64_t)(8 + download->number % 5)),
		"bytes for %d", download->number);
}

static struct thrum_promise *next_segment(struct thrum_loop *l, void *value, void *data)
{
	struct download *download = data;
	struct thrum_promise *loaded;

	(void)value;
	if (download->left == 0) {
		finished++;
		free(download);
		return thrum_promise_return(l, thrum_value_none());
	}
	download->left--;
	loaded = thrum_semaphore_with(connections, segment_load, download, NULL);
	return thrum_promise_bind(loaded, next_segment, download, NULL);
}

static struct thrum_promise *download_start(void)
{
	struct download *download = calloc(1, sizeof(*download));
	struct thrum_promise *all;

	if (!download)
		abort();
	download->number = next_number++;
	download->left = SEGMENTS;
	all = thrum_promise_bind(mirrors_get(), next_segment, download, NULL);
	return thrum_promise_should_resolve(
		thrum_promise_labelf(all, "download %d", download->number));
}

/* A download that the user gives up takes along what it has started. */
static struct thrum_promise *give_up(struct thrum_loop *l, void *value, void *data)
{
	struct thrum_promise *first = data;

	(void)value;
	thrum_promise_cancel(first);
	thrum_promise_unref(first);
	if (!keep_fetch)
		thrum_promise_cancel(mirrors_fetch);
	return thrum_promise_return(l, thrum_value_none());
}

static struct thrum_promise *add_more(struct thrum_loop *l, void *value, void *data)
{
	static int turns;

	(void)value;
	(void)data;
	if (finished > 0 || next_number < 20)
		thrum_promise_ignore_result(download_start());
	if (++turns % 30 == 0) {
		printf("%d of %d finished\n", finished, next_number - 1);
		fflush(stdout);
	}
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(l, 20), "pause"), add_more, NULL,
		NULL);
}

int main(int argc, char **argv)
{
	uv_loop_t *uv = uv_default_loop();
	struct thrum_promise *first, *user;

	keep_fetch = !(argc > 1 && !strcmp(argv[1], "broken"));
	if (thrum_loop_create(uv, &loop))
		return 1;
	connections = thrum_semaphore_create(loop, "connections", 4);
	first = download_start();
	thrum_promise_ignore_result(thrum_promise_ref(first));
	user = thrum_promise_bind(thrum_sleep(loop, 50), give_up, first, NULL);
	thrum_promise_ignore_result(thrum_promise_label(user, "user gives up"));
	thrum_promise_ignore_result(add_more(loop, NULL, NULL));
	return uv_run(uv, UV_RUN_DEFAULT);
}
