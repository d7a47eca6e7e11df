/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the fiber "lookup 3" (hedged_lookup) takes the first answer of its two queries from its channel
 *     and ends. The channel has no room, so the slower query, "query 3 south", waits in chan_send for a
 *     receiver that no longer exists, and the program never comes to its end
 *   culprit: lookup 3\b|hedged_lookup
 *   victim: query 3 south|answers|chan_send
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A name service on fibers: a lookup asks one replica or two; the first answer counts. */

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>

#define STACK (64 * 1024)
#define LOOKUPS 6
#define FIBERS 16
#define REPLICAS 2

struct fiber {
	struct fiber *next; /* in the queue of those that are ready, or in a channel */
	ucontext_t context;
	thrum_task task, timer;
	void (*run)(void *data);
	void *data;
	int64_t wake_at;
	int *slot; /* where a value goes, or comes from */
	char stack[STACK];
};

struct chan {
	thrum_task task;
	struct fiber *senders, *receivers;
	int values[REPLICAS];
	unsigned count, room;
};

static struct fiber fibers[FIBERS], *ready, **ready_end = &ready, *current;
static ucontext_t scheduler;
static unsigned spawned, live, answered;

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

static void make_ready(struct fiber *fiber)
{
	thrum_task_ready(fiber->task);
	fiber->next = NULL;
	*ready_end = fiber;
	ready_end = &fiber->next;
}

static void fiber_main(void)
{
	current->run(current->data);
	thrum_task_resolve(current->task);
	live--;
	swapcontext(&current->context, &scheduler);
}

static void spawn(void (*run)(void *), void *data, const char *name)
{
	struct fiber *fiber = &fibers[spawned++];

	fiber->task = thrum_task_create(THRUM_KIND_FIBER, name);
	thrum_task_should_resolve(fiber->task);
	fiber->run = run;
	fiber->data = data;
	getcontext(&fiber->context);
	fiber->context.uc_stack = (stack_t){.ss_sp = fiber->stack, .ss_size = STACK};
	makecontext(&fiber->context, fiber_main, 0);
	live++;
	make_ready(fiber);
}

static void fiber_sleep(unsigned ms)
{
	struct fiber *self = current;

	self->timer = thrum_task_create(THRUM_KIND_TIMER, "sleep");
	thrum_task_due(self->timer, ms * 1000000LL);
	thrum_task_wait(self->task, self->timer);
	self->wake_at = now_ms() + ms;
	swapcontext(&current->context, &scheduler);
	thrum_task_read(self->task, self->timer);
}

static int wake_sleepers(void)
{
	int timeout = -1;

	for (struct fiber *fiber = fibers; fiber < fibers + spawned; fiber++) {
		if (fiber->wake_at > now_ms())
			timeout = 1;
		if (!fiber->wake_at || fiber->wake_at > now_ms())
			continue;
		fiber->wake_at = 0;
		thrum_task_resolve(fiber->timer);
		make_ready(fiber);
	}
	return timeout;
}

static void scheduler_run(void)
{
	while (live > 0) {
		int timeout = wake_sleepers();

		if (!ready) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			poll(NULL, 0, timeout);
			thrum_resume();
			continue;
		}
		current = ready;
		if (!(ready = current->next))
			ready_end = &ready;
		thrum_task_switch(current->task);
		swapcontext(&scheduler, &current->context);
		thrum_task_switch(THRUM_TASK_NONE);
	}
}

/* ---- Channels ---- */

static void chan_wait(struct chan *chan, struct fiber **line, int *slot)
{
	while (*line)
		line = &(*line)->next;
	current->next = NULL;
	current->slot = slot;
	*line = current;
	thrum_task_wait(current->task, chan->task);
	swapcontext(&current->context, &scheduler);
}

static void chan_send(struct chan *chan, int value)
{
	struct fiber *receiver = chan->receivers;

	if (receiver) {
		thrum_task_signal(chan->task, 1);
		chan->receivers = receiver->next;
		*receiver->slot = value;
		make_ready(receiver);
	} else if (chan->count < chan->room) {
		thrum_task_signal(chan->task, 0);
		chan->values[chan->count++] = value;
	} else {
		chan_wait(chan, &chan->senders, &value);
	}
}

static int chan_receive(struct chan *chan)
{
	struct fiber *sender = chan->senders;
	int value;

	if (chan->count > 0) {
		value = chan->values[0];
		memmove(chan->values, chan->values + 1, --chan->count * sizeof(value));
	} else if (sender) {
		chan->senders = sender->next;
		value = *sender->slot;
		make_ready(sender);
	} else {
		chan_wait(chan, &chan->receivers, &value);
	}
	thrum_task_read(current->task, chan->task);
	return value;
}

/* ---- The name service ---- */

struct query {
	struct chan *chan;
	unsigned number, delay_ms;
};

struct lookup {
	unsigned number;
	struct chan answers;
	struct query queries[REPLICAS];
};

static void query_run(void *data)
{
	struct query *query = data;

	fiber_sleep(query->delay_ms);
	chan_send(query->chan, (int)(query->number * 100 + query->delay_ms));
}

static void ask_replica(struct lookup *lookup, unsigned replica, unsigned delay_ms)
{
	char name[32];

	lookup->queries[replica] = (struct query){&lookup->answers, lookup->number, delay_ms};
	snprintf(name, sizeof(name), "query %u %s", lookup->number, replica ? "south" : "north");
	spawn(query_run, &lookup->queries[replica], name);
}

static void hedged_lookup(void *data)
{
	struct lookup *lookup = data;

	ask_replica(lookup, 0, 4 + lookup->number % 3 * 3);
	if (lookup->number == 3) /* this zone is far away: the second replica may be faster */
		ask_replica(lookup, 1, 12);
	if (chan_receive(&lookup->answers) > 0)
		answered++;
}

static void serve_clients(void *data)
{
	struct lookup *lookups = data;
	char name[32];

	for (unsigned i = 0; i < LOOKUPS; i++) {
		lookups[i].number = i + 1;
		lookups[i].answers.task = thrum_task_createf(THRUM_KIND_MAILBOX, "answers %u",
			i + 1);
		snprintf(name, sizeof(name), "lookup %u", i + 1);
		spawn(hedged_lookup, &lookups[i], name);
		fiber_sleep(15);
	}
}

int main(int argc, char **argv)
{
	static struct lookup lookups[LOOKUPS];

	if (argc != 2 || thrum_start(NULL))
		return 2;
	for (unsigned i = 0; i < LOOKUPS; i++)
		lookups[i].answers.room = strcmp(argv[1], "healthy") == 0 ? REPLICAS : 0;
	spawn(serve_clients, lookups, "clients");
	scheduler_run();
	thrum_stop();
	printf("%u answers\n", answered);
	return 0;
}
