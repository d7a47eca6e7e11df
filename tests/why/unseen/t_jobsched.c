/* SPDX-License-Identifier: ISC */
/*
 * case: starve
 *   args: starve
 *   ask: why --slow="nightly report"
 *   truth: "nightly report" is ready all the time, but "rescan mounts" has a higher priority and queues itself again after each step: it keeps the only thread.
 *   culprit: rescan mounts
 *   victim: nightly report
 * case: rates
 *   args: rates
 *   ask: why --slow="nightly report"
 *   truth: "nightly report" waits long for the answer to "fetch exchange rates"; the scheduler is idle meanwhile.
 *   culprit: fetch exchange rates
 *   victim: nightly report
 */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <thrum.h>
#include <unistd.h>

enum {
	DONE,
	AGAIN,
	BLOCKED
};

struct job {
	const char *name;
	int priority, steps, step_us;
	int step;
	bool ready, ended;
	thrum_task task;
};

static struct job jobs[] = {
	{"rotate logs", 5, 3, 2000},
	{"nightly report", 2, 5, 3000},
	{"rescan mounts", 9, 3, 6000},
	{"purge sessions", 4, 4, 1500},
};
#define JOBS (sizeof(jobs) / sizeof(*jobs))

static int answer_fd, answer_ms = 20;
static thrum_task fetch;

static void make_ready(struct job *job)
{
	job->ready = true;
	thrum_task_ready(job->task);
}

static void ask_rates(struct job *job)
{
	struct itimerspec spec = {.it_value = {0, answer_ms * 1000000L}};

	fetch = thrum_task_create(THRUM_KIND_REQUEST, "fetch exchange rates");
	thrum_task_wait(job->task, fetch);
	timerfd_settime(answer_fd, 0, &spec, NULL);
}

static int run_step(struct job *job)
{
	if (fetch && job == &jobs[1] && job->step == 2)
		thrum_task_read(job->task, fetch);
	usleep(job->step_us); /* synchronous disk work */
	if (++job->step == job->steps)
		return DONE;
	if (job == &jobs[1] && job->step == 2) {
		ask_rates(job);
		return BLOCKED;
	}
	return AGAIN;
}

static struct job *highest(void)
{
	struct job *best = NULL;

	for (size_t i = 0; i < JOBS; i++)
		if (jobs[i].ready && (!best || jobs[i].priority > best->priority))
			best = &jobs[i];
	return best;
}

static void poll_answers(int timeout)
{
	struct pollfd descriptor = {answer_fd, POLLIN, 0};
	uint64_t count;

	if (timeout) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(&descriptor, 1, timeout);
		thrum_resume();
	} else {
		poll(&descriptor, 1, 0);
	}
	if ((descriptor.revents & POLLIN) && read(answer_fd, &count, sizeof(count)) > 0) {
		thrum_task_resolve(fetch);
		make_ready(&jobs[1]);
	}
}

int main(int argc, char **argv)
{
	size_t left = JOBS;

	if (argc > 1 && !strcmp(argv[1], "starve"))
		jobs[2].steps = 70;
	if (argc > 1 && !strcmp(argv[1], "rates"))
		answer_ms = 380;
	answer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	thrum_lane_name("scheduler");
	for (size_t i = 0; i < JOBS; i++) {
		jobs[i].task = thrum_task_create(THRUM_KIND_TASK, jobs[i].name);
		thrum_task_should_resolve(jobs[i].task);
		make_ready(&jobs[i]);
	}
	while (left) {
		struct job *job = highest();

		poll_answers(job ? 0 : -1);
		if (!job)
			continue;
		job->ready = false;
		THRUM_RUN (job->task) {
			switch (run_step(job)) {
			case DONE:
				left--;
				thrum_task_resolve(job->task);
				break;
			case AGAIN: make_ready(job); break;
			default: break;
			}
		}
	}
	thrum_stop();
	return 0;
}
