/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: Shard 3 got no line in hour 5, so it sends no partial count when it is told to flush. The report
 *          expects a partial count from each shard, and waits for the fourth.
 *   culprit: shard 3
 *   victim: report of hour 5|partial counts
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define SHARDS 4
#define HOURS 14
#define ROOM 32

enum {
	LINE,
	FLUSH,
	QUIT,
	PARTIAL
};

struct letter {
	int kind, value;
};

struct mailbox {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct letter letters[ROOM];
	unsigned first, count, readers;
	thrum_task task;
};

struct shard {
	int number;
	pthread_t thread;
	struct mailbox inbox;
};

static struct shard shards[SHARDS];
static struct mailbox partials;
static atomic_int lines_read, finished;
static bool broken;

static void mailbox_init(struct mailbox *box, const char *label)
{
	pthread_mutex_init(&box->mutex, NULL);
	pthread_cond_init(&box->changed, NULL);
	box->task = thrum_task_create(THRUM_KIND_MAILBOX, label);
}

/* The caller holds the mutex, and has found the mailbox full or empty. */
static void mailbox_wait(struct mailbox *box)
{
	thrum_task_wait(thrum_task_current(), box->task);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_cond_wait(&box->changed, &box->mutex);
	thrum_resume();
}

static void mailbox_put(struct mailbox *box, int kind, int value)
{
	pthread_mutex_lock(&box->mutex);
	while (box->count == ROOM)
		mailbox_wait(box);
	box->letters[(box->first + box->count++) % ROOM] = (struct letter){kind, value};
	thrum_task_signal(box->task, box->readers);
	pthread_cond_broadcast(&box->changed);
	pthread_mutex_unlock(&box->mutex);
}

static struct letter mailbox_take(struct mailbox *box)
{
	struct letter letter;

	pthread_mutex_lock(&box->mutex);
	box->readers++;
	while (box->count == 0)
		mailbox_wait(box);
	box->readers--;
	letter = box->letters[box->first++ % ROOM];
	box->count--;
	thrum_task_read(thrum_task_current(), box->task);
	pthread_cond_broadcast(&box->changed);
	pthread_mutex_unlock(&box->mutex);
	return letter;
}

static void *run_shard(void *data)
{
	struct shard *shard = data;
	char name[16];
	int lines = 0;

	snprintf(name, sizeof(name), "shard %d", shard->number);
	thrum_lane_name(name);
	for (;;) {
		struct letter letter = mailbox_take(&shard->inbox);

		if (letter.kind == QUIT)
			return NULL;
		if (letter.kind == LINE) {
			for (volatile int i = 0; i < 2000; i++)
				continue; /* parses it */
			lines++;
			continue;
		}
		if (lines == 0 && broken)
			continue; /* nothing to report */
		mailbox_put(&partials, PARTIAL, lines);
		lines = 0;
	}
}

/* The shops whose lines go to shard 3 are closed in hour 5. */
static int shard_of(int hour, unsigned *seed)
{
	int shard = (int)(rand_r(seed) % SHARDS);

	return hour == 5 && shard == 3 ? 0 : shard;
}

static void report_hour(int hour, unsigned *seed)
{
	int total = 0, expected = 120 + hour * 5;

	for (int i = 0; i < expected; i++) {
		mailbox_put(&shards[shard_of(hour, seed)].inbox, LINE, i);
		lines_read++;
	}
	for (int i = 0; i < SHARDS; i++)
		mailbox_put(&shards[i].inbox, FLUSH, hour);
	for (int i = 0; i < SHARDS; i++)
		total += mailbox_take(&partials).value;
	printf("hour %d: %d lines\n", hour, total);
}

static void *show_rate(void *data)
{
	(void)data;
	thrum_lane_name("rate");
	while (!finished) {
		fprintf(stderr, "%d lines so far\n", lines_read);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		nanosleep(&(struct timespec){.tv_nsec = 25000000}, NULL);
		thrum_resume();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned seed = 7;
	pthread_t rate;
	char label[16];

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (thrum_start(NULL))
		return 2;
	mailbox_init(&partials, "partial counts");
	for (int i = 0; i < SHARDS; i++) {
		snprintf(label, sizeof(label), "inbox %d", i);
		mailbox_init(&shards[i].inbox, label);
		shards[i].number = i;
		pthread_create(&shards[i].thread, NULL, run_shard, &shards[i]);
	}
	pthread_create(&rate, NULL, show_rate, NULL);
	for (int hour = 1; hour <= HOURS; hour++) {
		thrum_task report = thrum_task_createf(THRUM_KIND_TASK, "report of hour %d", hour);

		thrum_task_should_resolve(report);
		THRUM_RUN (report) {
			report_hour(hour, &seed);
			thrum_task_resolve(report);
		}
		nanosleep(&(struct timespec){.tv_nsec = 6000000}, NULL); /* the next file */
	}
	for (int i = 0; i < SHARDS; i++)
		mailbox_put(&shards[i].inbox, QUIT, 0);
	for (int i = 0; i < SHARDS; i++)
		pthread_join(shards[i].thread, NULL);
	finished = 1;
	pthread_join(rate, NULL);
	thrum_stop();
	return 0;
}
