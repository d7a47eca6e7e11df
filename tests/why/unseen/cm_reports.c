/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 3500
 *   ask: why
 *   truth: idle workers and the archiver wait for one condition, "queue changed". The last report queues its chart,
 *     and job_submit wakes only one of them: that is the archiver, who waits for all jobs to be done and goes back to
 *     sleep. The idle worker isn't woken, nobody draws the chart, and the report waits for it.
 *   culprit: job_submit|archiver
 *   victim: report|office|worker
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* An office prints reports: two workers do the jobs, an archiver packs the papers once all jobs are done. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	WORKERS = 2,
	ROUNDS = 5,
	ROUND_MS = 250,
	JOBS = 32
};
enum work {
	LETTER,
	LONG_LETTER,
	CHART,
	REPORT
};

struct job {
	enum work work;
	unsigned number;
	bool is_done;
	thrum_task task;
};

/* A condition that is recorded. */
struct event {
	pthread_cond_t happened;
	unsigned waiters;
	thrum_task task;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* protects all that follows */
static pthread_cond_t job_done = PTHREAD_COND_INITIALIZER;
static struct event queue_changed;
static struct job *queue[JOBS];
static unsigned queued, taken, running, archived;
static bool is_closed;

static struct timespec opening;
static bool broken;

/* Sleeps until so many ms after the opening. */
static void sleep_until(unsigned ms)
{
	struct timespec time = {opening.tv_sec, opening.tv_nsec + ms * 1000000L};

	time.tv_sec += time.tv_nsec / 1000000000L;
	time.tv_nsec %= 1000000000L;
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
	thrum_resume();
}

static void nap(unsigned ms)
{
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	usleep(ms * 1000);
	thrum_resume();
}

/* ---- Events and jobs; the caller holds the mutex. ---- */

static void event_wait(struct event *event)
{
	thrum_task self = thrum_task_current();

	event->waiters++;
	thrum_task_wait(self, event->task);
	thrum_suspend(THRUM_BLOCKED);
	pthread_cond_wait(&event->happened, &mutex);
	thrum_resume();
	thrum_task_read(self, event->task);
}

/* Wakes one of those who wait, or all. */
static void event_wake(struct event *event, bool all)
{
	thrum_task_signal(event->task, event->waiters);
	if (event->waiters > 0)
		event->waiters = all ? 0 : event->waiters - 1;
	(all ? pthread_cond_broadcast : pthread_cond_signal)(&event->happened);
}

static void job_create(struct job *job, enum work work, unsigned number)
{
	static const char *const names[] = {"letter", "letter", "chart", "report"};

	job->work = work;
	job->number = number;
	job->is_done = false;
	job->task = thrum_task_createf(THRUM_KIND_TASK, "%s %u", names[work], number);
	thrum_task_should_resolve(job->task);
}

static void job_submit(struct job *job)
{
	queue[queued++ % JOBS] = job;
	thrum_task_ready(job->task);
	event_wake(&queue_changed, !broken);
}

static void job_wait(struct job *job)
{
	thrum_task self = thrum_task_current();

	while (!job->is_done) {
		thrum_task_wait(self, job->task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_cond_wait(&job_done, &mutex);
		thrum_resume();
	}
	thrum_task_read(self, job->task);
}

/* ---- Threads ---- */

static void print_report(unsigned number)
{
	struct job chart;

	nap(160);
	pthread_mutex_lock(&mutex);
	job_create(&chart, CHART, number);
	job_submit(&chart);
	job_wait(&chart);
	pthread_mutex_unlock(&mutex);
	nap(5);
}

static void job_run(const struct job *job)
{
	static const unsigned ms[] = {[LETTER] = 6, [LONG_LETTER] = 110, [CHART] = 10};

	if (job->work == REPORT)
		print_report(job->number);
	else
		nap(ms[job->work]);
}

static void *run_worker(void *data)
{
	thrum_lane_name(data);
	pthread_mutex_lock(&mutex);
	for (;;) {
		struct job *job;

		while (taken == queued && !is_closed)
			event_wait(&queue_changed);
		if (taken == queued)
			break;
		job = queue[taken++ % JOBS];
		running++;
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (job->task)
			job_run(job);
		pthread_mutex_lock(&mutex);
		running--;
		job->is_done = true;
		thrum_task_resolve(job->task);
		pthread_cond_broadcast(&job_done);
		if (taken == queued && running == 0)
			event_wake(&queue_changed, true);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

/* Comes in each round, and packs the papers when no job is left. */
static void *run_archiver(void *data)
{
	thrum_lane_name("archiver");
	for (unsigned round = 0; round < ROUNDS; round++) {
		sleep_until(round * ROUND_MS + 70);
		pthread_mutex_lock(&mutex);
		while (taken < queued || running > 0)
			event_wait(&queue_changed);
		archived++;
		pthread_mutex_unlock(&mutex);
	}
	return data;
}

/* The lamp at the door. */
static void *run_lamp(void *data)
{
	thrum_lane_name("lamp");
	for (bool is_off = false; !is_off; nap(100)) {
		pthread_mutex_lock(&mutex);
		printf("%u jobs, %u running, %u archived\n", queued, running, archived);
		is_off = is_closed;
		pthread_mutex_unlock(&mutex);
		fflush(stdout);
	}
	return data;
}

static void run_round(unsigned round)
{
	struct job letter, report;

	pthread_mutex_lock(&mutex);
	job_create(&report, REPORT, round + 1);
	job_submit(&report);
	job_create(&letter, round + 1 < ROUNDS ? LETTER : LONG_LETTER, round + 1);
	job_submit(&letter);
	job_wait(&letter);
	job_wait(&report);
	pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	static char names[WORKERS][16] = {"worker 1", "worker 2"};
	pthread_t worker[WORKERS], archiver, lamp;
	thrum_task office;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	thrum_start(NULL);
	pthread_cond_init(&queue_changed.happened, NULL);
	queue_changed.task = thrum_task_create(THRUM_KIND_CONDITION, "queue changed");
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_create(&worker[i], NULL, run_worker, names[i]);
	nap(20);
	clock_gettime(CLOCK_MONOTONIC, &opening);
	pthread_create(&archiver, NULL, run_archiver, NULL);
	pthread_create(&lamp, NULL, run_lamp, NULL);
	office = thrum_task_create(THRUM_KIND_TASK, "office");
	thrum_task_should_resolve(office);
	THRUM_RUN (office)
		for (unsigned round = 0; round < ROUNDS; round++) {
			sleep_until(round * ROUND_MS);
			run_round(round);
		}
	thrum_task_resolve(office);
	pthread_join(archiver, NULL);
	pthread_mutex_lock(&mutex);
	is_closed = true;
	event_wake(&queue_changed, true);
	pthread_mutex_unlock(&mutex);
	pthread_join(lamp, NULL);
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(worker[i], NULL);
	thrum_stop();
	printf("done: %u jobs, %u archived\n", queued, archived);
	return 0;
}
