/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: A worker that meets a cancelled job calls drop_cancelled and doesn't take itself out of the
 *     count of searchers. So submit_job thinks for ever that a worker is looking for jobs and wakes none.
 *   culprit: drop_cancelled|submit_job
 *   victim: wait_frame|render_frames
 *   clue: didn.t signal .condition tiles_to_draw
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A renderer: workers take tiles from their own deque or steal them. None is woken while one searches. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKERS 4
#define FRAMES 30
#define TILES 24

struct tile {
	int frame;
	bool cancelled; /* outside of the picture */
	struct tile *next;
};

static struct worker {
	pthread_t thread;
	pthread_mutex_t lock;
	struct tile *deque;
	int drawn, stolen;
} workers[WORKERS];

static bool balanced;
static atomic_int dropped, searchers; /* searchers will find new tiles by themselves */

static pthread_mutex_t park_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t tiles_to_draw = PTHREAD_COND_INITIALIZER;
static int parked, permits;
static bool stopping;

static pthread_mutex_t frame_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t frame_complete = PTHREAD_COND_INITIALIZER;
static int frame_left;

static struct tile *pop_tile(struct worker *worker)
{
	struct tile *tile;

	pthread_mutex_lock(&worker->lock);
	tile = worker->deque;
	if (tile)
		worker->deque = tile->next;
	pthread_mutex_unlock(&worker->lock);
	return tile;
}

static void submit_job(struct worker *worker, struct tile *tile)
{
	pthread_mutex_lock(&worker->lock);
	tile->next = worker->deque;
	worker->deque = tile;
	pthread_mutex_unlock(&worker->lock);
	if (atomic_load(&searchers) > 0)
		return;
	pthread_mutex_lock(&park_lock);
	if (parked > permits) {
		permits++;
		pthread_cond_signal(&tiles_to_draw);
	}
	pthread_mutex_unlock(&park_lock);
}

static void finish_tile(struct tile *tile)
{
	free(tile);
	pthread_mutex_lock(&frame_lock);
	if (--frame_left == 0)
		pthread_cond_signal(&frame_complete);
	pthread_mutex_unlock(&frame_lock);
}

static void drop_cancelled(struct tile *tile)
{
	atomic_fetch_add(&dropped, 1);
	if (balanced)
		atomic_fetch_sub(&searchers, 1);
	finish_tile(tile);
}

static struct tile *steal_tile(struct worker *thief)
{
	for (int i = 1; i <= WORKERS; i++) {
		struct tile *tile = pop_tile(&workers[(thief - workers + i) % WORKERS]);

		if (tile) {
			thief->stolen++;
			return tile;
		}
	}
	return NULL;
}

/* Returns false when the renderer stops. A tile may have come just before, so it looks once more. */
static bool park(void)
{
	bool left = false;

	pthread_mutex_lock(&park_lock);
	parked++;
	atomic_fetch_sub(&searchers, 1);
	for (int i = 0; i < WORKERS && !left; i++) {
		pthread_mutex_lock(&workers[i].lock);
		left = workers[i].deque;
		pthread_mutex_unlock(&workers[i].lock);
	}
	while (!left && permits == 0 && !stopping)
		pthread_cond_wait(&tiles_to_draw, &park_lock);
	if (permits > 0)
		permits--;
	parked--;
	left = !stopping;
	pthread_mutex_unlock(&park_lock);
	return left;
}

static void *draw_tiles(void *data)
{
	struct worker *self = data;

	do {
		struct tile *tile;

		atomic_fetch_add(&searchers, 1);
		while ((tile = pop_tile(self)) || (tile = steal_tile(self))) {
			if (tile->cancelled) {
				drop_cancelled(tile);
				atomic_fetch_add(&searchers, 1);
				continue;
			}
			atomic_fetch_sub(&searchers, 1);
			usleep(60);
			self->drawn++;
			finish_tile(tile);
			atomic_fetch_add(&searchers, 1);
		}
	} while (park());
	return NULL;
}

static void wait_frame(void)
{
	pthread_mutex_lock(&frame_lock);
	while (frame_left > 0)
		pthread_cond_wait(&frame_complete, &frame_lock);
	pthread_mutex_unlock(&frame_lock);
}

static void render_frames(void)
{
	for (int frame = 0; frame < FRAMES; frame++) {
		frame_left = TILES;
		for (int i = 0; i < TILES; i++) {
			struct tile *tile = calloc(1, sizeof(*tile));

			tile->frame = frame;
			tile->cancelled = frame % 8 == 4 && i == 11;
			submit_job(&workers[i % 2], tile);
		}
		wait_frame();
		usleep(3000); /* show it */
	}
}

int main(int argc, char **argv)
{
	balanced = argc > 1 && !strcmp(argv[1], "healthy");
	for (int i = 0; i < WORKERS; i++)
		pthread_mutex_init(&workers[i].lock, NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i].thread, NULL, draw_tiles, &workers[i]);
	render_frames();
	pthread_mutex_lock(&park_lock);
	stopping = true;
	pthread_cond_broadcast(&tiles_to_draw);
	pthread_mutex_unlock(&park_lock);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
	printf("%d frames, %d tiles dropped\n", FRAMES, atomic_load(&dropped));
	return 0;
}
