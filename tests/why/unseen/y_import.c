/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: stop 1500
 *   ask: why
 *   truth: the disk is full, the thread csv-writer (write_rows) ends after the error and tells nobody; the queue fills, and csv-parser waits for room for ever.
 *   culprit: csv-writer|write_rows
 *   victim: csv-parser|parse_rows|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	ROWS = 500,
	ROOM = 16
};

/* A bounded queue of rows between two threads. */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t not_empty, not_full;
	char rows[ROOM][64];
	unsigned in, out;
	bool ended, failed;
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.not_empty = PTHREAD_COND_INITIALIZER,
	.not_full = PTHREAD_COND_INITIALIZER};
static bool broken;

static bool queue_put(const char *row)
{
	bool failed;

	pthread_mutex_lock(&queue.mutex);
	while (queue.in - queue.out == ROOM && !queue.failed)
		pthread_cond_wait(&queue.not_full, &queue.mutex);
	failed = queue.failed;
	if (!failed) {
		strcpy(queue.rows[queue.in++ % ROOM], row);
		pthread_cond_signal(&queue.not_empty);
	}
	pthread_mutex_unlock(&queue.mutex);
	return !failed;
}

static bool queue_take(char *row)
{
	bool some;

	pthread_mutex_lock(&queue.mutex);
	while (queue.in == queue.out && !queue.ended)
		pthread_cond_wait(&queue.not_empty, &queue.mutex);
	some = queue.in != queue.out;
	if (some) {
		strcpy(row, queue.rows[queue.out++ % ROOM]);
		pthread_cond_signal(&queue.not_full);
	}
	pthread_mutex_unlock(&queue.mutex);
	return some;
}

static void *parse_rows(void *data)
{
	char row[64];

	for (int i = 0; i < ROWS; i++) {
		snprintf(row, sizeof row, "%d;customer %d;%d.%02d\n", i, i * 7 % 31, i * 3,
			i % 100);
		if (i % 8 == 0)
			usleep(2000);
		if (!queue_put(row)) {
			fprintf(stderr, "import stopped in row %d\n", i);
			break;
		}
	}
	pthread_mutex_lock(&queue.mutex);
	queue.ended = true;
	pthread_cond_signal(&queue.not_empty);
	pthread_mutex_unlock(&queue.mutex);
	return data;
}

static void *write_rows(void *data)
{
	int rows = 0, good = open("/dev/null", O_WRONLY), full = open("/dev/full", O_WRONLY);
	char row[64];

	while (queue_take(row)) {
		/* after 100 rows the disk is full */
		if (write(rows++ < 100 ? good : full, row, strlen(row)) >= 0)
			continue;
		fprintf(stderr, "write: %s\n", strerror(errno));
		if (!broken) {
			pthread_mutex_lock(&queue.mutex);
			queue.failed = true;
			pthread_cond_broadcast(&queue.not_full);
			pthread_mutex_unlock(&queue.mutex);
		}
		break;
	}
	close(good);
	close(full);
	return data;
}

int main(int argc, char **argv)
{
	pthread_t parser, writer;

	alarm(25);
	broken = !(argc > 1 && strcmp(argv[1], "healthy") == 0);
	pthread_create(&writer, NULL, write_rows, NULL);
	pthread_setname_np(writer, "csv-writer");
	pthread_create(&parser, NULL, parse_rows, NULL);
	pthread_setname_np(parser, "csv-parser");
	pthread_join(parser, NULL);
	pthread_join(writer, NULL);
	return 0;
}
