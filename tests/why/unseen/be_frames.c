/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: pool_put wakes only one of those who wait for blocks (pthread_cond_signal), though they need
 *     different numbers of blocks: it wakes the thread "keyframe", for which it isn't enough yet and which
 *     goes back to sleep; "delta", for which it would be enough, sleeps on, and "capture" waits for its
 *     frame
 *   culprit: pool_put
 *   victim: pool_take|keyframe|delta|capture|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A video encoder: capture hands over frames, two encoders take blocks of memory from a common pool. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCKS 8
#define FRAMES 24
#define KEY_EVERY 6

struct pool {
	pthread_mutex_t mutex;
	pthread_cond_t returned;
	unsigned free, waiting;
	int (*wake)(pthread_cond_t *);
};

struct lane {
	struct pool *pool;
	const char *name;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	unsigned submitted, encoded;
	unsigned blocks; /* that a frame of this lane needs */
	bool closed;
};

static void pause_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

static void pool_take(struct pool *pool, unsigned blocks)
{
	pthread_mutex_lock(&pool->mutex);
	pool->waiting++;
	while (pool->free < blocks)
		pthread_cond_wait(&pool->returned, &pool->mutex);
	pool->waiting--;
	pool->free -= blocks;
	pthread_mutex_unlock(&pool->mutex);
}

static __attribute__((noinline)) void pool_put(struct pool *pool, unsigned blocks)
{
	pthread_mutex_lock(&pool->mutex);
	pool->free += blocks;
	if (pool->waiting > 0)
		pool->wake(&pool->returned);
	pthread_mutex_unlock(&pool->mutex);
}

static void encode(unsigned blocks)
{
	pause_ms(1 + blocks / 2);
}

static void *lane_run(void *data)
{
	struct lane *lane = data;

	pthread_setname_np(pthread_self(), lane->name);
	pthread_mutex_lock(&lane->mutex);
	for (;;) {
		while (lane->submitted == lane->encoded && !lane->closed)
			pthread_cond_wait(&lane->changed, &lane->mutex);
		if (lane->submitted == lane->encoded)
			break;
		pthread_mutex_unlock(&lane->mutex);
		pool_take(lane->pool, lane->blocks);
		encode(lane->blocks);
		pool_put(lane->pool, lane->blocks);
		pthread_mutex_lock(&lane->mutex);
		lane->encoded++;
		pthread_cond_broadcast(&lane->changed);
	}
	pthread_mutex_unlock(&lane->mutex);
	return NULL;
}

static void lane_submit(struct lane *lane)
{
	pthread_mutex_lock(&lane->mutex);
	lane->submitted++;
	pthread_cond_broadcast(&lane->changed);
	pthread_mutex_unlock(&lane->mutex);
}

static void lane_wait_encoded(struct lane *lane)
{
	pthread_mutex_lock(&lane->mutex);
	while (lane->encoded < lane->submitted)
		pthread_cond_wait(&lane->changed, &lane->mutex);
	pthread_mutex_unlock(&lane->mutex);
}

static void lane_open(struct lane *lane, struct pool *pool, const char *name, unsigned blocks)
{
	*lane = (struct lane){.pool = pool, .name = name, .blocks = blocks};
	pthread_mutex_init(&lane->mutex, NULL);
	pthread_cond_init(&lane->changed, NULL);
	if (pthread_create(&lane->thread, NULL, lane_run, lane))
		abort();
}

static void lane_close(struct lane *lane)
{
	pthread_mutex_lock(&lane->mutex);
	lane->closed = true;
	pthread_cond_broadcast(&lane->changed);
	pthread_mutex_unlock(&lane->mutex);
	pthread_join(lane->thread, NULL);
}

struct encoder {
	struct pool pool;
	struct lane keyframe, delta;
};

/* At the cut of a scene the raw picture fills the whole pool, and is given back in two parts. */
static void capture_cut(struct encoder *encoder)
{
	pool_take(&encoder->pool, BLOCKS);
	lane_submit(&encoder->keyframe);
	pause_ms(5);
	lane_submit(&encoder->delta);
	pause_ms(10);
	pool_put(&encoder->pool, 2); /* the luma plane is enough for the delta frame */
	lane_wait_encoded(&encoder->delta);
	pool_put(&encoder->pool, BLOCKS - 2);
	lane_wait_encoded(&encoder->keyframe);
}

static void *capture_run(void *data)
{
	struct encoder *encoder = data;

	pthread_setname_np(pthread_self(), "capture");
	for (unsigned frame = 0; frame < FRAMES; frame++) {
		if (frame == FRAMES / 2) {
			capture_cut(encoder);
			continue;
		}
		pool_take(&encoder->pool, 1);
		pause_ms(3);
		pool_put(&encoder->pool, 1);
		lane_submit(frame % KEY_EVERY == 0 ? &encoder->keyframe : &encoder->delta);
		if (frame % KEY_EVERY == KEY_EVERY - 1)
			lane_wait_encoded(&encoder->keyframe);
		lane_wait_encoded(&encoder->delta);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct encoder encoder;
	pthread_t capture;

	if (argc != 2)
		return 2;
	pthread_mutex_init(&encoder.pool.mutex, NULL);
	pthread_cond_init(&encoder.pool.returned, NULL);
	encoder.pool.free = BLOCKS;
	encoder.pool.wake = strcmp(argv[1], "healthy") == 0 ? pthread_cond_broadcast
							    : pthread_cond_signal;
	lane_open(&encoder.keyframe, &encoder.pool, "keyframe", 6);
	lane_open(&encoder.delta, &encoder.pool, "delta", 2);
	if (pthread_create(&capture, NULL, capture_run, &encoder))
		return 2;
	pthread_join(capture, NULL);
	lane_close(&encoder.keyframe);
	lane_close(&encoder.delta);
	printf("%u key frames, %u delta frames\n", encoder.keyframe.encoded, encoder.delta.encoded);
	return 0;
}
