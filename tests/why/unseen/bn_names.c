/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=lookup
 *   truth: the journal is compacted in the thread of the event loop, all of it in one turn ("compact journal",
 *     journal_compact), so the lookups that come meanwhile wait for their turn for up to 100 ms instead of 1 ms.
 *   culprit: compact journal|journal_compact
 *   victim: lookup
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A name server: lookups and updates are jobs of one event loop. Its journal is compacted after so many updates. */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	QUERIES = 250,
	JOURNAL_MAX = 40,
	SLICES = 100
};

struct job {
	thrum_task task;
	bool (*step)(struct job *); /* returns whether the job is done */
	int argument, slice;
	struct job *next;
};

static bool broken;
static struct job *queue, **queue_end = &queue;
static int wire[2]; /* jobs for the loop */
static int journal_entries, answers;
static struct job *compaction;
static volatile uint64_t digest;

static int64_t now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

static void job_queue(struct job *job)
{
	job->next = NULL;
	*queue_end = job;
	queue_end = &job->next;
}

static struct job *job_new(const char *label, bool (*step)(struct job *), int argument)
{
	struct job *job = calloc(1, sizeof(*job));

	job->task = thrum_task_create_in(THRUM_TASK_NONE, THRUM_KIND_TASK, label);
	thrum_task_should_resolve(job->task);
	job->step = step;
	job->argument = argument;
	thrum_task_ready(job->task);
	return job;
}

/* Checksums of the zone's records. */
static void hash_for_us(int64_t us)
{
	int64_t end = now_us() + us;

	while (now_us() < end)
		for (int i = 0; i < 500; i++)
			digest = digest * 6364136223846793005u + 1442695040888963407u;
}

static bool lookup(struct job *job)
{
	hash_for_us(100 + job->argument % 3 * 50);
	answers++;
	return true;
}

static void journal_slice(int slice)
{
	thrum_logf("slice %d", slice);
	hash_for_us(1000);
}

static bool journal_compact(struct job *job)
{
	if (broken) {
		while (job->slice < SLICES)
			journal_slice(job->slice++);
	} else if (job->slice < SLICES) {
		journal_slice(job->slice++);
		return false;
	}
	compaction = NULL;
	return true;
}

static bool update(struct job *job)
{
	hash_for_us(150);
	answers++;
	thrum_logf("record %d changed", job->argument);
	if (++journal_entries >= JOURNAL_MAX && !compaction) {
		journal_entries = 0;
		compaction = job_new("compact journal", journal_compact, 0);
		job_queue(compaction);
	}
	return true;
}

static void queries_read(void)
{
	struct job *jobs[16];
	ssize_t count = read(wire[0], jobs, sizeof(jobs));

	for (int i = 0; i < (int)(count / (ssize_t)sizeof(jobs[0])); i++)
		job_queue(jobs[i]);
}

static void jobs_run(void)
{
	struct job *job = queue;

	queue = job->next;
	if (!queue)
		queue_end = &queue;
	THRUM_RUN (job->task) {
		if (!job->step(job)) {
			thrum_task_ready(job->task);
			job_queue(job);
			break;
		}
		thrum_task_resolve(job->task);
		free(job);
	}
}

static void serve(void)
{
	struct pollfd input = {.fd = wire[0], .events = POLLIN};

	while (answers < QUERIES || queue) {
		int ready;

		if (!queue)
			thrum_suspend(THRUM_WAIT_FOR_WORK);
		ready = poll(&input, 1, queue ? 0 : -1);
		thrum_resume();
		if (ready > 0)
			queries_read();
		if (queue)
			jobs_run();
	}
}

/* Receives queries, and gives each to the loop as a job. */
static void *receive_queries(void *data)
{
	struct timespec pause = {0, 4000000};

	(void)data;
	thrum_lane_name("receiver");
	for (int i = 0; i < QUERIES; i++) {
		struct job *job = i % 4 == 3 ? job_new("update", update, i)
					     : job_new("lookup", lookup, i);

		if (write(wire[1], &job, sizeof(job)) != sizeof(job))
			break;
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		nanosleep(&pause, NULL);
		thrum_resume();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t receiver;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (pipe(wire))
		return 1;
	thrum_start(NULL);
	thrum_lane_name("name server");
	pthread_create(&receiver, NULL, receive_queries, NULL);
	serve();
	thrum_suspend(THRUM_BLOCKED);
	pthread_join(receiver, NULL);
	thrum_resume();
	thrum_stop();
	printf("%d answers\n", answers);
	return 0;
}
