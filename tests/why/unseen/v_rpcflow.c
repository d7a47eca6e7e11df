/* SPDX-License-Identifier: ISC */
/*
 * case: slow
 *   args: slow
 *   ask: why --slow="rpc Commit"
 *   truth: one Commit's last segment is odd, so the peer does not acknowledge it at once, but only when its "delayed ack" timer of 240 ms fires; the send window stays shut for so long.
 *   culprit: delayed ack
 *   victim: rpc Commit
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* An RPC client with flow control, on its own loop of timers. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define TIMERS 64

struct rpc {
	thrum_task task, window, ack;
	bool commit;
};
struct timer {
	int64_t due;
	thrum_task task;
	void (*fire)(struct rpc *rpc);
	struct rpc *rpc;
};

static struct timer timers[TIMERS];
static struct rpc rpcs[40];
static int started, ended;
static bool odd_segment;
static volatile unsigned long checksum;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static thrum_task timer_start(const char *name, int64_t ns, void (*fire)(struct rpc *),
	struct rpc *rpc)
{
	for (int i = 0; i < TIMERS; i++)
		if (!timers[i].fire) {
			timers[i].due = now() + ns;
			timers[i].task = thrum_task_create(THRUM_KIND_TIMER, name);
			timers[i].fire = fire;
			timers[i].rpc = rpc;
			thrum_task_due(timers[i].task, ns);
			return timers[i].task;
		}
	return THRUM_TASK_NONE;
}

static void reply_comes(struct rpc *rpc)
{
	THRUM_RUN (rpc->task) {
		for (int i = 0; i < 20000; i++)
			checksum += (unsigned long)i;
		thrum_task_resolve(rpc->task);
	}
	ended++;
}

/* The acknowledgement opens the window; the rest of the call can be sent. */
static void ack_comes(struct rpc *rpc)
{
	thrum_task_resolve(rpc->ack);
	thrum_task_read(rpc->window, rpc->ack);
	thrum_task_resolve(rpc->window);
	THRUM_RUN (rpc->task) {
		thrum_task_read(rpc->task, rpc->window);
		thrum_task_wait(rpc->task, timer_start("round trip", 4000000, reply_comes, rpc));
	}
}

static void rpc_start(int number)
{
	struct rpc *rpc = &rpcs[number];
	bool late = odd_segment && number == 17;

	rpc->commit = number % 4 == 1;
	rpc->task = thrum_task_create(THRUM_KIND_REQUEST, rpc->commit ? "rpc Commit" : "rpc Get");
	thrum_task_should_resolve(rpc->task);
	THRUM_RUN (rpc->task) {
		if (!rpc->commit) { /* small: fits into the window */
			thrum_task_wait(rpc->task,
				timer_start("round trip", number == 10 ? 40000000 : 4000000,
					reply_comes, rpc));
			continue;
		}
		rpc->ack = thrum_task_create(THRUM_KIND_PROMISE, "ack of segment");
		rpc->window = thrum_task_create(THRUM_KIND_PROMISE, "send window");
		thrum_task_wait(rpc->task, rpc->window);
		thrum_task_wait(rpc->window, rpc->ack);
		thrum_task_wait(rpc->ack,
			late ? timer_start("delayed ack", 240000000, ack_comes, rpc)
			     : timer_start("prompt ack", 5000000, ack_comes, rpc));
	}
}

static void next_rpc(struct rpc *unused)
{
	rpc_start(started++);
	if (started < 40)
		timer_start("pacing", 7000000, next_rpc, NULL);
}

int main(int argc, char **argv)
{
	odd_segment = argc > 1 && !strcmp(argv[1], "slow");
	thrum_lane_name("rpc loop");
	/* A keepalive that is never needed. */
	timer_start("keepalive", 30000000000, reply_comes, NULL);
	timer_start("pacing", 1000000, next_rpc, NULL);
	while (ended < 40) {
		struct timer *first = NULL;
		int64_t wait;

		for (int i = 0; i < TIMERS; i++)
			if (timers[i].fire && (!first || timers[i].due < first->due))
				first = &timers[i];
		wait = first->due - now();
		if (wait > 0) {
			struct timespec time = {wait / 1000000000, wait % 1000000000};

			thrum_suspend(THRUM_WAIT_FOR_WORK);
			nanosleep(&time, NULL);
			thrum_resume();
			continue;
		}
		{
			struct timer timer = *first;

			first->fire = NULL;
			THRUM_RUN (timer.task) {
				thrum_task_resolve(timer.task);
				timer.fire(timer.rpc);
			}
		}
	}
	printf("%d calls\n", ended);
	return 0;
}
