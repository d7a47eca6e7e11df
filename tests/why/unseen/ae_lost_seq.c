/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: A decoder that gets a record with a bad checksum calls reject_record and leaves its place in the
 *     ring empty. It should mark the place as skipped, as emit_in_order waits for each number in turn.
 *   culprit: reject_record
 *   victim: emit_in_order|feed_records
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A log is decoded by three threads at once and written in its order: feeder, decoders, writer. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RECORDS 600
#define DECODERS 3
#define WINDOW 16 /* so many records are in the pipeline */

enum state {
	EMPTY,
	RAW,
	BUSY,
	DECODED,
	SKIPPED
};

struct record {
	enum state state;
	unsigned number;
	uint8_t bytes[64], checksum;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t fed, decoded, room;
	struct record ring[WINDOW];
	unsigned next_in, next_raw, next_out;
	bool closed;
} pipe_line = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.fed = PTHREAD_COND_INITIALIZER,
	.decoded = PTHREAD_COND_INITIALIZER,
	.room = PTHREAD_COND_INITIALIZER,
};

static struct {
	pthread_mutex_t lock;
	unsigned good, bad, last_bad;
} statistics = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool mark_skipped;

static uint8_t sum(const uint8_t *bytes)
{
	uint8_t total = 0;

	for (int i = 0; i < 64; i++)
		total = (uint8_t)(total * 31 + bytes[i]);
	return total;
}

static void count_record(bool good, unsigned number)
{
	pthread_mutex_lock(&statistics.lock);
	statistics.good += good;
	statistics.bad += !good;
	if (!good)
		statistics.last_bad = number;
	pthread_mutex_unlock(&statistics.lock);
}

static void *feed_records(void *unused)
{
	for (unsigned n = 0; n < RECORDS; n++) {
		struct record *record = &pipe_line.ring[n % WINDOW];

		if (n % 40 == 0)
			usleep(500); /* the disk */
		pthread_mutex_lock(&pipe_line.lock);
		while (n - pipe_line.next_out >= WINDOW)
			pthread_cond_wait(&pipe_line.room, &pipe_line.lock);
		record->number = n;
		memset(record->bytes, (int)n, sizeof(record->bytes));
		record->checksum = (uint8_t)(sum(record->bytes) ^
			(n % 190 == 77)); /* some are damaged */
		record->state = RAW;
		pipe_line.next_in = n + 1;
		pthread_cond_signal(&pipe_line.fed);
		pthread_mutex_unlock(&pipe_line.lock);
	}
	pthread_mutex_lock(&pipe_line.lock);
	pipe_line.closed = true;
	pthread_cond_broadcast(&pipe_line.fed);
	pthread_mutex_unlock(&pipe_line.lock);
	return unused;
}

static struct record *take_raw(void)
{
	struct record *record = NULL;

	pthread_mutex_lock(&pipe_line.lock);
	while (pipe_line.next_raw == pipe_line.next_in && !pipe_line.closed)
		pthread_cond_wait(&pipe_line.fed, &pipe_line.lock);
	if (pipe_line.next_raw < pipe_line.next_in) {
		record = &pipe_line.ring[pipe_line.next_raw++ % WINDOW];
		record->state = BUSY;
	}
	pthread_mutex_unlock(&pipe_line.lock);
	return record;
}

static void put_result(struct record *record, enum state state)
{
	pthread_mutex_lock(&pipe_line.lock);
	record->state = state;
	pthread_cond_signal(&pipe_line.decoded);
	pthread_mutex_unlock(&pipe_line.lock);
}

static void accept_record(struct record *record)
{
	for (int i = 0; i < 64; i++)
		record->bytes[i] ^= 0x5a;
	count_record(true, record->number);
	put_result(record, DECODED);
}

static void reject_record(struct record *record)
{
	count_record(false, record->number);
	if (mark_skipped)
		put_result(record, SKIPPED);
}

static void *decode_records(void *unused)
{
	struct record *record;

	while ((record = take_raw())) {
		usleep(20 + record->number % 7 * 10);
		if (sum(record->bytes) == record->checksum)
			accept_record(record);
		else
			reject_record(record);
	}
	return unused;
}

/* Returns false at the end of the log. */
static bool emit_in_order(unsigned *written)
{
	struct record *record = &pipe_line.ring[pipe_line.next_out % WINDOW];

	if (pipe_line.next_out == RECORDS)
		return false;
	pthread_mutex_lock(&pipe_line.lock);
	while (record->number != pipe_line.next_out || record->state < DECODED)
		pthread_cond_wait(&pipe_line.decoded, &pipe_line.lock);
	*written += record->state == DECODED;
	record->state = EMPTY;
	pipe_line.next_out++;
	pthread_cond_signal(&pipe_line.room);
	pthread_mutex_unlock(&pipe_line.lock);
	return true;
}

int main(int argc, char **argv)
{
	pthread_t feeder, decoders[DECODERS];
	unsigned written = 0;

	mark_skipped = argc > 1 && !strcmp(argv[1], "healthy");
	pthread_create(&feeder, NULL, feed_records, NULL);
	for (int i = 0; i < DECODERS; i++)
		pthread_create(&decoders[i], NULL, decode_records, NULL);
	while (emit_in_order(&written))
		continue;
	pthread_join(feeder, NULL);
	for (int i = 0; i < DECODERS; i++)
		pthread_join(decoders[i], NULL);
	printf("%u written, %u damaged\n", written, statistics.bad);
	return 0;
}
