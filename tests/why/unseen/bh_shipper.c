/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: the program reopens its upload now and then, and closes the queue for that. queue_close wakes
 *     only those who wait for an item (not_empty). The reader, which waits for room (not_full) as the
 *     queue is full, isn't told, and the uploader has ended; so the reader never sees that the queue is
 *     closed, and main joins it in vain.
 *   culprit: queue_close|not_full|thread upload
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   run: kill 2000
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	ROOM = 8,
	LINE = 80
};

struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t not_empty, not_full;
	char lines[ROOM][LINE];
	unsigned first, count;
	bool is_closed;
};

static struct queue queue = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.not_empty = PTHREAD_COND_INITIALIZER,
	.not_full = PTHREAD_COND_INITIALIZER};
static unsigned long uploaded, bytes;
static bool tell_writers;

static void pause_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* ---- The queue ---- */

static void queue_open(struct queue *of)
{
	pthread_mutex_lock(&of->mutex);
	of->is_closed = false;
	of->first = of->count = 0;
	pthread_mutex_unlock(&of->mutex);
}

/* Returns false if the queue is closed. */
static __attribute__((noinline)) bool queue_put(struct queue *of, const char *line)
{
	bool is_open;

	pthread_mutex_lock(&of->mutex);
	while (of->count == ROOM && !of->is_closed)
		pthread_cond_wait(&of->not_full, &of->mutex);
	is_open = !of->is_closed;
	if (is_open) {
		snprintf(of->lines[(of->first + of->count) % ROOM], LINE, "%s", line);
		of->count++;
		pthread_cond_signal(&of->not_empty);
	}
	pthread_mutex_unlock(&of->mutex);
	return is_open;
}

/* Returns false if the queue is closed: what is in it then is read again later. */
static __attribute__((noinline)) bool queue_take(struct queue *of, char *line)
{
	bool is_open;

	pthread_mutex_lock(&of->mutex);
	while (!of->count && !of->is_closed)
		pthread_cond_wait(&of->not_empty, &of->mutex);
	is_open = !of->is_closed;
	if (is_open) {
		memcpy(line, of->lines[of->first], LINE);
		of->first = (of->first + 1) % ROOM;
		of->count--;
		pthread_cond_signal(&of->not_full);
	}
	pthread_mutex_unlock(&of->mutex);
	return is_open;
}

static __attribute__((noinline)) void queue_close(struct queue *of)
{
	pthread_mutex_lock(&of->mutex);
	of->is_closed = true;
	pthread_cond_broadcast(&of->not_empty);
	if (tell_writers)
		pthread_cond_broadcast(&of->not_full);
	pthread_mutex_unlock(&of->mutex);
}

/* ---- Its two ends ---- */

/* Reads a log that grows faster than it can be sent. */
static void *read_log(void *data)
{
	static unsigned long number;
	char line[LINE];

	pthread_setname_np(pthread_self(), "read_log");
	do
		snprintf(line, sizeof line, "%lu GET /index.html 200 %lu", number,
			number * 7919 % 5000);
	while (++number && queue_put(&queue, line));
	return data;
}

static void *upload(void *data)
{
	char line[LINE];

	pthread_setname_np(pthread_self(), "upload");
	while (queue_take(&queue, line)) {
		bytes += strlen(line);
		uploaded++;
		pause_ms(3);
	}
	return data;
}

int main(int count, char **arguments)
{
	pthread_t reader, uploader;

	tell_writers = count < 2 || strcmp(arguments[1], "broken");
	for (unsigned sessions = 1;; sessions++) {
		queue_open(&queue);
		if (pthread_create(&reader, NULL, read_log, NULL) ||
			pthread_create(&uploader, NULL, upload, NULL))
			return 1;
		pause_ms(250);
		queue_close(&queue);
		pthread_join(uploader, NULL);
		pthread_join(reader, NULL);
		fprintf(stderr, "session %u: %lu lines, %lu bytes\n", sessions, uploaded, bytes);
	}
}
