/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The jobs "refresh stats orders" and "refresh stats users" queue themselves again each time, because storing the statistics counts as a change of its own. They have a higher priority than "compact L0", so both workers run nothing else; the compaction never gets a turn, and the writer ("put batch") stalls behind it.
 *   culprit: refresh stats
 *   victim: compact L0|put batch|\bwriter\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A log-structured store: a writer, and two workers with a queue of jobs by priority. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define WORKERS 2
#define BATCHES 24
#define L0_LIMIT 4 /* files that make the writer stall */

enum priority {
	HIGH,
	LOW,
	PRIORITIES
};

struct table {
	const char *name;
	unsigned long seen; /* the change up to which the statistics are right */
	bool queued;
};

struct job {
	struct job *next;
	void (*run)(struct job *job);
	enum priority priority;
	struct table *table;
	bool done;
	thrum_task task;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queued = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static struct job *queues[PRIORITIES], **ends[PRIORITIES] = {&queues[HIGH], &queues[LOW]};
static bool quit, count_own_changes;

static unsigned l0_files, compactions;
static unsigned long changes;
static struct job *compaction; /* the one that is under way */
static struct table tables[] = {{.name = "orders"}, {.name = "users"}};

/* The caller holds the mutex. */
static struct job *submit(void (*run)(struct job *), enum priority priority, struct table *table,
	const char *name)
{
	struct job *job = calloc(1, sizeof(*job));

	job->run = run;
	job->priority = priority;
	job->table = table;
	job->task = table ? thrum_task_createf(THRUM_KIND_TASK, "%s %s", name, table->name)
			  : thrum_task_create(THRUM_KIND_TASK, name);
	thrum_task_should_resolve(job->task);
	thrum_task_ready(job->task);
	*ends[priority] = job;
	ends[priority] = &job->next;
	pthread_cond_signal(&queued);
	return job;
}

/* The caller holds the mutex. */
static struct job *next_job(void)
{
	for (int i = 0; i < PRIORITIES; i++) {
		struct job *job = queues[i];

		if (!job)
			continue;
		queues[i] = job->next;
		if (!queues[i])
			ends[i] = &queues[i];
		return job;
	}
	return NULL;
}

static void refresh_stats(struct job *job)
{
	struct table *table = job->table;
	unsigned long change;

	pthread_mutex_lock(&mutex);
	change = changes;
	pthread_mutex_unlock(&mutex);
	usleep(2500);
	pthread_mutex_lock(&mutex);
	table->seen = change;
	if (count_own_changes)
		changes++;
	if (changes != table->seen)
		submit(refresh_stats, HIGH, table, "refresh stats");
	else
		table->queued = false;
	pthread_mutex_unlock(&mutex);
}

static void compact(struct job *job)
{
	usleep(8000);
	pthread_mutex_lock(&mutex);
	l0_files = 0;
	compactions++;
	compaction = NULL;
	pthread_mutex_unlock(&mutex);
}

static void flush(struct job *job)
{
	usleep(3000);
	pthread_mutex_lock(&mutex);
	changes++;
	if (++l0_files >= L0_LIMIT && !compaction)
		compaction = submit(compact, LOW, NULL, "compact L0");
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (!tables[i].queued) {
			tables[i].queued = true;
			submit(refresh_stats, HIGH, &tables[i], "refresh stats");
		}
	pthread_mutex_unlock(&mutex);
}

static void *worker_run(void *data)
{
	struct job *job;

	thrum_lane_name(data);
	pthread_mutex_lock(&mutex);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!(job = next_job()) && !quit)
			pthread_cond_wait(&queued, &mutex);
		thrum_resume();
		if (!job)
			break;
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (job->task) {
			job->run(job);
			thrum_task_resolve(job->task);
		}
		pthread_mutex_lock(&mutex);
		job->done = true;
		pthread_cond_broadcast(&done);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

/* The caller holds the mutex. */
static void wait_for(struct job *job)
{
	thrum_task self = thrum_task_current();

	thrum_task_wait(self, job->task);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!job->done)
		pthread_cond_wait(&done, &mutex);
	thrum_resume();
	thrum_task_read(self, job->task);
}

static void put_batch(int number)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "put batch %d", number);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		pthread_mutex_lock(&mutex);
		if (compaction && l0_files >= L0_LIMIT)
			wait_for(compaction);
		wait_for(submit(flush, HIGH, NULL, "flush memtable"));
		pthread_mutex_unlock(&mutex);
		thrum_task_resolve(task);
	}
}

static void *writer_run(void *data)
{
	thrum_lane_name("writer");
	for (int i = 1; i <= BATCHES; i++) {
		usleep(2000);
		put_batch(i);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS], writer;

	if (argc != 2)
		return 2;
	alarm(5);
	count_own_changes = !strcmp(argv[1], "broken");
	pthread_create(&workers[0], NULL, worker_run, "worker 1");
	pthread_create(&workers[1], NULL, worker_run, "worker 2");
	pthread_create(&writer, NULL, writer_run, NULL);
	pthread_join(writer, NULL);
	pthread_mutex_lock(&mutex);
	quit = true;
	pthread_cond_broadcast(&queued);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	printf("%d batches, %u compactions\n", BATCHES, compactions);
	return 0;
}
