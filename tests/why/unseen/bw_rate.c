/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: Calls that come while their rate plan is still being loaded are parked at the plan. plan_loaded goes on
 *     with the first of them only; the others stay parked and are not on the bill.
 *   culprit: plan_loaded|load plan|park|price call
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Bills phone calls by rate plans. One loop of events in the order of their time. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

enum {
	PLANS = 4,
	CALLS = 48
};

struct call {
	struct call *next;
	int number, plan, seconds;
	thrum_task task;
};

struct plan {
	int cents;
	bool loading, loaded;
	thrum_task load;
	struct call *parked, **parked_end;
};

struct event {
	struct event *next;
	int at; /* ms */
	void (*run)(void *data);
	void *data;
};

static bool healthy;
static struct plan plans[PLANS];
static struct call calls[CALLS];
static struct event *events;
static int now_ms, billed, total;

static void post(int delay, void (*run)(void *data), void *data)
{
	struct event *event = malloc(sizeof(*event)), **place = &events;

	if (!event)
		abort();
	event->at = now_ms + delay;
	event->run = run;
	event->data = data;
	while (*place && (*place)->at <= event->at)
		place = &(*place)->next;
	event->next = *place;
	*place = event;
}

static void sleep_until(int at)
{
	struct timespec pause = {0, (at - now_ms) * 1000000L};

	if (at > now_ms) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		nanosleep(&pause, NULL);
		thrum_resume();
		now_ms = at;
	}
}

static void run_events(void)
{
	struct event *event;

	while ((event = events)) {
		events = event->next;
		sleep_until(event->at);
		event->run(event->data);
		free(event);
	}
}

static void price_call(struct call *call)
{
	THRUM_RUN (call->task) {
		thrum_task line = thrum_task_createf(THRUM_KIND_TASK, "price call %d",
			call->number);

		THRUM_RUN (line) {
			total += plans[call->plan].cents * call->seconds / 60;
			billed++;
			thrum_task_resolve(line);
		}
		thrum_task_resolve(call->task);
	}
}

static void plan_loaded(void *data)
{
	struct plan *plan = data;

	THRUM_RUN (plan->load) {
		plan->loaded = true;
		plan->cents = 5 + (int)(plan - plans);
		thrum_task_resolve(plan->load);
	}
	while (plan->parked) {
		struct call *call = plan->parked;

		plan->parked = call->next;
		THRUM_RUN (call->task)
			thrum_task_read(call->task, plan->load);
		price_call(call);
		if (!healthy)
			break;
	}
}

static void park(struct plan *plan, struct call *call)
{
	thrum_task_wait(call->task, plan->load);
	call->next = NULL;
	*plan->parked_end = call;
	plan->parked_end = &call->next;
}

static void plan_load(struct plan *plan)
{
	plan->loading = true;
	plan->parked_end = &plan->parked;
	plan->load = thrum_task_createf(THRUM_KIND_REQUEST, "load plan %d", (int)(plan - plans));
	post(25, plan_loaded, plan);
}

static void call_ended(void *data)
{
	struct call *call = data;
	struct plan *plan = &plans[call->plan];

	call->task = thrum_task_createf(THRUM_KIND_TASK, "bill call %d", call->number);
	THRUM_RUN (call->task) {
		if (!plan->loading)
			plan_load(plan);
		if (!plan->loaded)
			park(plan, call);
	}
	if (plan->loaded)
		price_call(call);
}

static void day_ended(void *data)
{
	(void)data;
	printf("%d calls billed, %d cents\n", billed, total);
}

int main(int argc, char **argv)
{
	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	for (int i = 0; i < CALLS; i++) {
		calls[i] = (struct call){.number = i,
			.plan = i / 3 % PLANS,
			.seconds = 30 + i * 7 % 200};
		post(i * 4, call_ended, &calls[i]);
	}
	post(400, day_ended, NULL);
	run_events();
	thrum_stop();
	return 0;
}
