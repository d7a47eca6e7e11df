/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self size 256K kill 1000
 *   ask: why
 *   truth: A retry storm: after a stall of the inventory the attempts "try reserve" time out and are repeated at once, while their predecessors stay in the inventory's queue; it only works on stale "reserve stock" jobs or rejects, so the checkouts never end.
 *   culprit: reserve|retr(y|ies|ied) storm
 *   victim: checkout
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A shop's checkouts call an inventory with timeouts and retries. Both run in one loop of 0.1 ms ticks. */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	ORDERS = 48,
	QUEUE = 300
};

struct order {
	int number, tries;
	thrum_task task, attempt;
	unsigned version;       /* of the current attempt */
	double deadline, again; /* 0: none */
	bool active;
};

struct job {
	struct order *order;
	unsigned version;
	thrum_task task;
};

static struct order orders[ORDERS];
static struct job queue[QUEUE];
static int first, queued, done, next_number;
static double begin_time;
static bool broken;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6 - begin_time;
}

static void later(struct order *order)
{
	double pause = broken ? 2 : 8 << (order->tries > 3 ? 3 : order->tries);

	order->deadline = 0;
	order->again = now() + pause;
}

static void try_reserve(struct order *order)
{
	order->tries++;
	order->version++;
	order->again = 0;
	THRUM_RUN (order->task) {
		order->attempt = thrum_task_create(THRUM_KIND_REQUEST, "try reserve");
		thrum_task_wait(order->task, order->attempt);
		if (queued == QUEUE) {
			thrum_task_fail(order->attempt, "503 overloaded");
			later(order);
			break;
		}
		struct job *job = &queue[(first + queued++) % QUEUE];

		job->order = order;
		job->version = order->version;
		job->task = thrum_task_create(THRUM_KIND_TASK, "reserve stock");
		thrum_task_ready(job->task);
		thrum_task_wait(order->attempt, job->task);
		order->deadline = now() + 8;
	}
}

static void serve(void)
{
	while (queued) {
		struct job job = queue[first];

		first = (first + 1) % QUEUE;
		queued--;
		bool stale = !job.order->active || job.order->version != job.version ||
			!job.order->deadline;

		if (stale && !broken) { /* its client has gone */
			thrum_task_cancel(job.task);
			continue;
		}
		THRUM_RUN (job.task) {
			double until = now() + 0.9;

			while (now() < until)
				usleep(200);
			thrum_task_resolve(job.task);
		}
		if (!stale)
			THRUM_RUN (job.order->task) {
				thrum_task_resolve(job.order->attempt);
				thrum_task_read(job.order->task, job.order->attempt);
				thrum_task_resolve(job.order->task);
				job.order->active = false;
				done++;
			}
		return;
	}
}

int main(int argc, char **argv)
{
	double next = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	begin_time = now();
	while (broken || now() < 900 || queued || next_number > done) {
		double t = now();

		if (next <= t && (broken || t < 900)) {
			next = t + 3;
			for (int i = 0; i < ORDERS; i++)
				if (!orders[i].active) {
					orders[i].active = true;
					orders[i].number = next_number++;
					orders[i].tries = 0;
					orders[i].task = thrum_task_createf(THRUM_KIND_REQUEST,
						"checkout %d", orders[i].number);
					thrum_task_should_resolve(orders[i].task);
					try_reserve(&orders[i]);
					break;
				}
		}
		for (int i = 0; i < ORDERS; i++) {
			if (!orders[i].active)
				continue;
			if (orders[i].deadline && orders[i].deadline <= t) {
				thrum_task_fail(orders[i].attempt, "timed out");
				later(&orders[i]);
			}
			if (orders[i].again && orders[i].again <= t)
				try_reserve(&orders[i]);
		}
		if (t > 60 && t < 110) { /* the inventory's database pauses */
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			usleep(1000);
			thrum_resume();
		} else if (queued)
			serve();
		else {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			usleep(300);
			thrum_resume();
		}
	}
	printf("%d checkouts\n", done);
	return 0;
}
