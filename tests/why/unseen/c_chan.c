/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why
 *   truth: The collector takes the first answer from the channel "answers" and returns. Nobody receives the answers of the other two replicas, which block in their sends for ever; the search waits for all replicas.
 *   culprit: collector
 *   victim: replica|search
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* search: asks three replicas, takes the first answer; coroutines and channels in the manner of Go */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

struct co {
	struct co *next; /* in the run queue or in a channel */
	void (*main)(int);
	int argument, value;
	long wakes;
	bool ended;
	thrum_task task;
	ucontext_t context;
};

struct channel {
	int capacity, count, values[8];
	struct co *senders, *receiver;
	thrum_task task;
};

static ucontext_t scheduler;
static struct co *self, *run_first, **run_last = &run_first, *sleepers[8];
static struct channel answers;
static int group; /* a wait group */
static struct co *group_waiter;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void make_ready(struct co *co)
{
	thrum_task_ready(co->task);
	co->next = NULL;
	*run_last = co;
	run_last = &co->next;
}

static void leave(void)
{
	swapcontext(&self->context, &scheduler);
}

static void sleep_ms(int ms)
{
	self->wakes = now() + ms;
	for (int i = 0; i < 8; i++)
		if (!sleepers[i]) {
			sleepers[i] = self;
			break;
		}
	leave();
}

static void channel_send(struct channel *channel, int value)
{
	thrum_task_signal(channel->task, channel->receiver ? 1 : 0);
	if (channel->receiver) {
		channel->receiver->value = value;
		make_ready(channel->receiver);
		channel->receiver = NULL;
	} else if (channel->count < channel->capacity) {
		channel->values[channel->count++] = value;
	} else {
		self->value = value;
		self->next = channel->senders;
		channel->senders = self;
		thrum_task_wait(self->task, channel->task);
		leave();
	}
}

static int channel_receive(struct channel *channel)
{
	struct co *sender = channel->senders;
	int value;

	if (channel->count) {
		value = channel->values[--channel->count];
	} else if (sender) {
		channel->senders = sender->next;
		value = sender->value;
		make_ready(sender);
	} else {
		thrum_task_wait(self->task, channel->task);
		channel->receiver = self;
		leave();
		value = self->value;
	}
	thrum_task_read(self->task, channel->task);
	return value;
}

static void trampoline(void)
{
	self->main(self->argument);
	thrum_task_resolve(self->task);
	self->ended = true;
	leave();
}

static struct co *go(void (*main)(int), int argument, const char *name)
{
	struct co *co = calloc(1, sizeof(*co));

	co->main = main;
	co->argument = argument;
	co->task = thrum_task_create(THRUM_KIND_FIBER, name);
	getcontext(&co->context);
	co->context.uc_stack.ss_sp = malloc(65536);
	co->context.uc_stack.ss_size = 65536;
	makecontext(&co->context, trampoline, 0);
	make_ready(co);
	return co;
}

static void replica(int number)
{
	sleep_ms(20 + number * 15);
	channel_send(&answers, number);
	if (--group == 0 && group_waiter)
		make_ready(group_waiter);
}

static void collector(int unused)
{
	printf("search: first answer from replica %d\n", channel_receive(&answers));
}

static void search(int unused)
{
	static const char *names[] = {"replica 1", "replica 2", "replica 3"};
	thrum_task replicas[3];

	go(collector, 0, "collector");
	for (int i = 0; i < 3; i++, group++)
		replicas[i] = go(replica, i + 1, names[i])->task;
	group_waiter = self;
	for (int i = 0; i < 3; i++)
		thrum_task_wait(self->task, replicas[i]);
	leave();
}

int main(int argc, char **argv)
{
	struct co *main_co;

	answers.capacity = argc > 1 && !strcmp(argv[1], "broken") ? 0 : 3;
	answers.task = thrum_task_create(THRUM_KIND_MAILBOX, "answers");
	main_co = go(search, 0, "search");
	thrum_task_should_resolve(main_co->task);
	while (!main_co->ended) {
		struct co **next = NULL;

		if ((self = run_first)) {
			run_first = self->next;
			if (!run_first)
				run_last = &run_first;
			THRUM_RUN (self->task)
				swapcontext(&scheduler, &self->context);
			continue;
		}
		for (int i = 0; i < 8; i++)
			if (sleepers[i] && (!next || sleepers[i]->wakes < (*next)->wakes))
				next = &sleepers[i];
		if (!next) {
			thrum_suspend(THRUM_DEADLOCKED);
			fprintf(stderr, "search: all coroutines are asleep\n");
			return 1;
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (now() < (*next)->wakes)
			usleep(500);
		thrum_resume();
		make_ready(*next);
		*next = NULL;
	}
	return 0;
}
