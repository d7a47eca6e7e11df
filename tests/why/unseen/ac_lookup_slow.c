/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=lookup
 *   truth: The answers of some lookups are there after 2 ms, and they are ready to run. The only thread of
 *     the scheduler runs one step of the task reindex for 60 ms meanwhile, which should be cut into slices.
 *   culprit: reindex
 *   victim: “?lookup
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define LOOKUPS 80
#define REINDEX_MS 60

struct job;
typedef void step(struct job *job);

/* A task of the scheduler. Its next step is due at a time, and then stands in the queue. */
struct job {
	thrum_task task, answer;
	step *next;
	uint64_t due; /* ns; 0: it isn't waiting for a time */
	unsigned left;
	bool queued;
};

static struct job jobs[LOOKUPS + 1];
static struct job *run_queue[LOOKUPS + 1];
static unsigned head, length, ended;
static unsigned slice_ms = REINDEX_MS;
static uint64_t began, worst;

static uint64_t clock_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void compute(uint64_t ns)
{
	static volatile unsigned sum;
	uint64_t end = clock_ns() + ns;

	while (clock_ns() < end)
		sum = sum * 31 + 7;
}

static void make_ready(struct job *job)
{
	job->queued = true;
	run_queue[(head + length++) % (LOOKUPS + 1)] = job;
	thrum_task_ready(job->task);
}

static void end_job(struct job *job)
{
	ended++;
	job->next = NULL;
	thrum_task_resolve(job->task);
}

static void finish_lookup(struct job *job)
{
	uint64_t late = clock_ns() - job->due;

	thrum_task_read(job->task, job->answer);
	compute(100000);
	if (late > worst)
		worst = late;
	end_job(job);
}

/* Asks the database, which answers after 2 ms. */
static void begin_lookup(struct job *job)
{
	compute(100000);
	job->answer = thrum_task_create(THRUM_KIND_REQUEST, "database answer");
	thrum_task_due(job->answer, 2000000);
	thrum_task_wait(job->task, job->answer);
	job->due = clock_ns() + 2000000;
	job->next = finish_lookup;
}

static void rebuild_index(struct job *job)
{
	compute(slice_ms * 1000000ull);
	job->left -= slice_ms;
	if (job->left)
		make_ready(job);
	else
		end_job(job);
}

static void run_next(void)
{
	struct job *job = run_queue[head];

	head = (head + 1) % (LOOKUPS + 1);
	length--;
	job->queued = false;
	THRUM_RUN (job->task)
		job->next(job);
}

/* Starts lookups each ms, the reindex after 20 ms, and queues those whose answer has come. */
static void poll_times(void)
{
	uint64_t now = clock_ns();

	for (unsigned i = 0; i <= LOOKUPS; i++) {
		struct job *job = &jobs[i];

		if (!job->task && now >= began + (i < LOOKUPS ? i : 20) * 1000000ull) {
			job->task = thrum_task_create(THRUM_KIND_TASK,
				i < LOOKUPS ? "lookup" : "reindex");
			job->next = i < LOOKUPS ? begin_lookup : rebuild_index;
			job->left = REINDEX_MS;
			make_ready(job);
		} else if (job->next == finish_lookup && !job->queued && now >= job->due) {
			thrum_task_resolve(job->answer);
			make_ready(job);
		}
	}
}

int main(int argc, char **argv)
{
	struct timespec pause = {.tv_nsec = 200000};

	if (argc > 1 && !strcmp(argv[1], "healthy"))
		slice_ms = 1;
	if (thrum_start(NULL))
		return 1;
	thrum_lane_name("scheduler");
	began = clock_ns();
	while (ended <= LOOKUPS) {
		poll_times();
		if (length) {
			run_next();
			continue;
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		nanosleep(&pause, NULL);
		thrum_resume();
	}
	thrum_stop();
	printf("the slowest lookup stood in the queue for %u us\n", (unsigned)(worst / 1000));
	return 0;
}
