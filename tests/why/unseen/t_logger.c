/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 700
 *   ask: why
 *   truth: The log-writer is stuck in a write to a pipe whose reader (the log collector) doesn't read any more. The log queue fills up, and all workers block when they log.
 *   culprit: log-writer|collector
 *   victim: order-worker
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* orders: workers that log through a queue and one writer thread; hardly annotated */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define ROOM 16

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int count, waiting_writers;
static bool closing, broken;
static int to_collector[2];
static thrum_task queue, collector;

static void log_line(void)
{
	pthread_mutex_lock(&mutex);
	while (count == ROOM) {
		thrum_task_wait(thrum_task_current(), queue);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&changed, &mutex);
		thrum_resume();
	}
	count++;
	thrum_task_signal(queue, waiting_writers);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static void *log_writer(void *data)
{
	static char line[512];

	memset(line, 'x', sizeof(line));
	thrum_lane_name("log-writer");
	for (;;) {
		pthread_mutex_lock(&mutex);
		waiting_writers = 1;
		while (!count && !closing) {
			thrum_task_wait(thrum_task_current(), queue);
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_cond_wait(&changed, &mutex);
			thrum_resume();
		}
		waiting_writers = 0;
		if (!count) {
			pthread_mutex_unlock(&mutex);
			return NULL;
		}
		count--;
		thrum_task_read(thrum_task_current(), queue);
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&mutex);
		thrum_task_wait(thrum_task_current(), collector);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (write(to_collector[1], line, sizeof(line)) < 0)
			return NULL;
		thrum_resume();
		thrum_task_read(thrum_task_current(), collector);
	}
}

static void *collect(void *data)
{
	char lines[4096];
	int got = 0;

	while (read(to_collector[0], lines, sizeof(lines)) > 0)
		if (++got >= 6 && broken)
			pause(); /* the collector's disk is full */
	return NULL;
}

static void *worker(void *data)
{
	thrum_lane_name(data);
	for (int i = 0; i < 60; i++) {
		usleep(5000);
		log_line();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const char *names[] = {"order-worker 1", "order-worker 2", "order-worker 3"};
	pthread_t threads[3], writer, reader;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	alarm(2);
	if (pipe(to_collector))
		return 2;
	fcntl(to_collector[1], F_SETPIPE_SZ, 4096);
	queue = thrum_task_create(THRUM_KIND_MAILBOX, "log queue");
	collector = thrum_task_create(THRUM_KIND_HANDLE, "pipe to collector");
	pthread_create(&reader, NULL, collect, NULL);
	pthread_create(&writer, NULL, log_writer, NULL);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, worker, (void *)names[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_lock(&mutex);
	closing = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	pthread_join(writer, NULL);
	printf("orders: done\n");
	return 0;
}
