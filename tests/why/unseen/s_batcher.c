/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 600
 *   ask: why
 *   truth: When a batch is sent because it is full, the flush timer is cancelled but the flag “armed” stays set. So the
 *     timer is never set for the last, partial batch (batch 4), which is never flushed; put 10 to put 12 in it wait for ever.
 *   culprit: batch 4|flush
 *   victim: put 1[0-2]
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

/* A client library of a metrics store that sends points in batches of four, or after 30 ms. */
#define POINTS 12
#define FULL 4

struct batch {
	thrum_task task, points[FULL];
	int number, count;
};

static int broken, wire[2], batches, acknowledged;
static struct batch open_batch, sent[8];
static int64_t flush_at;
static int armed;
static thrum_task flush_timer;

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void *store(void *data)
{
	int number;

	(void)data;
	while (read(wire[1], &number, sizeof(number)) == sizeof(number)) {
		usleep(8000);
		if (write(wire[1], &number, sizeof(number)) < 0)
			break;
	}
	return NULL;
}

static void send_batch(void)
{
	sent[open_batch.number] = open_batch;
	if (write(wire[0], &open_batch.number, sizeof(int)) < 0)
		perror("write");
	open_batch.count = 0;
}

static void batch_full(void)
{
	if (armed && flush_at) {
		thrum_task_cancel(flush_timer);
		flush_at = 0;
		if (!broken)
			armed = 0;
	}
	send_batch();
}

static void add_point(int number)
{
	thrum_task point = thrum_task_createf(THRUM_KIND_TASK, "put %d", number);

	thrum_task_should_resolve(point);
	if (!open_batch.count) {
		open_batch.number = ++batches;
		open_batch.task = thrum_task_createf(THRUM_KIND_PROMISE, "batch %d", batches);
	}
	thrum_task_wait(point, open_batch.task);
	open_batch.points[open_batch.count++] = point;
	if (open_batch.count == FULL) {
		batch_full();
	} else if (!armed) {
		armed = 1;
		flush_at = now_ms() + 30;
		flush_timer = thrum_task_create(THRUM_KIND_TIMER, "flush timer");
		thrum_task_due(flush_timer, 30 * 1000000);
	}
}

static void on_flush_timer(void)
{
	flush_at = 0;
	armed = 0;
	thrum_task_resolve(flush_timer);
	if (open_batch.count)
		send_batch();
}

static void on_acknowledged(void)
{
	struct batch *batch;
	int number;

	if (read(wire[0], &number, sizeof(number)) != sizeof(number))
		return;
	batch = &sent[number];
	thrum_task_resolve(batch->task);
	for (int i = 0; i < batch->count; i++) {
		thrum_task_resolve(batch->points[i]);
		acknowledged++;
	}
}

int main(int argc, char **argv)
{
	/* The times at which the program measures something. */
	static const int at[POINTS] = {0, 60, 62, 63, 64, 90, 91, 92, 93, 140, 141, 142};
	int64_t start = now_ms();
	pthread_t thread;
	int next = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, wire) || pthread_create(&thread, NULL, store, NULL))
		return 1;
	while (acknowledged < POINTS) {
		struct pollfd watch = {.fd = wire[0], .events = POLLIN};
		int64_t now = now_ms(), until = now + 1000;

		if (next < POINTS)
			until = start + at[next];
		if (flush_at && flush_at < until)
			until = flush_at;
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(&watch, 1, until > now ? (int)(until - now) : 0);
		thrum_resume();
		now = now_ms();
		if (watch.revents)
			on_acknowledged();
		if (flush_at && now >= flush_at)
			on_flush_timer();
		while (next < POINTS && now >= start + at[next])
			add_point(++next);
	}
	shutdown(wire[0], SHUT_RDWR);
	pthread_join(thread, NULL);
	printf("%d points in %d batches\n", acknowledged, batches);
	return 0;
}
