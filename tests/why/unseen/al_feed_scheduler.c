/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: poll_feed posts itself again as urgent as long as the feed says that more may come. The feeds "fx" and "bonds"
 *     always say so, and take turns; the scheduler serves the urgent queue first, so "checkpoint" never has a turn.
 *   culprit: feed (fx|bonds)|poll_feed
 *   victim: checkpoint|close books
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Collects ticks of several feeds, with a scheduler of its own that has an urgent and a normal queue. */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

THRUM_TAG(device, NULL, "read the feed", 1);
THRUM_TAG(disk, NULL, "write to the disk", 1);

/* ---- The scheduler ----------------------------------------------------------------------------------- */

enum priority {
	URGENT,
	NORMAL,
	PRIORITIES
};

struct job {
	void (*step)(struct job *job); /* posts the job again, or ends it */
	enum priority priority;
	bool ended;
	struct job *next, *waiter;
	thrum_task task;
};

static struct job *queues[PRIORITIES], **ends[PRIORITIES] = {&queues[URGENT], &queues[NORMAL]};
static unsigned live;
static int clock_descriptor; /* ticks when the feeds may have news */

static void job_post(struct job *job)
{
	thrum_task_ready(job->task);
	job->next = NULL;
	*ends[job->priority] = job;
	ends[job->priority] = &job->next;
}

static void job_end(struct job *job)
{
	thrum_task_resolve(job->task);
	job->ended = true;
	live--;
	if (job->waiter)
		job_post(job->waiter);
}

static void job_begin(struct job *job, const char *name, enum priority priority,
	void (*step)(struct job *job))
{
	job->step = step;
	job->priority = priority;
	job->task = thrum_task_create(THRUM_KIND_TASK, name);
	live++;
	job_post(job);
}

/* The job goes on when the other one has ended. */
static void job_wait(struct job *job, struct job *other)
{
	thrum_task_wait(job->task, other->task);
	other->waiter = job;
}

static struct job *job_pop(void)
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

static void on_clock(void);

static void scheduler_run(void)
{
	while (live > 0) {
		struct pollfd polled = {clock_descriptor, POLLIN, 0};
		struct job *job = job_pop();

		if (job) {
			THRUM_RUN (job->task)
				job->step(job);
			continue;
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(&polled, 1, -1);
		thrum_resume();
		on_clock();
	}
}

/* ---- Feeds ------------------------------------------------------------------------------------------- */

static void block_ms(struct thrum_tag *tag, unsigned ms)
{
	struct timespec time = {0, ms * 1000000L};

	thrum_suspend(tag);
	nanosleep(&time, NULL);
	thrum_resume();
}

struct feed {
	struct job job;
	const char *name;
	unsigned batches; /* of ticks that are in the device's buffer */
	unsigned ticks;
	bool may_have_more; /* the device can't tell whether its buffer is empty */
	bool sleeps;        /* until the clock ticks */
};

static struct feed feeds[] = {
	{.name = "feed shares", .batches = 4},
	{.name = "feed fx", .batches = 6},
	{.name = "feed bonds", .batches = 5},
	{.name = "feed metals", .batches = 2},
};
#define FEEDS (sizeof(feeds) / sizeof(*feeds))

static bool market_closed;

/* Returns the number of ticks that were read. */
static __attribute__((noinline)) unsigned read_ticks(struct feed *feed)
{
	block_ms(&device, 3);
	if (feed->batches == 0)
		return 0;
	feed->batches--;
	return 20;
}

static __attribute__((noinline)) void poll_feed(struct job *job)
{
	struct feed *feed = (struct feed *)job;

	feed->ticks += read_ticks(feed);
	if (feed->batches > 0 || feed->may_have_more)
		job_post(job);
	else if (market_closed)
		job_end(job);
	else
		feed->sleeps = true;
}

static void on_clock(void)
{
	uint64_t count;

	if (read(clock_descriptor, &count, sizeof(count)) != sizeof(count))
		return;
	for (unsigned i = 0; i < FEEDS; i++) {
		if (feeds[i].sleeps) {
			feeds[i].sleeps = false;
			job_post(&feeds[i].job);
		}
	}
}

/* ---- The books ----------------------------------------------------------------------------------------- */

static struct job checkpoint, close_books;

static __attribute__((noinline)) void write_checkpoint(struct job *job)
{
	block_ms(&disk, 5);
	job_end(job);
}

static void step_close(struct job *job)
{
	if (!checkpoint.ended) {
		job_wait(job, &checkpoint);
		return;
	}
	market_closed = true;
	job_end(job);
}

int main(int argc, char **argv)
{
	struct itimerspec every = {{0, 20000000}, {0, 20000000}};
	unsigned ticks = 0;

	if (thrum_start(NULL))
		return 2;
	clock_descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (clock_descriptor < 0 || timerfd_settime(clock_descriptor, 0, &every, NULL))
		return 2;
	if (argc > 1 && !strcmp(argv[1], "broken")) /* these come from devices of the new kind */
		feeds[1].may_have_more = feeds[2].may_have_more = true;
	for (unsigned i = 0; i < FEEDS; i++)
		job_begin(&feeds[i].job, feeds[i].name, URGENT, poll_feed);
	job_begin(&checkpoint, "checkpoint", NORMAL, write_checkpoint);
	thrum_task_should_resolve(checkpoint.task);
	job_begin(&close_books, "close books", URGENT, step_close);
	thrum_task_should_resolve(close_books.task);
	scheduler_run();
	thrum_stop();
	for (unsigned i = 0; i < FEEDS; i++)
		ticks += feeds[i].ticks;
	printf("%u ticks\n", ticks);
	close(clock_descriptor);
	return 0;
}
