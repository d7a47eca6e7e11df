/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: pocl #685 ("pocl_pthread_update_event() fails to broadcast to all listeners"). update_event, in the device's
 *     thread, tells of the end of a command with pthread_cond_signal, which wakes one thread. Two threads (encoder
 *     and preview) wait for the same event, so one of them stays in wait_for_event though the event is complete.
 *   culprit: update_event|device
 *   victim: encoder|preview|main\b
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* A renderer: commands go to a device; an event tells when each of them is complete. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAMES 14

struct event {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool complete; /* under lock */
};

struct command {
	unsigned duration_ms;
	struct event *event;
	struct command *next;
};

static bool fixed;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;
static struct command *queue; /* under queue_lock */
static struct event rendered[FRAMES];
static struct event scaled[FRAMES];

static void event_init(struct event *event)
{
	pthread_mutex_init(&event->lock, NULL);
	pthread_cond_init(&event->changed, NULL);
	event->complete = false;
}

static void update_event(struct event *event)
{
	pthread_mutex_lock(&event->lock);
	event->complete = true;
	if (fixed)
		pthread_cond_broadcast(&event->changed);
	else
		pthread_cond_signal(&event->changed);
	pthread_mutex_unlock(&event->lock);
}

static void wait_for_event(struct event *event)
{
	pthread_mutex_lock(&event->lock);
	while (!event->complete)
		pthread_cond_wait(&event->changed, &event->lock);
	pthread_mutex_unlock(&event->lock);
}

static void enqueue(unsigned duration_ms, struct event *event)
{
	struct command *command = calloc(1, sizeof(*command));
	struct command **end;

	command->duration_ms = duration_ms;
	command->event = event;
	pthread_mutex_lock(&queue_lock);
	for (end = &queue; *end; end = &(*end)->next)
		continue;
	*end = command;
	pthread_cond_signal(&queue_changed);
	pthread_mutex_unlock(&queue_lock);
}

static void *device_thread(void *data)
{
	struct command *command;

	(void)data;
	for (;;) {
		pthread_mutex_lock(&queue_lock);
		while (!queue)
			pthread_cond_wait(&queue_changed, &queue_lock);
		command = queue;
		queue = command->next;
		pthread_mutex_unlock(&queue_lock);
		usleep(command->duration_ms * 1000);
		update_event(command->event);
		free(command);
	}
	return NULL;
}

static void *encoder_thread(void *data)
{
	unsigned i;

	(void)data;
	for (i = 0; i < FRAMES; i++) {
		wait_for_event(&rendered[i]);
		usleep(1000);
	}
	return NULL;
}

/* Shows a small copy of each frame. For the last ones, it shows the frame itself. */
static void *preview_thread(void *data)
{
	unsigned i;

	(void)data;
	for (i = 0; i < FRAMES; i++) {
		wait_for_event(i < 9 ? &scaled[i] : &rendered[i]);
		usleep(500);
	}
	return NULL;
}

static void *clock_thread(void *data)
{
	volatile unsigned *ticks = data;

	for (;;) {
		usleep(50000);
		++*ticks;
	}
	return NULL;
}

static pthread_t start(const char *name, void *(*run)(void *), void *data)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, data))
		exit(1);
	pthread_setname_np(thread, name);
	return thread;
}

int main(int argc, char **argv)
{
	static unsigned ticks;
	pthread_t encoder, preview;
	unsigned i;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	for (i = 0; i < FRAMES; i++) {
		event_init(&rendered[i]);
		event_init(&scaled[i]);
	}
	start("device", device_thread, NULL);
	start("clock", clock_thread, &ticks);
	encoder = start("encoder", encoder_thread, NULL);
	preview = start("preview", preview_thread, NULL);
	for (i = 0; i < FRAMES; i++) {
		enqueue(50, &rendered[i]);
		enqueue(10, &scaled[i]);
		usleep(70000);
	}
	pthread_join(encoder, NULL);
	pthread_join(preview, NULL);
	printf("%u frames, %u ticks\n", FRAMES, ticks);
	return 0;
}
