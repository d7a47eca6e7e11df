/* SPDX-License-Identifier: ISC */
/*
 * case: slow
 *   args: slow
 *   ask: why --slow=sync mailbox
 *   truth: The slow sync is the one whose server imap-2 refuses four logins; it spends nearly all of its time in the back-off timers between them (20+40+80+160 ms).
 *   culprit: back-off|login imap-2
 *   victim: sync mailbox
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* mailsync: syncs mailboxes, two steps each: login and fetch, with retries */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

struct event {
	struct event *next;
	long at;
	void (*call)(void *);
	void *data;
};

struct sync {
	int server, tries, refusals;
	thrum_task task, step;
};

static struct event *events;
static int left;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void later(long ms, void (*call)(void *), void *data)
{
	struct event *event = malloc(sizeof(*event)), **at = &events;

	*event = (struct event){.at = now() + ms, .call = call, .data = data};
	while (*at && (*at)->at <= event->at)
		at = &(*at)->next;
	event->next = *at;
	*at = event;
}

static void login(struct sync *sync);

static void on_mail(void *data)
{
	struct sync *sync = data;

	THRUM_RUN (sync->task) {
		thrum_task_resolve(sync->step);
		thrum_task_read(sync->task, sync->step);
		thrum_task_resolve(sync->task);
	}
	left--;
	free(sync);
}

static void on_backed_off(void *data)
{
	struct sync *sync = data;

	thrum_task_resolve(sync->step);
	THRUM_RUN (sync->task) {
		thrum_task_read(sync->task, sync->step);
		login(sync);
	}
}

static void on_login(void *data)
{
	struct sync *sync = data;

	THRUM_RUN (sync->task) {
		if (sync->tries++ < sync->refusals) {
			long ms = 10l << sync->tries;

			thrum_task_fail(sync->step, "too many connections");
			sync->step = thrum_task_create(THRUM_KIND_TIMER, "back-off");
			thrum_task_due(sync->step, ms * 1000000);
			thrum_task_wait(sync->task, sync->step);
			later(ms, on_backed_off, sync);
			break;
		}
		thrum_task_resolve(sync->step);
		thrum_task_read(sync->task, sync->step);
		sync->step = thrum_task_createf(THRUM_KIND_REQUEST, "fetch imap-%d", sync->server);
		thrum_task_wait(sync->task, sync->step);
		later(25, on_mail, sync);
	}
}

static void login(struct sync *sync)
{
	sync->step = thrum_task_createf(THRUM_KIND_REQUEST, "login imap-%d", sync->server);
	thrum_task_wait(sync->task, sync->step);
	later(8, on_login, sync);
}

int main(int argc, char **argv)
{
	bool slow = argc > 1 && !strcmp(argv[1], "slow");
	struct event *event;

	for (int i = 0; i < 14; i++) {
		struct sync *sync = calloc(1, sizeof(*sync));

		sync->server = i % 4;
		sync->refusals = slow && i == 6 ? 4 : i == 9;
		sync->task = thrum_task_create(THRUM_KIND_TASK, "sync mailbox");
		thrum_task_should_resolve(sync->task);
		THRUM_RUN (sync->task)
			login(sync);
		left++;
	}
	while (left) {
		long wait = events->at - now();

		if (wait > 0) {
			struct timespec t = {.tv_nsec = wait * 1000000};

			thrum_suspend(THRUM_WAIT_FOR_WORK);
			nanosleep(&t, NULL);
			thrum_resume();
		}
		event = events;
		events = event->next;
		event->call(event->data);
		free(event);
	}
	printf("mailsync: done\n");
	return 0;
}
