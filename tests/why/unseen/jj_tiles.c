/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: cull_hidden cancels three queued tiles of frame 3, but doesn't take them off the frame's count. So
 *     frame 3 still waits for the cancelled tiles when all others are done.
 *   culprit: tile 3/(9|10|11)|cull_hidden
 *   victim: frame 3|present|viewer
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define FRAMES 6
#define TILES 12
#define THREADS 3

struct frame {
	thrum_task task;
	int number, left;
};

struct tile {
	thrum_task task;
	struct frame *frame;
	int number;
	unsigned checksum;
	struct tile *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static struct tile *queue, **queue_end = &queue;
static bool quit, broken;

static void draw(struct tile *tile)
{
	for (unsigned i = 0; i < 200000; i++)
		tile->checksum = tile->checksum * 31 + i;
	usleep(1000); /* fetches a texture */
}

/* The caller holds the mutex. */
static void frame_less(struct frame *frame)
{
	if (--frame->left > 0)
		return;
	thrum_task_resolve(frame->task);
	pthread_cond_broadcast(&done);
}

static void *painter(void *data)
{
	thrum_lane_name(data);
	pthread_mutex_lock(&mutex);
	for (;;) {
		struct tile *tile;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!queue && !quit)
			pthread_cond_wait(&work, &mutex);
		thrum_resume();
		tile = queue;
		if (!tile)
			break;
		queue = tile->next;
		if (!queue)
			queue_end = &queue;
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (tile->task)
			draw(tile);
		pthread_mutex_lock(&mutex);
		thrum_task_resolve(tile->task);
		frame_less(tile->frame);
		free(tile);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

/* Drops the queued tiles that are below the edge of the window. The caller holds the mutex. */
static void cull_hidden(struct frame *frame, int edge)
{
	struct tile **link = &queue;

	while (*link) {
		struct tile *tile = *link;

		if (tile->frame != frame || tile->number < edge) {
			link = &tile->next;
			continue;
		}
		*link = tile->next;
		thrum_task_cancel(tile->task);
		if (!broken)
			frame_less(frame);
		free(tile);
	}
	queue_end = link;
}

static void frame_begin(struct frame *frame, int number)
{
	frame->number = number;
	frame->left = TILES;
	frame->task = thrum_task_createf(THRUM_KIND_JOIN, "frame %d", number);
	thrum_task_should_resolve(frame->task);
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < TILES; i++) {
		struct tile *tile = calloc(1, sizeof(*tile));

		tile->frame = frame;
		tile->number = i;
		tile->task = thrum_task_createf(THRUM_KIND_TASK, "tile %d/%d", number, i);
		thrum_task_wait(frame->task, tile->task);
		thrum_task_ready(tile->task);
		*queue_end = tile;
		queue_end = &tile->next;
	}
	if (number == 3)
		cull_hidden(frame, 9); /* the window became smaller */
	pthread_cond_broadcast(&work);
	pthread_mutex_unlock(&mutex);
}

static void frame_wait(struct frame *frame)
{
	thrum_task self = thrum_task_current();

	pthread_mutex_lock(&mutex);
	while (frame->left > 0) {
		thrum_task_wait(self, frame->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&done, &mutex);
		thrum_resume();
	}
	thrum_task_read(self, frame->task);
	pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	static const char *const names[THREADS] = {"painter a", "painter b", "painter c"};
	pthread_t threads[THREADS];
	struct frame frames[FRAMES];
	thrum_task present;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, painter, (void *)names[i]);
	present = thrum_task_create(THRUM_KIND_TASK, "present");
	thrum_task_should_resolve(present);
	THRUM_RUN (present) {
		/* One frame is drawn while the one before is shown. */
		frame_begin(&frames[0], 0);
		for (int i = 1; i < FRAMES; i++) {
			frame_begin(&frames[i], i);
			frame_wait(&frames[i - 1]);
		}
		frame_wait(&frames[FRAMES - 1]);
		thrum_task_resolve(present);
	}
	printf("presented %d frames\n", FRAMES);
	thrum_stop();
	pthread_mutex_lock(&mutex);
	quit = true;
	pthread_cond_broadcast(&work);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
