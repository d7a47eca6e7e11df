/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The uploader takes many rows at once by take_all, which makes room but doesn't signal not_full. So
 *     the thread sample_meters sleeps on not_full while the queue is empty, and upload_rows waits for rows.
 *   culprit: upload_rows|take_all
 *   victim: sample_meters|not_full
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ROOM 32
#define MANY 12
#define ROWS 6000

struct row {
	int meter;
	int value;
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t not_full;
	pthread_cond_t not_empty;
	struct row rows[ROOM];
	int first;
	int count;
	bool closed;
	bool tell_after_batch;
};

static struct queue outbox = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.not_full = PTHREAD_COND_INITIALIZER,
	.not_empty = PTHREAD_COND_INITIALIZER,
};
static pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stats_stop = PTHREAD_COND_INITIALIZER;
static bool stopping;
static long uploaded, sum, batches, averages;

static void pause_us(long us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static void put_row(struct queue *queue, struct row row)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->count == ROOM)
		pthread_cond_wait(&queue->not_full, &queue->lock);
	queue->rows[(queue->first + queue->count++) % ROOM] = row;
	pthread_cond_signal(&queue->not_empty);
	pthread_mutex_unlock(&queue->lock);
}

static bool take_row(struct queue *queue, struct row *row)
{
	bool some;

	pthread_mutex_lock(&queue->lock);
	while (queue->count == 0 && !queue->closed)
		pthread_cond_wait(&queue->not_empty, &queue->lock);
	some = queue->count > 0;
	if (some) {
		*row = queue->rows[queue->first];
		queue->first = (queue->first + 1) % ROOM;
		queue->count--;
		pthread_cond_signal(&queue->not_full);
	}
	pthread_mutex_unlock(&queue->lock);
	return some;
}

/* When many rows are there, one message for all of them is cheaper. */
static int take_all(struct queue *queue, struct row *rows)
{
	int count = 0;

	pthread_mutex_lock(&queue->lock);
	if (queue->count >= MANY) {
		while (count < queue->count) {
			rows[count] = queue->rows[(queue->first + count) % ROOM];
			count++;
		}
		queue->first = 0;
		queue->count = 0;
		if (queue->tell_after_batch)
			pthread_cond_broadcast(&queue->not_full);
	}
	pthread_mutex_unlock(&queue->lock);
	return count;
}

static void close_queue(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->closed = true;
	pthread_cond_broadcast(&queue->not_empty);
	pthread_mutex_unlock(&queue->lock);
}

static void *sample_meters(void *unused)
{
	for (int i = 0; i < ROWS; i++) {
		put_row(&outbox, (struct row){.meter = i % 40, .value = i * 7 % 1013});
		if (i % 200 == 199)
			pause_us(1500);
	}
	close_queue(&outbox);
	return unused;
}

static void send_rows(const struct row *rows, int count)
{
	pthread_mutex_lock(&stats_lock);
	for (int i = 0; i < count; i++)
		sum += rows[i].value;
	uploaded += count;
	batches++;
	pthread_mutex_unlock(&stats_lock);
	pause_us(200 + 10 * count);
}

static void *upload_rows(void *unused)
{
	struct row rows[ROOM];
	int count;

	for (;;) {
		count = take_all(&outbox, rows);
		if (count == 0) {
			if (!take_row(&outbox, &rows[0]))
				break;
			count = 1;
		}
		send_rows(rows, count);
	}
	return unused;
}

/* It computes an average each 25 ms, until it is told to stop. */
static void *average_rows(void *unused)
{
	struct timespec next;

	clock_gettime(CLOCK_REALTIME, &next);
	pthread_mutex_lock(&stats_lock);
	while (!stopping) {
		next.tv_nsec += 25000000;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		pthread_cond_timedwait(&stats_stop, &stats_lock, &next);
		if (uploaded > 0)
			averages += sum / uploaded;
	}
	pthread_mutex_unlock(&stats_lock);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t sampler, uploader, averager;

	if (argc != 2)
		return 2;
	outbox.tell_after_batch = !strcmp(argv[1], "healthy");
	pthread_create(&averager, NULL, average_rows, NULL);
	pthread_create(&uploader, NULL, upload_rows, NULL);
	pthread_create(&sampler, NULL, sample_meters, NULL);
	pthread_join(sampler, NULL);
	pthread_join(uploader, NULL);
	pthread_mutex_lock(&stats_lock);
	stopping = true;
	pthread_cond_signal(&stats_stop);
	pthread_mutex_unlock(&stats_lock);
	pthread_join(averager, NULL);
	printf("%ld rows in %ld messages, average %ld\n", uploaded, batches, sum / uploaded);
	return uploaded == ROWS ? 0 : 1;
}
