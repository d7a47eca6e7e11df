/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The snapshot of the volume “mail” is refused, and the worker goes on with the next volume without calling volume_finished. So “back up mail” never ends, the counter never gets to 0, and “nightly backup” waits for ever.
 *   culprit: back up mail|run_worker
 *   victim: nightly backup
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A nightly backup: three workers copy volumes from snapshots. Only the volumes and the whole backup are
 * reported to thrum. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 3

enum outcome {
	COPIED,
	SKIPPED
};

struct volume {
	const char *name;
	unsigned megabytes;
	bool busy; /* a database holds it */
	enum outcome outcome;
	thrum_task task;
};

static struct volume volumes[] = {
	{"etc", 2},
	{"home", 60},
	{"www", 25},
	{"git", 30},
	{"mail", 40, true},
	{"wiki", 8},
	{"photos", 90},
	{"logs", 12},
};
#define VOLUMES (sizeof(volumes) / sizeof(volumes[0]))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_finished = PTHREAD_COND_INITIALIZER;
static size_t next_volume, unfinished = VOLUMES;
static pthread_mutex_t link_lock =
	PTHREAD_MUTEX_INITIALIZER; /* the uplink takes one block at a time */
static atomic_uint blocks_sent, throttles;
static atomic_bool over;
static bool count_skipped;
static thrum_task backup;

static void pause_us(long microseconds)
{
	struct timespec time = {0, microseconds * 1000};

	nanosleep(&time, NULL);
}

static void volume_finished(struct volume *volume, enum outcome outcome)
{
	pthread_mutex_lock(&lock);
	volume->outcome = outcome;
	thrum_task_resolve(volume->task);
	if (--unfinished == 0)
		pthread_cond_signal(&all_finished);
	pthread_mutex_unlock(&lock);
}

static bool snapshot_create(struct volume *volume)
{
	for (int attempt = 0; attempt < 3; attempt++) {
		pause_us(4000);
		if (!volume->busy)
			return true;
	}
	return false;
}

static void send_block(const struct volume *volume, unsigned number)
{
	pthread_mutex_lock(&link_lock);
	pause_us(200);
	if (++blocks_sent % 64 == 0) {
		throttles++;
		pause_us(5000); /* the other side asks for a break */
	}
	pthread_mutex_unlock(&link_lock);
}

static struct volume *take_volume(void)
{
	struct volume *volume = NULL;

	pthread_mutex_lock(&lock);
	if (next_volume < VOLUMES)
		volume = &volumes[next_volume++];
	pthread_mutex_unlock(&lock);
	return volume;
}

static void *run_worker(void *data)
{
	struct volume *volume;

	pthread_setname_np(pthread_self(), "worker");
	while ((volume = take_volume())) {
		if (!snapshot_create(volume)) {
			fprintf(stderr, "%s: no snapshot, skipped tonight\n", volume->name);
			if (count_skipped)
				volume_finished(volume, SKIPPED);
			continue;
		}
		for (unsigned i = 0; i < volume->megabytes; i++)
			send_block(volume, i);
		volume_finished(volume, COPIED);
	}
	return NULL;
}

static void *rotate_old_backups(void *data)
{
	int removed = 0;

	while (!over) {
		pause_us(30000);
		removed++;
	}
	return NULL;
}

static void plan(void)
{
	backup = thrum_task_create(THRUM_KIND_TASK, "nightly backup");
	thrum_task_should_resolve(backup);
	for (size_t i = 0; i < VOLUMES; i++) {
		volumes[i].task = thrum_task_createf(THRUM_KIND_TASK, "back up %s",
			volumes[i].name);
		thrum_task_wait(backup, volumes[i].task);
	}
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS], rotation;
	unsigned copied = 0;

	count_skipped = argc < 2 || strcmp(argv[1], "broken");
	plan();
	pthread_create(&rotation, NULL, rotate_old_backups, NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, run_worker, NULL);
	pthread_mutex_lock(&lock);
	while (unfinished > 0)
		pthread_cond_wait(&all_finished, &lock);
	pthread_mutex_unlock(&lock);
	thrum_task_resolve(backup);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	over = true;
	pthread_join(rotation, NULL);
	for (size_t i = 0; i < VOLUMES; i++)
		copied += volumes[i].outcome == COPIED;
	fprintf(stderr, "%u volumes copied, throttled %u times\n", copied, throttles);
	return 0;
}
