/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=query-#
 *   truth: each table belongs to one of two shard threads. The job "rebuild-index" also runs on the thread of
 *     shard 1, so query-25, which comes behind it, is ready all the time, but has no turn for 300 ms. The
 *     other queries take 1 ms.
 *   culprit: rebuild-index
 *   victim: client
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A small database: each shard has a thread that answers the queries of its tables. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	SHARDS = 2,
	QUERIES = 40,
	REBUILD_AT = 24
};

struct job {
	thrum_task task;
	void (*run)(void);
	bool is_done;
	struct job *next;
};

struct shard {
	const char *name;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct job *first;
	struct job **end;
	bool is_closed;
	unsigned answered;
};

static bool broken;

/* The last one is for maintenance. */
static struct shard shards[SHARDS + 1] = {{.name = "shard 0"}, {.name = "shard 1"},
	{.name = "maintenance"}};

/* Works for a while. */
static void spin(int ms)
{
	struct timespec time;
	long long until;

	clock_gettime(CLOCK_MONOTONIC, &time);
	until = time.tv_sec * 1000000000LL + time.tv_nsec + ms * 1000000LL;
	do
		clock_gettime(CLOCK_MONOTONIC, &time);
	while (time.tv_sec * 1000000000LL + time.tv_nsec < until);
}

static void answer_query(void)
{
	spin(1);
}

static void rebuild_index(void)
{
	spin(300);
}

/* ---- Shards ---- */

static void *shard_run(void *data)
{
	struct shard *shard = data;
	struct job *job;

	thrum_lane_name(shard->name);
	pthread_mutex_lock(&shard->mutex);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!shard->first && !shard->is_closed)
			pthread_cond_wait(&shard->changed, &shard->mutex);
		thrum_resume();
		if (!shard->first)
			break;
		job = shard->first;
		shard->first = job->next;
		if (!shard->first)
			shard->end = &shard->first;
		pthread_mutex_unlock(&shard->mutex);
		THRUM_RUN (job->task)
			job->run();
		pthread_mutex_lock(&shard->mutex);
		shard->answered++;
		thrum_task_resolve(job->task);
		job->is_done = true;
		pthread_cond_broadcast(&shard->changed);
	}
	pthread_mutex_unlock(&shard->mutex);
	return NULL;
}

static void shard_put(struct shard *shard, struct job *job)
{
	pthread_mutex_lock(&shard->mutex);
	thrum_task_should_resolve(job->task);
	thrum_task_ready(job->task);
	*shard->end = job;
	shard->end = &job->next;
	pthread_cond_broadcast(&shard->changed);
	pthread_mutex_unlock(&shard->mutex);
}

static void shard_wait(struct shard *shard, struct job *job)
{
	thrum_task_wait(thrum_task_current(), job->task);
	thrum_suspend(THRUM_BLOCKED);
	pthread_mutex_lock(&shard->mutex);
	while (!job->is_done)
		pthread_cond_wait(&shard->changed, &shard->mutex);
	pthread_mutex_unlock(&shard->mutex);
	thrum_resume();
	thrum_task_read(thrum_task_current(), job->task);
}

static void shard_open(struct shard *shard)
{
	pthread_mutex_init(&shard->mutex, NULL);
	pthread_cond_init(&shard->changed, NULL);
	shard->end = &shard->first;
	if (pthread_create(&shard->thread, NULL, shard_run, shard))
		abort();
}

static void shard_close(struct shard *shard)
{
	pthread_mutex_lock(&shard->mutex);
	shard->is_closed = true;
	pthread_cond_broadcast(&shard->changed);
	pthread_mutex_unlock(&shard->mutex);
	pthread_join(shard->thread, NULL);
}

/* ---- The client ---- */

static void run_client(void)
{
	struct job rebuild = {.run = rebuild_index};
	struct shard *rebuilder = &shards[broken ? 1 : SHARDS];

	for (int number = 1; number <= QUERIES; number++) {
		struct job query = {.run = answer_query};

		if (number == REBUILD_AT + 1) {
			rebuild.task = thrum_task_create(THRUM_KIND_TASK, "rebuild-index");
			shard_put(rebuilder, &rebuild);
		}
		query.task = thrum_task_createf(THRUM_KIND_TASK, "query-%d", number);
		shard_put(&shards[number % SHARDS], &query);
		shard_wait(&shards[number % SHARDS], &query);
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(3000);
		thrum_resume();
	}
	shard_wait(rebuilder, &rebuild);
}

int main(int argc, char **argv)
{
	thrum_task client;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i <= SHARDS; i++)
		shard_open(&shards[i]);
	client = thrum_task_create(THRUM_KIND_TASK, "client");
	THRUM_RUN (client)
		run_client();
	thrum_task_resolve(client);
	thrum_stop();
	for (int i = 0; i <= SHARDS; i++)
		shard_close(&shards[i]);
	printf("%u + %u queries\n", shards[0].answered, shards[1].answered);
	return 0;
}
