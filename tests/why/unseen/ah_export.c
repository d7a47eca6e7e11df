/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the coroutine "read orders.csv" finds a line that it can't parse and returns early, without
 *     closing its channel "rows". "convert" waits for the next row for ever, and "write report" and
 *     "export" behind it.
 *   culprit: read orders|read_orders
 *   victim: convert|write report|export
 * case: healthy
 *   args: healthy
 *   run: self kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* Exports a table of orders: coroutines on ucontext read, convert and write it, and pass rows on through
 * channels. The scheduler sleeps in poll, also for commands from a control socket. */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK (64 * 1024)
#define CAPACITY 4

/* ---- Coroutines ------------------------------------------------------------------------------ */

struct coroutine {
	struct coroutine *next;
	ucontext_t context;
	void (*run)(void);
	int64_t due; /* 0: it doesn't sleep */
	bool ended;
	thrum_task task;
};

static struct coroutine *running, *ready_first, **ready_end = &ready_first, *sleeping;
static ucontext_t scheduler;
static int control[2];

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void make_ready(struct coroutine *coroutine)
{
	thrum_task_ready(coroutine->task);
	coroutine->next = NULL;
	*ready_end = coroutine;
	ready_end = &coroutine->next;
}

/* Gives the thread to others until somebody makes this coroutine ready. */
static void suspend(void)
{
	swapcontext(&running->context, &scheduler);
}

static void trampoline(void)
{
	running->run();
	running->ended = true;
	suspend();
}

static void spawn(struct coroutine *coroutine, const char *name, void (*run)(void))
{
	coroutine->task = thrum_task_create(THRUM_KIND_FIBER, name);
	thrum_task_should_resolve(coroutine->task);
	coroutine->run = run;
	getcontext(&coroutine->context);
	coroutine->context.uc_stack.ss_sp = malloc(STACK);
	coroutine->context.uc_stack.ss_size = STACK;
	makecontext(&coroutine->context, trampoline, 0);
	make_ready(coroutine);
}

static void sleep_ms(int milliseconds)
{
	running->due = now() + milliseconds * 1000000LL;
	running->next = sleeping;
	sleeping = running;
	suspend();
}

/* Wakes those whose time has come; returns the milliseconds until the next one, or -1. */
static int wake_sleepers(void)
{
	struct coroutine **link = &sleeping, *coroutine;
	int64_t first = INT64_MAX;

	while ((coroutine = *link)) {
		if (coroutine->due <= now()) {
			*link = coroutine->next;
			make_ready(coroutine);
		} else {
			if (coroutine->due < first)
				first = coroutine->due;
			link = &coroutine->next;
		}
	}
	return first == INT64_MAX ? -1 : (int)((first - now()) / 1000000) + 1;
}

static bool poll_control(int timeout)
{
	struct pollfd descriptor = {.fd = control[0], .events = POLLIN};
	int ready;

	thrum_suspend(THRUM_WAIT_FOR_WORK);
	ready = poll(&descriptor, 1, timeout);
	thrum_resume();
	return ready > 0; /* "stop" */
}

static void run_until(const struct coroutine *last)
{
	while (!last->ended) {
		int timeout = wake_sleepers();

		if (!ready_first && poll_control(timeout < 0 ? -1 : timeout))
			return;
		while ((running = ready_first)) {
			ready_first = running->next;
			if (!ready_first)
				ready_end = &ready_first;
			thrum_task_switch(running->task);
			swapcontext(&scheduler, &running->context);
			if (running->ended)
				thrum_task_resolve(running->task);
			thrum_task_switch(THRUM_TASK_NONE);
		}
	}
}

/* ---- Channels -------------------------------------------------------------------------------- */

struct channel {
	long values[CAPACITY];
	unsigned first, count;
	bool closed;
	struct coroutine *reader, *writer;
	thrum_task task;
};

static void channel_wait(struct channel *channel, struct coroutine **who)
{
	thrum_task_wait(running->task, channel->task);
	*who = running;
	suspend();
}

static void channel_wake(struct channel *channel, struct coroutine **who)
{
	struct coroutine *coroutine = *who;

	thrum_task_signal(channel->task, coroutine ? 1 : 0);
	*who = NULL;
	if (coroutine)
		make_ready(coroutine);
}

static void channel_send(struct channel *channel, long value)
{
	while (channel->count == CAPACITY)
		channel_wait(channel, &channel->writer);
	channel->values[(channel->first + channel->count++) % CAPACITY] = value;
	channel_wake(channel, &channel->reader);
}

/* Returns false at the end. */
static bool channel_receive(struct channel *channel, long *value)
{
	while (channel->count == 0) {
		if (channel->closed)
			return false;
		channel_wait(channel, &channel->reader);
	}
	thrum_task_read(running->task, channel->task);
	*value = channel->values[channel->first++ % CAPACITY];
	channel->count--;
	if (channel->writer)
		channel_wake(channel, &channel->writer);
	return true;
}

static void channel_close(struct channel *channel)
{
	channel->closed = true;
	channel_wake(channel, &channel->reader);
}

/* ---- The export ------------------------------------------------------------------------------ */

static struct channel rows, amounts;
static const char *table;
static long total, written;

static void read_orders(void)
{
	const char *line = table;
	long number, cents;
	int used;

	while (*line) {
		if (sscanf(line, "%ld;%ld\n%n", &number, &cents, &used) != 2) {
			fprintf(stderr, "orders.csv: bad line: %.6s\n", line);
			return;
		}
		channel_send(&rows, cents);
		line += used;
		sleep_ms(20);
	}
	channel_close(&rows);
}

static void convert(void)
{
	long cents;

	while (channel_receive(&rows, &cents))
		channel_send(&amounts, cents * 119 / 100);
	channel_close(&amounts);
}

static void write_report(void)
{
	long cents;

	while (channel_receive(&amounts, &cents)) {
		total += cents;
		written++;
	}
	printf("%ld rows, %ld cents\n", written, total);
}

int main(int count, char **arguments)
{
	static const char whole[] = "1;250\n2;1000\n3;75\n4;300\n5;1250\n6;90\n7;45\n8;600\n";
	/* Somebody has edited it by hand. */
	static const char typed[] = "1;250\n2;1000\n3;75\n4;300\n5;1,250\n6;90\n7;45\n8;600\n";
	static struct coroutine reader, converter, writer;
	thrum_task export = thrum_task_create(THRUM_KIND_TASK, "export");

	table = count > 1 && strcmp(arguments[1], "healthy") == 0 ? whole : typed;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, control))
		return 2;
	rows.task = thrum_task_create(THRUM_KIND_MAILBOX, "rows");
	amounts.task = thrum_task_create(THRUM_KIND_MAILBOX, "amounts");
	thrum_task_should_resolve(export);
	spawn(&reader, "read orders.csv", read_orders);
	spawn(&converter, "convert", convert);
	spawn(&writer, "write report", write_report);
	thrum_task_wait(export, writer.task);
	run_until(&writer);
	thrum_task_read(export, writer.task);
	thrum_task_resolve(export);
	thrum_stop();
	return written == 8 ? 0 : 1;
}
