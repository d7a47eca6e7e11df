/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The thread shipper sleeps until a batch of 8 samples is full and ignores that a flush was
 *     asked for; 5 samples stay, so main waits in metrics_flush for an empty queue for ever.
 *   culprit: shipper|ship_batches
 *   victim: metrics_flush|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A tool collects samples of its run, and a thread ships them in batches. At the end it flushes. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	BATCH = 8,
	SAMPLES = 21
};

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_grew = PTHREAD_COND_INITIALIZER;
static pthread_cond_t queue_drained = PTHREAD_COND_INITIALIZER;
static int queue[SAMPLES];
static int queued;
static int shipped;
static bool flushing;
static bool stopping;
static bool ships_the_rest;

static bool has_work(void)
{
	if (queued >= BATCH || stopping)
		return true;
	return ships_the_rest && flushing && queued > 0;
}

static void *ship_batches(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "shipper");
	pthread_mutex_lock(&queue_lock);
	for (;;) {
		int count;

		while (!has_work())
			pthread_cond_wait(&queue_grew, &queue_lock);
		if (stopping && queued == 0)
			break;
		count = queued < BATCH ? queued : BATCH;
		memmove(queue, queue + count, (size_t)(queued - count) * sizeof(queue[0]));
		queued -= count;
		shipped += count;
		if (queued == 0)
			pthread_cond_broadcast(&queue_drained);
	}
	pthread_mutex_unlock(&queue_lock);
	return NULL;
}

static void metrics_add(int sample)
{
	pthread_mutex_lock(&queue_lock);
	queue[queued++] = sample;
	pthread_cond_signal(&queue_grew);
	pthread_mutex_unlock(&queue_lock);
}

static void metrics_flush(void)
{
	pthread_mutex_lock(&queue_lock);
	flushing = true;
	pthread_cond_signal(&queue_grew);
	while (queued > 0)
		pthread_cond_wait(&queue_drained, &queue_lock);
	flushing = false;
	pthread_mutex_unlock(&queue_lock);
}

int main(int argc, char **argv)
{
	pthread_t shipper;

	ships_the_rest = argc < 2 || strcmp(argv[1], "broken") != 0;
	if (pthread_create(&shipper, NULL, ship_batches, NULL))
		return 1;
	for (int i = 0; i < SAMPLES; i++)
		metrics_add(i * i);
	metrics_flush();
	pthread_mutex_lock(&queue_lock);
	stopping = true;
	pthread_cond_signal(&queue_grew);
	pthread_mutex_unlock(&queue_lock);
	pthread_join(shipper, NULL);
	printf("shipped %d samples\n", shipped);
	return 0;
}
