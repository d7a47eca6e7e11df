/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   ask: diff good
 *   truth: The collector adds two records at a time and signals batch_ready only if there are exactly five,
 *     so it never does. The shipper goes on only when its wait for batch_ready times out.
 *   culprit: batch_ready
 *   victim: queue_room|shipper|collector
 * case: again
 *   args: good
 *   ask: diff good
 *   culprit: nothing
 */
/*
 * Ships log records in batches. A collector reads pairs of records, a request and its response; a shipper
 * sends a batch when enough have come, or after a while.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BATCH 5
#define ROOM 8
#define PAIRS 30
#define LINGER_MS 60

struct record {
	int number;
	char text[48];
};

static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t batch_ready, queue_room = PTHREAD_COND_INITIALIZER;
static struct record queue[ROOM];
static int count, batches, shipped;
static bool bad, is_closed;

/* Signals the shipper when a batch is full. */
static void enqueue_pair(const struct record *request, const struct record *response)
{
	pthread_mutex_lock(&queue_mutex);
	while (count + 2 > ROOM)
		pthread_cond_wait(&queue_room, &queue_mutex);
	queue[count++] = *request;
	queue[count++] = *response;
	/* The bug: records came one by one once. */
	if (bad ? count == BATCH : count >= BATCH)
		pthread_cond_signal(&batch_ready);
	pthread_mutex_unlock(&queue_mutex);
}

static struct timespec in_ms(int ms)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	time.tv_nsec += ms * 1000000L;
	time.tv_sec += time.tv_nsec / 1000000000L;
	time.tv_nsec %= 1000000000L;
	return time;
}

/* Waits until a batch is full or the first records get old. Returns how many records it took. */
static int take_batch(struct record *batch, bool *is_last)
{
	struct timespec until = in_ms(LINGER_MS);
	int error = 0, taken;

	pthread_mutex_lock(&queue_mutex);
	while (!is_closed && error != ETIMEDOUT && count < BATCH)
		error = pthread_cond_timedwait(&batch_ready, &queue_mutex, &until);
	taken = count;
	*is_last = is_closed;
	memcpy(batch, queue, count * sizeof(*batch));
	count = 0;
	pthread_cond_signal(&queue_room);
	pthread_mutex_unlock(&queue_mutex);
	return taken;
}

static void *ship(void *data)
{
	struct record batch[ROOM];
	bool is_last = false;

	(void)data;
	pthread_setname_np(pthread_self(), "shipper");
	while (!is_last) {
		int taken = take_batch(batch, &is_last);

		if (taken == 0)
			continue;
		/* The server of the logs answers. */
		usleep(1500);
		batches++;
		shipped += taken;
	}
	return NULL;
}

static void *collect(void *data)
{
	struct record request, response;

	(void)data;
	pthread_setname_np(pthread_self(), "collector");
	for (int i = 0; i < PAIRS; i++) {
		request.number = 2 * i;
		response.number = 2 * i + 1;
		snprintf(request.text, sizeof(request.text), "GET /item/%d", i);
		snprintf(response.text, sizeof(response.text), "200 for /item/%d", i);
		usleep(1000);
		enqueue_pair(&request, &response);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_condattr_t monotonic;
	pthread_t shipper, collector;

	bad = argc > 1 && strcmp(argv[1], "bad") == 0;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&batch_ready, &monotonic);
	if (pthread_create(&shipper, NULL, ship, NULL) ||
		pthread_create(&collector, NULL, collect, NULL))
		return 1;
	pthread_join(collector, NULL);
	pthread_mutex_lock(&queue_mutex);
	is_closed = true;
	pthread_cond_signal(&batch_ready);
	pthread_mutex_unlock(&queue_mutex);
	pthread_join(shipper, NULL);
	printf("%d records in %d batches\n", shipped, batches);
	return 0;
}
