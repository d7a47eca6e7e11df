/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self size 256K kill 900
 *   ask: why
 *   truth: when the lease of bob is given back, its timer is taken out of the wheel's slot together with the rest of the slot's list. So the timer "lease carol" is due, but never fires, and "acquire /build by dave", which waits for carol's lease to end, hangs.
 *   culprit: lease carol
 *   victim: acquire /build by dave
 * case: healthy
 *   args: healthy
 *   run: self size 256K
 *   ask: why
 *   culprit: nothing
 */
/* A lease server: a timer wheel, many heartbeats, and a few clients that want exclusive paths. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define SLOTS 128
#define TICK_MS 5
#define BEATS 500

struct lease {
	const char *owner;
	thrum_task timer, path, waiter; /* path: the thing that is leased */
	unsigned slot;
	bool active;
	struct lease *next;
};

static struct lease *wheel[SLOTS];
static unsigned tick;
static bool drop_rest;
static thrum_task wheel_task;

static void wheel_add(struct lease *lease, int ms)
{
	lease->slot = (tick + (unsigned)(ms / TICK_MS)) % SLOTS;
	lease->next = wheel[lease->slot];
	lease->active = true;
	wheel[lease->slot] = lease;
	thrum_task_due(lease->timer, ms * 1000000LL);
}

static void wheel_remove(struct lease *lease)
{
	struct lease **link = &wheel[lease->slot];

	while (*link && *link != lease)
		link = &(*link)->next;
	if (*link)
		*link = drop_rest ? NULL : lease->next;
	lease->active = false;
}

static void lease_begin(struct lease *lease, const char *owner, const char *path, int ms)
{
	lease->owner = owner;
	lease->path = thrum_task_createf(THRUM_KIND_PROMISE, "%s held by %s", path, owner);
	lease->timer = thrum_task_createf(THRUM_KIND_TIMER, "lease %s", owner);
	thrum_task_wait(lease->path, lease->timer);
	wheel_add(lease, ms);
}

/* Somebody wants what this lease covers. */
static void lease_contend(struct lease *lease, const char *path, const char *who)
{
	lease->waiter = thrum_task_createf(THRUM_KIND_REQUEST, "acquire %s by %s", path, who);
	thrum_task_should_resolve(lease->waiter);
	thrum_task_wait(lease->waiter, lease->path);
}

static void lease_over(struct lease *lease)
{
	thrum_task_resolve(lease->path);
	lease->active = false;
	if (lease->waiter)
		THRUM_RUN (lease->waiter) {
			thrum_task_read(lease->waiter, lease->path);
			thrum_task_resolve(lease->waiter);
		}
	lease->waiter = THRUM_TASK_NONE;
}

static void lease_give_back(struct lease *lease)
{
	wheel_remove(lease);
	thrum_task_cancel(lease->timer);
	lease_over(lease);
}

static void wheel_turn(void)
{
	struct lease *due = wheel[++tick % SLOTS];

	wheel[tick % SLOTS] = NULL;
	while (due) {
		struct lease *next = due->next;

		THRUM_RUN (due->timer) {
			thrum_task_resolve(due->timer);
			lease_over(due);
		}
		due = next;
	}
}

static void heartbeats(void)
{
	for (int i = 0; i < BEATS; i++) {
		thrum_task beat = thrum_task_create(THRUM_KIND_TASK, "heartbeat");

		THRUM_RUN (beat)
			thrum_task_resolve(beat);
	}
}

int main(int argc, char **argv)
{
	struct lease alice = {0}, bob = {0}, carol = {0}, erin = {0};
	struct timespec pause = {0, TICK_MS * 1000000};
	int waiting = 1;

	drop_rest = argc > 1 && !strcmp(argv[1], "broken");
	thrum_lane_name("loop");
	wheel_task = thrum_task_create(THRUM_KIND_HANDLE, "timer wheel");
	lease_begin(&alice, "alice", "/etc", 60);
	lease_contend(&alice, "/etc", "frank");
	lease_begin(&carol, "carol", "/build", 200);
	lease_begin(&bob, "bob", "/home", 200);
	lease_begin(&erin, "erin", "/media", 200);
	lease_contend(&carol, "/build", "dave");
	for (int i = 0; waiting; i++) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		nanosleep(&pause, NULL);
		thrum_resume();
		THRUM_RUN (wheel_task)
			wheel_turn();
		heartbeats();
		if (i == 20) {
			lease_contend(&bob, "/home", "grace");
			lease_give_back(&bob);
		}
		if (i == 100 && !carol.active)
			waiting = 0;
	}
	thrum_task_resolve(wheel_task);
	puts("all leases are over");
	return 0;
}
