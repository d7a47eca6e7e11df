/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=search
 *   truth: The slow search waits for the lock "index", which "suggest" has. That waits for a place of "disk", and both
 *     places are held by the two parts of the scrub ("scrub left", "scrub right") for more than half a second.
 *   culprit: scrub
 *   victim: search|suggest
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A search service on promises: searches and suggestions use an index, and the index a disk, which reads two things at
 * a time. Now and then the disk is scrubbed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define SEARCHES 45
#define SCRUB_AFTER 10
#define SUGGESTIONS 120
#define TURN 20 /* blocks that are scrubbed at a time */

struct scrub {
	const char *name;
	unsigned blocks;
};

static bool at_once;
static struct thrum_loop *loop;
static struct thrum_mutex *index_lock;
static struct thrum_semaphore *disk;
static unsigned scrubbed, refreshes;

static struct thrum_promise *read_disk(struct thrum_loop *loop, void *data)
{
	return thrum_sleep(loop, (uint64_t)thrum_int(data));
}

static struct thrum_promise *read_index(struct thrum_loop *loop, void *data)
{
	(void)loop;
	return thrum_semaphore_with(disk, read_disk, data, NULL);
}

static struct thrum_promise *look_up(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_mutex_with(index_lock, read_index, data, NULL);
}

/* Parses a question, and reads the index for so many milliseconds. */
static struct thrum_promise *ask(const char *label, unsigned ms)
{
	struct thrum_promise *parsed = thrum_sleep(loop, 1);

	return thrum_promise_label(thrum_promise_bind(parsed, look_up, (void *)(intptr_t)ms, NULL),
		label);
}

static struct thrum_promise *scrub_rest(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *scrub_blocks(struct thrum_loop *loop, void *data)
{
	struct scrub *scrub = data;
	unsigned blocks = at_once || scrub->blocks < TURN ? scrub->blocks : TURN;

	scrub->blocks -= blocks;
	scrubbed += blocks;
	return thrum_sleep(loop, blocks * 2);
}

static struct thrum_promise *make_way(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 4), scrub_rest, data, NULL);
}

/* Scrubs all blocks that are left. Others may read between two turns. */
static struct thrum_promise *scrub_rest(struct thrum_loop *loop, void *value, void *data)
{
	struct scrub *scrub = data;

	(void)value;
	if (!scrub->blocks)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_semaphore_with(disk, scrub_blocks, scrub, NULL), make_way,
		scrub, NULL);
}

static struct thrum_promise *begin_scrub(struct thrum_loop *loop, void *data)
{
	static struct scrub scrubs[2] = {{"scrub left", 310}, {"scrub right", 290}};
	struct thrum_promise *parts[2];

	(void)data;
	for (int i = 0; i < 2; i++)
		parts[i] = thrum_promise_label(scrub_rest(loop, NULL, &scrubs[i]), scrubs[i].name);
	return thrum_promise_join(loop, parts, 2);
}

static struct thrum_promise *search(struct thrum_loop *loop, void *value, void *data);

/* After some searches it is time to scrub the disk. */
static struct thrum_promise *search_next(struct thrum_loop *loop, void *value, void *data)
{
	intptr_t number = thrum_int(data);

	(void)value;
	if (number == SEARCHES)
		return thrum_promise_return(loop, thrum_value_none());
	if (number == SCRUB_AFTER)
		thrum_promise_async(loop, "scrub", begin_scrub, NULL, NULL);
	return thrum_promise_bind(thrum_sleep(loop, 30), search, (void *)(number + 1), NULL);
}

static struct thrum_promise *search(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_promise_bind(ask("search", 3), search_next, data, NULL);
}

static struct thrum_promise *suggest(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *suggest_next(struct thrum_loop *loop, void *value, void *data)
{
	intptr_t number = thrum_int(data);

	(void)value;
	if (number == SUGGESTIONS)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 6), suggest, (void *)(number + 1), NULL);
}

static struct thrum_promise *suggest(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_promise_bind(ask("suggest", 2), suggest_next, data, NULL);
}

static void refresh(uv_timer_t *timer)
{
	(void)timer;
	refreshes++;
}

int main(int argc, char **argv)
{
	uv_loop_t *uv = uv_default_loop();
	struct thrum_promise *all[2];
	uv_timer_t timer;
	int result;

	at_once = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (thrum_loop_create(uv, &loop))
		return 1;
	uv_timer_init(uv, &timer);
	uv_timer_start(&timer, refresh, 50, 50);
	index_lock = thrum_mutex_create(loop, "index");
	disk = thrum_semaphore_create(loop, "disk", 2);
	all[0] = thrum_promise_label(search_next(loop, NULL, NULL), "searcher");
	all[1] = thrum_promise_label(suggest_next(loop, NULL, NULL), "suggester");
	result = thrum_promise_run(thrum_promise_should_resolve(thrum_promise_join(loop, all, 2)));
	thrum_stop();
	printf("%d: %u blocks\n", result, scrubbed);
	uv_close((uv_handle_t *)&timer, NULL);
	thrum_mutex_destroy(index_lock);
	thrum_semaphore_destroy(disk);
	thrum_loop_destroy(loop);
	uv_run(uv, UV_RUN_DEFAULT);
	return 0;
}
