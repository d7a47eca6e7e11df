/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why
 *   truth: a compaction runs 350 ms at a stretch in the event loop (it should do so in steps), so the heartbeat
 *     starves, and the lease of the leader expires (fails).
 *   culprit: compact
 *   victim: lease|heartbeat
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

/* A leader of a small cluster, with a loop of its own: timers sorted by time, a heartbeat every 30 ms, a lease of
 * 150 ms that each heartbeat prolongs, appends to a log, and a compaction of the log now and then. */
struct timer {
	const char *name;
	int64_t due;
	void (*run)(struct timer *);
	thrum_task task;
	struct timer *next;
};
static struct timer *timers;
static int64_t start, lease_until;
static bool stepwise, leader = true;
static thrum_task lease, compaction;
static int steps, appends;

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void timer_set(struct timer *timer, int ms)
{
	struct timer **at = &timers;

	timer->due = now() + ms * INT64_C(1000000);
	timer->task = thrum_task_create(THRUM_KIND_TIMER, timer->name);
	thrum_task_due(timer->task, ms * INT64_C(1000000));
	while (*at && (*at)->due <= timer->due)
		at = &(*at)->next;
	timer->next = *at;
	*at = timer;
}

static void heartbeat(struct timer *timer)
{
	if (now() > lease_until) {
		thrum_task_fail(lease, "lease expired: the followers elect another leader");
		leader = false;
		return;
	}
	lease_until = now() + 150 * INT64_C(1000000);
	thrum_task_due(lease, 150 * INT64_C(1000000));
	timer_set(timer, 30);
}

static void append(struct timer *timer)
{
	thrum_task entry = thrum_task_createf(THRUM_KIND_REQUEST, "append %d", ++appends);

	thrum_task_should_resolve(entry);
	THRUM_RUN (entry)
		thrum_task_resolve(entry);
	timer_set(timer, 12);
}

static void merge_segment(void)
{
	usleep(7000); /* an fsync, too */
}

static void compact(struct timer *timer)
{
	if (!compaction)
		compaction = thrum_task_create(THRUM_KIND_TASK, "compact log");
	THRUM_RUN (compaction) {
		do
			merge_segment();
		while (++steps < 50 && !stepwise);
		if (steps == 50) {
			thrum_task_resolve(compaction);
			break;
		}
	}
	if (steps < 50)
		timer_set(timer, 1);
}

int main(int argc, char **argv)
{
	struct timer beat = {"heartbeat timer", 0, heartbeat}, write = {"append timer", 0, append},
		     compactor = {"compact timer", 0, compact};

	stepwise = argc > 1 && !strcmp(argv[1], "healthy");
	start = now();
	lease = thrum_task_create(THRUM_KIND_TASK, "lease term 5");
	lease_until = now() + 150 * INT64_C(1000000);
	timer_set(&beat, 30);
	timer_set(&write, 5);
	timer_set(&compactor, 100);
	while (leader && now() - start < 800 * INT64_C(1000000)) {
		struct timer *timer = timers;
		int64_t wait = timer->due - now();

		if (wait > 0) {
			struct timespec t = {0, wait};

			thrum_suspend(THRUM_WAIT_FOR_WORK);
			ppoll(NULL, 0, &t, NULL);
			thrum_resume();
			continue;
		}
		timers = timer->next;
		THRUM_RUN (timer->task)
			thrum_task_resolve(timer->task);
		timer->run(timer);
	}
	thrum_stop();
	printf("leader: %s, %d appends\n", leader ? "stepped down in order" : "LOST THE LEASE",
		appends > 0);
	return !leader;
}
