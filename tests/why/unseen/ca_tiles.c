/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 3500
 *   ask: why
 *   truth: Painters of both kinds wait for one condition, "work", and add_job signals one of them. When a tile
 *     follows a tile, the signal goes to the label painter, which has waited longer, finds no label to paint and
 *     waits again; the tile painter is never woken.
 *   culprit: label painter|add_job
 *   victim: map 7|tile painter|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A painter of maps on promises. One painter paints tiles, another one labels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define MAPS 9
#define QUEUE 8

enum kind {
	TILE,
	LABEL,
	KINDS
};

struct job {
	enum kind kind;
	struct thrum_resolver *painted;
};

struct painter {
	enum kind kind;
	const char *name;
	unsigned painted;
};

struct map {
	unsigned number;
	const char *plan; /* t: a tile, l: a label */
};

static bool one;
static struct thrum_loop *loop;
static struct thrum_condition *work;
static struct job *queue[KINDS][QUEUE];
static unsigned queued[KINDS];
static struct painter painters[KINDS] = {{TILE, "tile painter", 0}, {LABEL, "label painter", 0}};
static struct map maps[MAPS];
static unsigned expiries;

static struct thrum_promise *paint_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *add_job(enum kind kind)
{
	struct job *job = malloc(sizeof(*job));
	struct thrum_promise *promise;

	if (!job || queued[kind] == QUEUE)
		abort();
	job->kind = kind;
	promise = thrum_promise_task(loop, kind == TILE ? "tile" : "label", &job->painted);
	queue[kind][queued[kind]++] = job;
	if (one)
		thrum_condition_signal(work, thrum_value_none());
	else
		thrum_condition_broadcast(work, thrum_value_none());
	return promise;
}

static struct job *take_job(enum kind kind)
{
	struct job *job;

	if (!queued[kind])
		return NULL;
	job = queue[kind][0];
	queued[kind]--;
	memmove(&queue[kind][0], &queue[kind][1], queued[kind] * sizeof(queue[kind][0]));
	return job;
}

static struct thrum_promise *end_job(struct thrum_loop *loop, void *value, void *data)
{
	struct job *job = data;
	struct thrum_resolver *painted = job->painted;

	painters[job->kind].painted++;
	(void)value;
	free(job);
	thrum_resolver_resolve(painted, thrum_value_none());
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *paint_next(struct thrum_loop *loop, void *value, void *data)
{
	struct painter *painter = data;
	struct job *job = take_job(painter->kind);

	(void)value;
	if (!job)
		return thrum_promise_bind(thrum_condition_wait(work, NULL), paint_next, painter,
			NULL);
	return thrum_promise_bind(thrum_promise_bind(thrum_sleep(loop,
							     painter->kind == TILE ? 9 : 4),
					  end_job, job, NULL),
		paint_next, painter, NULL);
}

static struct thrum_promise *draw_rest(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *lay_out(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 3), draw_rest, data, NULL);
}

/* Draws what is left of the map's plan, from the bottom to the top. */
static struct thrum_promise *draw_rest(struct thrum_loop *loop, void *value, void *data)
{
	struct map *map = data;
	char layer = *map->plan;

	(void)value;
	if (!layer)
		return thrum_promise_return(loop, thrum_value_none());
	map->plan++;
	return thrum_promise_bind(add_job(layer == 't' ? TILE : LABEL), lay_out, map, NULL);
}

static struct thrum_promise *draw_maps(struct thrum_loop *loop, void *value, void *data)
{
	unsigned index = (unsigned)thrum_int(data);
	struct thrum_promise *drawn;
	struct map *map;

	(void)value;
	if (index == MAPS)
		return thrum_promise_return(loop, thrum_value_none());
	map = &maps[index];
	map->number = index + 1;
	/* The seventh map shows the sea, where nothing is labelled at first. */
	map->plan = map->number == 7 ? "ttl" : "tltl";
	drawn = thrum_promise_bind(thrum_sleep(loop, 10), draw_rest, map, NULL);
	thrum_promise_labelf(drawn, "map %u", map->number);
	return thrum_promise_bind(drawn, draw_maps, (void *)(intptr_t)(index + 1), NULL);
}

static void expire_cache(uv_timer_t *timer)
{
	(void)timer;
	expiries++;
}

int main(int argc, char **argv)
{
	uv_loop_t *uv = uv_default_loop();
	struct thrum_promise *promise;
	uv_timer_t timer;
	int result;

	one = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (thrum_loop_create(uv, &loop))
		return 1;
	uv_timer_init(uv, &timer);
	uv_timer_start(&timer, expire_cache, 150, 150);
	work = thrum_condition_create(loop, "work");
	for (int i = 0; i < KINDS; i++) {
		promise = paint_next(loop, NULL, &painters[i]);
		thrum_promise_ignore_result(thrum_promise_label(promise, painters[i].name));
	}
	promise = thrum_promise_label(draw_maps(loop, NULL, NULL), "main");
	result = thrum_promise_run(thrum_promise_should_resolve(promise));
	thrum_stop();
	printf("%d: %u tiles, %u labels\n", result, painters[TILE].painted,
		painters[LABEL].painted);
	uv_close((uv_handle_t *)&timer, NULL);
	thrum_condition_destroy(work);
	thrum_loop_destroy(loop);
	uv_run(uv, UV_RUN_DEFAULT);
	return 0;
}
