/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: FLUSHALL frees the database itself and takes 240 ms; in the healthy server it only hands it to the background thread and takes next to nothing.
 *   culprit: FLUSHALL|free database
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After reports about Redis: deleting a huge key or flushing the database frees all of it in the main thread, which
 * blocks all clients; the lazy free leaves that to a thread in the background.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	COMMANDS = 40,
	FLUSH_AT = 20,
	BUCKETS = 120
};

static bool broken;
static sem_t lazy_jobs;
static unsigned done;

static void free_database(void)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "free database");

	THRUM_RUN (task) {
		for (int i = 0; i < BUCKETS; i++)
			usleep(2000);
		thrum_task_resolve(task);
	}
}

static void *lazy_free(void *unused)
{
	thrum_lane_name("bio_lazy_free");
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (sem_wait(&lazy_jobs))
		continue;
	thrum_resume();
	free_database();
	return unused;
}

static void flushall(void)
{
	if (broken)
		free_database();
	else
		sem_post(&lazy_jobs);
}

static void run_command(const char *name)
{
	thrum_task command = thrum_task_create(THRUM_KIND_REQUEST, name);

	THRUM_RUN (command) {
		if (!strcmp(name, "FLUSHALL"))
			flushall();
		else
			usleep(500);
		thrum_task_resolve(command);
	}
	done++;
}

int main(int argc, char **argv)
{
	pthread_t background;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&lazy_jobs, 0, 0);
	if (!broken)
		pthread_create(&background, NULL, lazy_free, NULL);
	for (int i = 0; i < COMMANDS; i++)
		run_command(i == FLUSH_AT ? "FLUSHALL" : i % 2 ? "GET" : "SET");
	if (!broken)
		pthread_join(background, NULL);
	printf("%u commands\n", done);
	return 0;
}
