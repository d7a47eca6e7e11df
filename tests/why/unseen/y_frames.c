/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: while "preview" is paused it drops frames without dropping its reference to them; frames 20 to 27 are never freed, and the camera waits for a free frame.
 *   culprit: \bframe 2[0-7]\b|preview
 *   victim: camera
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	POOL = 8,
	FRAMES = 60,
	SUBSCRIBERS = 3,
	QUEUE = 16
};

struct frame {
	int references, number;
	thrum_task task;
};

static struct subscriber {
	const char *name;
	struct frame *queue[QUEUE];
	unsigned in, out;
	pthread_t thread;
} subscribers[SUBSCRIBERS] = {{.name = "encoder"}, {.name = "preview"}, {.name = "motion"}};

static struct frame frames[POOL];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t freed = PTHREAD_COND_INITIALIZER, arrived = PTHREAD_COND_INITIALIZER;
static thrum_task pool;
static int waiting;
static bool broken, ended;

/* The caller holds the mutex. */
static void frame_unref(struct frame *frame)
{
	if (--frame->references > 0)
		return;
	thrum_task_resolve(frame->task);
	thrum_task_signal(pool, (unsigned)waiting);
	waiting = 0;
	pthread_cond_signal(&freed);
}

/* The caller holds the mutex. */
static struct frame *frame_new(int number)
{
	for (;;) {
		for (int i = 0; i < POOL; i++)
			if (frames[i].references == 0) {
				frames[i].references = SUBSCRIBERS;
				frames[i].number = number;
				frames[i].task = thrum_task_createf(THRUM_KIND_HANDLE, "frame %d",
					number);
				thrum_task_should_resolve(frames[i].task);
				return &frames[i];
			}
		waiting = 1;
		thrum_task_wait(thrum_task_current(), pool);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&freed, &mutex);
		thrum_resume();
		thrum_task_read(thrum_task_current(), pool);
	}
}

static void *subscriber(void *data)
{
	struct subscriber *self = data;

	thrum_lane_name(self->name);
	pthread_mutex_lock(&mutex);
	for (;;) {
		struct frame *frame;

		while (self->in == self->out && !ended)
			pthread_cond_wait(&arrived, &mutex);
		if (self->in == self->out)
			break;
		frame = self->queue[self->out++ % QUEUE];
		/* nobody looks at the preview now */
		if (strcmp(self->name, "preview") == 0 && frame->number >= 20 &&
			frame->number < 50) {
			if (!broken)
				frame_unref(frame);
			continue;
		}
		pthread_mutex_unlock(&mutex);
		usleep(2000);
		pthread_mutex_lock(&mutex);
		frame_unref(frame);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void *camera(void *data)
{
	thrum_lane_name("camera");
	thrum_task_should_resolve(thrum_task_current());
	for (int n = 0; n < FRAMES; n++) {
		struct frame *frame;

		usleep(6000);
		pthread_mutex_lock(&mutex);
		frame = frame_new(n);
		for (int i = 0; i < SUBSCRIBERS; i++)
			subscribers[i].queue[subscribers[i].in++ % QUEUE] = frame;
		pthread_cond_broadcast(&arrived);
		pthread_mutex_unlock(&mutex);
	}
	pthread_mutex_lock(&mutex);
	ended = true;
	pthread_cond_broadcast(&arrived);
	pthread_mutex_unlock(&mutex);
	return data;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	alarm(25);
	broken = !(argc > 1 && strcmp(argv[1], "healthy") == 0);
	pool = thrum_task_create(THRUM_KIND_MAILBOX, "free frames");
	for (int i = 0; i < SUBSCRIBERS; i++)
		pthread_create(&subscribers[i].thread, NULL, subscriber, &subscribers[i]);
	pthread_create(&thread, NULL, camera, NULL);
	pthread_join(thread, NULL);
	for (int i = 0; i < SUBSCRIBERS; i++)
		pthread_join(subscribers[i].thread, NULL);
	thrum_task_resolve(pool);
	puts("done");
	return 0;
}
