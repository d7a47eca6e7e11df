/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The checker puts bad rows into the bounded queue of rejects, which main empties only after it has
 *     joined the stages. The queue is full after eight rows, so the checker stops, and the stages before it.
 *   culprit: reject_row|rejects
 *   victim: read_rows|join_stages|write_rows
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* This program imports rows of a meter: one thread reads them, one checks them, one adds them up. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	ROWS = 600,
	ROOM = 16,
	REJECTS_ROOM = 8
};

struct row {
	int line;
	char meter[16];
	long value;
};

struct channel {
	pthread_mutex_t lock;
	pthread_cond_t not_empty;
	pthread_cond_t not_full;
	struct row slots[ROOM];
	int room, begin, count;
	bool closed;
};

#define CHANNEL(size) \
	{ \
		PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, \
			{{0}}, size, 0, 0, false \
	}

static struct channel rows = CHANNEL(ROOM);
static struct channel checked = CHANNEL(ROOM);
static struct channel rejects = CHANNEL(REJECTS_ROOM);

static long total, accepted, refused;

static void channel_put(struct channel *channel, const struct row *row)
{
	pthread_mutex_lock(&channel->lock);
	while (channel->count == channel->room)
		pthread_cond_wait(&channel->not_full, &channel->lock);
	channel->slots[(channel->begin + channel->count++) % channel->room] = *row;
	pthread_cond_signal(&channel->not_empty);
	pthread_mutex_unlock(&channel->lock);
}

static bool channel_take(struct channel *channel, struct row *row)
{
	bool taken = false;

	pthread_mutex_lock(&channel->lock);
	while (!channel->count && !channel->closed)
		pthread_cond_wait(&channel->not_empty, &channel->lock);
	if (channel->count) {
		*row = channel->slots[channel->begin];
		channel->begin = (channel->begin + 1) % channel->room;
		channel->count--;
		taken = true;
		pthread_cond_signal(&channel->not_full);
	}
	pthread_mutex_unlock(&channel->lock);
	return taken;
}

static void channel_close(struct channel *channel)
{
	pthread_mutex_lock(&channel->lock);
	channel->closed = true;
	pthread_cond_broadcast(&channel->not_empty);
	pthread_mutex_unlock(&channel->lock);
}

static void *read_rows(void *unused)
{
	(void)unused;
	for (int line = 1; line <= ROWS; line++) {
		struct row row = {.line = line, .value = line * 37 % 1000};

		snprintf(row.meter, sizeof(row.meter), "M-%04d", line % 48);
		if (line % 20 == 0)
			row.value = -1;
		if (line % 50 == 0)
			usleep(1000);
		channel_put(&rows, &row);
	}
	channel_close(&rows);
	return NULL;
}

static void reject_row(const struct row *row)
{
	channel_put(&rejects, row);
}

static void *check_rows(void *unused)
{
	struct row row;

	(void)unused;
	while (channel_take(&rows, &row)) {
		if (row.value < 0 || strncmp(row.meter, "M-", 2))
			reject_row(&row);
		else
			channel_put(&checked, &row);
	}
	channel_close(&checked);
	channel_close(&rejects);
	return NULL;
}

static void *write_rows(void *unused)
{
	struct row row;

	(void)unused;
	while (channel_take(&checked, &row)) {
		total += row.value;
		accepted++;
		if (accepted % 64 == 0)
			usleep(500);
	}
	return NULL;
}

static void *list_rejects(void *unused)
{
	struct row row;

	(void)unused;
	while (channel_take(&rejects, &row)) {
		refused++;
		if (refused <= 3)
			fprintf(stderr, "line %d: meter %s has no value\n", row.line, row.meter);
	}
	return NULL;
}

static void join_stages(pthread_t *stages, int count)
{
	for (int i = 0; i < count; i++)
		pthread_join(stages[i], NULL);
}

int main(int argc, char **argv)
{
	bool afterwards = argc > 1 && !strcmp(argv[1], "broken");
	pthread_t stages[3], lister;

	if (pthread_create(&stages[0], NULL, read_rows, NULL) ||
		pthread_create(&stages[1], NULL, check_rows, NULL) ||
		pthread_create(&stages[2], NULL, write_rows, NULL))
		return 1;
	if (afterwards) {
		join_stages(stages, 3);
		list_rejects(NULL);
	} else {
		if (pthread_create(&lister, NULL, list_rejects, NULL))
			return 1;
		join_stages(stages, 3);
		pthread_join(lister, NULL);
	}
	printf("%ld rows with %ld units, %ld refused\n", accepted, total, refused);
	return 0;
}
