/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: status_class takes each status of 400 to 499 for a final refusal, also 429 (too many requests). So on_status puts a
 *     hook that the subscriber only wanted later away as a dead letter, instead of sending it again.
 *   culprit: status_class|on_status|dead letter|retry
 *   victim: summary
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Delivers web hooks to subscribers: an event loop with a queue of timers. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

enum {
	SUBSCRIBERS = 4,
	HOOKS = 120,
	TRIES = 10
};

enum class {
	CLASS_DONE,
	CLASS_LATER,
	CLASS_NEVER
};

struct hook {
	int number;
	int subscriber;
	int tries;
	thrum_task task;
};

struct timer {
	long due;
	thrum_task task;
	void (*run)(struct timer *);
	struct hook *hook;
	int status;
	struct timer *next;
};

struct subscriber {
	const char *host;
	int limit;   /* hooks that it takes in a period; 0: any number */
	long period; /* its number and how many it took in it */
	int taken;
};

static struct subscriber subscribers[SUBSCRIBERS] = {{.host = "billing.example"},
	{.host = "crm.example", .limit = 3}, {.host = "chat.example"}, {.host = "old.example"}};
static struct timer *timers;
static bool knows_429;
static int delivered;
static int dead;

static long now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void timer_add(long ms, enum thrum_kind kind, const char *label, void (*run)(struct timer *),
	struct hook *hook, int status)
{
	struct timer *timer = calloc(1, sizeof(*timer));
	struct timer **place = &timers;

	if (!timer)
		abort();
	timer->due = now_ms() + ms;
	timer->run = run;
	timer->hook = hook;
	timer->status = status;
	timer->task = thrum_task_create(kind, label);
	if (kind == THRUM_KIND_TIMER)
		thrum_task_due(timer->task, ms * 1000000);
	if (hook->task)
		thrum_task_wait(hook->task, timer->task);
	while (*place && (*place)->due <= timer->due)
		place = &(*place)->next;
	timer->next = *place;
	*place = timer;
}

/* The answer of the subscriber's server. */
static int subscriber_status(struct subscriber *subscriber, const struct hook *hook)
{
	long period = now_ms() / 100;

	if (!strcmp(subscriber->host, "old.example"))
		return hook->number % 16 == 3 ? 410 : 200;
	if (!strcmp(subscriber->host, "chat.example") && hook->number % 8 == 2 && hook->tries == 1)
		return 503;
	if (period != subscriber->period) {
		subscriber->period = period;
		subscriber->taken = 0;
	}
	if (subscriber->limit && ++subscriber->taken > subscriber->limit)
		return 429;
	return 200;
}

static enum class status_class(int status) {
	if (status >= 200 && status < 300) return CLASS_DONE;
		if (status == 429 && knows_429) return CLASS_LATER;
		if (status >= 400 && status < 500) return CLASS_NEVER; return CLASS_LATER;
}

static void hook_send(struct hook *hook);

static void on_retry(struct timer *timer)
{
	hook_send(timer->hook);
}

static void dead_letter(struct hook *hook, int status)
{
	thrum_task letter = thrum_task_create(THRUM_KIND_TASK, "dead letter");

	THRUM_RUN (letter)
		thrum_logf("hook %d to %s: status %d", hook->number,
			subscribers[hook->subscriber].host, status);
	thrum_task_resolve(letter);
	dead++;
}

static void on_status(struct timer *timer)
{
	struct hook *hook = timer->hook;
	enum class class = status_class(timer->status);

	if (class == CLASS_LATER && hook->tries < TRIES) {
		timer_add(110, THRUM_KIND_TIMER, "retry", on_retry, hook, 0);
		return;
	}
	if (class == CLASS_DONE)
		delivered++;
	else
		dead_letter(hook, timer->status);
	thrum_task_resolve(hook->task);
	free(hook);
}

static void hook_send(struct hook *hook)
{
	struct subscriber *subscriber = &subscribers[hook->subscriber];

	hook->tries++;
	timer_add(5 + hook->subscriber, THRUM_KIND_REQUEST, "post", on_status, hook,
		subscriber_status(subscriber, hook));
}

static void on_event(struct timer *timer)
{
	struct hook *hook = timer->hook;

	hook->task = thrum_task_createf(THRUM_KIND_TASK, "hook %d", hook->number);
	thrum_task_should_resolve(hook->task);
	THRUM_RUN (hook->task)
		hook_send(hook);
}

static void run_loop(void)
{
	while (timers) {
		struct timer *timer = timers;
		long wait = timer->due - now_ms();

		if (wait > 0) {
			struct timespec time = {wait / 1000, wait % 1000 * 1000000};

			thrum_suspend(THRUM_WAIT_FOR_WORK);
			nanosleep(&time, NULL);
			thrum_resume();
		}
		timers = timer->next;
		thrum_task_resolve(timer->task);
		THRUM_RUN (timer->hook->task ? timer->hook->task : thrum_task_current()) {
			if (timer->hook->task)
				thrum_task_read(timer->hook->task, timer->task);
			timer->run(timer);
		}
		free(timer);
	}
}

int main(int count, char **arguments)
{
	if (count < 2)
		return 2;
	knows_429 = !strcmp(arguments[1], "healthy");
	thrum_start(NULL);
	for (int i = 0; i < HOOKS; i++) {
		struct hook *hook = calloc(1, sizeof(*hook));

		if (!hook)
			abort();
		hook->number = i;
		hook->subscriber = i % SUBSCRIBERS;
		timer_add(i * 6, THRUM_KIND_TIMER, "event", on_event, hook, 0);
	}
	run_loop();
	printf("summary: %d delivered, %d dead letters\n", delivered, dead);
	thrum_stop();
	return 0;
}
