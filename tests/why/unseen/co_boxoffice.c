/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=reserve
 *   truth: Reservations take about 10 ms. The slow ones are ready, but the only thread is busy: a job "print tickets"
 *     encodes all its pages in one turn of the scheduler (print_step, encode_page), which takes 100 ms.
 *   culprit: print tickets|print_step|encode_page
 *   victim: reserve
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* The box office of a theatre: one thread with a scheduler of its own serves reservations and prints tickets. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define RESERVATIONS 120
#define INTERVAL_MS 12
#define LEDGER_MS 6
#define PAGES 50
#define SEATS 400

struct job {
	thrum_task task;
	thrum_task timer; /* for which it sleeps */
	int64_t due;
	bool (*step)(struct job *job); /* returns whether the job has ended */
	int stage;
	int seat;
	struct job *next;
};

static struct job *queue, **queue_end = &queue;
static struct job *sleepers;
static unsigned char seats[SEATS];
static unsigned printed, reserved;
static unsigned checksum;
static bool broken;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void make_ready(struct job *job)
{
	thrum_task_ready(job->task);
	job->next = NULL;
	*queue_end = job;
	queue_end = &job->next;
}

static void job_sleep(struct job *job, int ms)
{
	job->timer = thrum_task_createf(THRUM_KIND_TIMER, "ledger answers");
	thrum_task_due(job->timer, (int64_t)ms * 1000000);
	thrum_task_wait(job->task, job->timer);
	job->due = now_ns() + (int64_t)ms * 1000000;
	job->next = sleepers;
	sleepers = job;
}

static void wake_sleepers(void)
{
	int64_t now = now_ns();

	for (struct job **at = &sleepers; *at;) {
		struct job *job = *at;

		if (job->due > now) {
			at = &job->next;
			continue;
		}
		*at = job->next;
		thrum_task_resolve(job->timer);
		make_ready(job);
	}
}

static void job_begin(bool (*step)(struct job *), const char *kind, int number)
{
	struct job *job = calloc(1, sizeof *job);

	job->step = step;
	job->seat = number * 37 % SEATS;
	job->task = thrum_task_createf(THRUM_KIND_TASK, "%s %d", kind, number);
	thrum_task_should_resolve(job->task);
	make_ready(job);
}

static bool reserve_step(struct job *job)
{
	if (job->stage++ == 0) {
		while (seats[job->seat])
			job->seat = (job->seat + 1) % SEATS;
		seats[job->seat] = 1;
		job_sleep(job, LEDGER_MS); /* the ledger is another machine */
		return false;
	}
	thrum_task_read(job->task, job->timer);
	seats[job->seat] = 2;
	reserved++;
	return true;
}

/* Encodes one page for the printer: some 2 ms of work. */
static void encode_page(int page)
{
	int64_t end = now_ns() + 2000000;

	do {
		for (int i = 0; i < SEATS; i++)
			checksum = checksum * 31 + seats[i] + (unsigned)page;
	} while (now_ns() < end);
	printed++;
}

static bool print_step(struct job *job)
{
	do
		encode_page(job->stage++);
	while (broken && job->stage < PAGES);
	if (job->stage < PAGES) {
		make_ready(job);
		return false;
	}
	return true;
}

static void run_queue(void)
{
	struct job *job = queue;

	if (!job)
		return;
	queue = job->next;
	if (!queue)
		queue_end = &queue;
	THRUM_RUN (job->task) {
		if (!job->step(job))
			break;
		thrum_task_resolve(job->task);
		free(job);
	}
}

int main(int argc, char **argv)
{
	int64_t next;
	int number = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	thrum_lane_name("box office");
	next = now_ns();
	while (number < RESERVATIONS || queue || sleepers) {
		while (number < RESERVATIONS && now_ns() >= next) {
			job_begin(reserve_step, "reserve", ++number);
			if (number % 40 == 20)
				job_begin(print_step, "print tickets", number);
			next += INTERVAL_MS * 1000000;
		}
		wake_sleepers();
		if (queue) {
			run_queue();
			continue;
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(500);
		thrum_resume();
	}
	printf("%u reservations, %u pages (%u)\n", reserved, printed, checksum & 1);
	return 0;
}
