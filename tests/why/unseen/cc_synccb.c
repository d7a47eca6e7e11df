/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: tile_load calls its callback at once if the tile is in the cache. So on_loaded signals "tile ready" before draw_tile begins to wait for it, and draw_tile, which doesn't look whether the tile is there already, waits for ever.
 *   culprit: tile ready|on_loaded|tile_load|draw_tile
 *   victim: show map|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "thrum.h"

/* A map: tiles come from a cache or from the loader's thread. */

#define TILES 32

struct request {
	int tile;
	bool loaded;
	void (*callback)(struct request *);
	struct request *next;
};

static bool broken;
static pthread_mutex_t tiles_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t tile_ready = PTHREAD_COND_INITIALIZER;
static pthread_cond_t loader_work = PTHREAD_COND_INITIALIZER;
static thrum_task ready_task;
static unsigned ready_waiters;
static bool cached[TILES], closing;
static struct request *first;

/* Called with tiles_lock held. */
static void on_loaded(struct request *request)
{
	request->loaded = true;
	thrum_task_signal(ready_task, ready_waiters);
	if (ready_waiters > 0)
		ready_waiters--;
	pthread_cond_signal(&tile_ready);
}

/* Calls the callback when the tile is there. The caller holds tiles_lock. */
static void tile_load(struct request *request)
{
	if (cached[request->tile]) {
		request->callback(request);
		return;
	}
	request->next = first;
	first = request;
	pthread_cond_signal(&loader_work);
}

static void *load_tiles(void *unused)
{
	struct request *request;

	(void)unused;
	thrum_lane_name("tile loader");
	pthread_mutex_lock(&tiles_lock);
	for (;;) {
		while (!first && !closing)
			pthread_cond_wait(&loader_work, &tiles_lock);
		if (!first)
			break;
		request = first;
		first = request->next;
		pthread_mutex_unlock(&tiles_lock);
		usleep(3000);
		pthread_mutex_lock(&tiles_lock);
		cached[request->tile] = true;
		request->callback(request);
	}
	pthread_mutex_unlock(&tiles_lock);
	return NULL;
}

/* The caller holds tiles_lock. */
static void wait_ready(void)
{
	thrum_task self = thrum_task_current();

	ready_waiters++;
	thrum_task_wait(self, ready_task);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_cond_wait(&tile_ready, &tiles_lock);
	thrum_resume();
	thrum_task_read(self, ready_task);
}

static void draw_tile(int tile)
{
	struct request request = {.tile = tile, .callback = on_loaded};

	pthread_mutex_lock(&tiles_lock);
	tile_load(&request);
	if (broken) {
		wait_ready();
	} else {
		while (!request.loaded)
			wait_ready();
	}
	pthread_mutex_unlock(&tiles_lock);
}

/* Draws four tiles from the given one on. */
static void show_map(const char *place, int from)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "show map of %s", place);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		for (int i = 0; i < 4; i++)
			draw_tile((from + i) % TILES);
		thrum_task_resolve(task);
	}
	printf("map of %s\n", place);
}

int main(int argc, char **argv)
{
	pthread_t loader;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	ready_task = thrum_task_create(THRUM_KIND_CONDITION, "tile ready");
	pthread_create(&loader, NULL, load_tiles, NULL);
	show_map("Lodz", 0);
	show_map("Leeds", 8);
	show_map("Bradford", 11); /* its first tile was shown with Leeds */
	show_map("Lyon", 20);
	pthread_mutex_lock(&tiles_lock);
	closing = true;
	pthread_cond_signal(&loader_work);
	pthread_mutex_unlock(&tiles_lock);
	pthread_join(loader, NULL);
	return 0;
}
