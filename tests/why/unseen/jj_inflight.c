/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The decoding of cover-17 fails, and maker_failed only counts that. It should have ended the cache
 *     entry that is in progress, for which later pages wait.
 *   culprit: cover-17|cache_begin|maker_failed
 *   victim: page /albums|site
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <unistd.h>
#include <uv.h>

#define ENTRIES 32
#define PAGES 10
#define IMAGES 4

/* A thumbnail: in progress while it has a resolver. */
struct entry {
	char name[16];
	bool gone;
	struct thrum_promise *promise;
	struct thrum_resolver *resolver;
};

static struct entry entries[ENTRIES];
static int entry_count, errors, placeholders, sweeps;
static bool broken;

/* Runs in the thread pool. */
static int decode(void *data, struct thrum_value *result)
{
	struct entry *entry = data;

	usleep(2000);
	if (!strcmp(entry->name, "cover-17"))
		return 71; /* a truncated JPEG */
	*result = thrum_value_static(entry->name);
	return 0;
}

static struct thrum_promise *decode_file(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_work(loop, "decode", decode, data, NULL);
}

static void maker_done(struct thrum_loop *loop, void *thumbnail, void *data)
{
	struct entry *entry = data;

	(void)loop;
	thrum_resolver_resolve(entry->resolver, thrum_value_static(thumbnail));
	entry->resolver = NULL;
}

static void maker_failed(struct thrum_loop *loop, const struct thrum_failure *failure, void *data)
{
	struct entry *entry = data;

	(void)loop;
	errors++;
	if (broken)
		return;
	entry->gone = true;
	thrum_resolver_fail_again(entry->resolver, failure);
}

static struct entry *cache_find(const char *name)
{
	for (int i = 0; i < entry_count; i++)
		if (!entries[i].gone && !strcmp(entries[i].name, name))
			return &entries[i];
	return NULL;
}

/* The first one who asks makes the thumbnail, and shares it. */
static struct thrum_promise *cache_begin(struct thrum_loop *loop, const char *name)
{
	struct entry *entry = &entries[entry_count++];
	struct thrum_promise *made;

	snprintf(entry->name, sizeof(entry->name), "%s", name);
	entry->promise = thrum_promise_wait(loop, NULL, &entry->resolver);
	thrum_promise_labelf(entry->promise, "thumbnail %s", name);
	made = thrum_promise_bind(thrum_sleep(loop, 3), decode_file, entry, NULL);
	thrum_promise_on_any(thrum_promise_ref(made), maker_done, maker_failed, entry, NULL);
	return made;
}

static struct thrum_promise *use_placeholder(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	(void)failure;
	(void)data;
	placeholders++;
	return thrum_promise_return(loop, thrum_value_static("placeholder"));
}

static struct thrum_promise *image(struct thrum_loop *loop, const char *name)
{
	struct entry *entry = cache_find(name);
	struct thrum_promise *thumbnail;

	thumbnail = entry ? thrum_promise_ref(entry->promise) : cache_begin(loop, name);
	return thrum_promise_catch(thumbnail, use_placeholder, NULL, NULL);
}

static struct thrum_promise *page(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *images[IMAGES];
	int number = (int)(intptr_t)data;

	(void)value;
	for (int i = 0; i < IMAGES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "cover-%d", 10 + (number * 3 + i * 2) % 14);
		images[i] = image(loop, name);
	}
	return thrum_promise_join(loop, images, IMAGES);
}

static struct thrum_promise *sweep(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	sweeps++;
	return thrum_promise_bind(thrum_sleep(loop, 15), sweep, data, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	struct thrum_promise *pages[PAGES];
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	thrum_promise_ignore_result(sweep(loop, NULL, NULL));
	for (int i = 0; i < PAGES; i++) {
		pages[i] = thrum_promise_bind(thrum_sleep(loop, 2 + i * 9), page,
			(void *)(intptr_t)i, NULL);
		thrum_promise_labelf(pages[i], "page /albums/%d", i);
		thrum_promise_should_resolve(pages[i]);
	}
	error = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(loop, pages, PAGES), "site"));
	printf("%d errors, %d placeholders, %d sweeps\n", errors, placeholders, sweeps);
	thrum_stop();
	return error ? 1 : 0;
}
