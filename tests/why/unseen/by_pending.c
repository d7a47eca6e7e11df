/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: curl pull request #15879 ("connection pool, count shutdowns against conn limits": released shutdowns must
 *     trigger processing of pending transfers): a connection that is shut down keeps its place until
 *     on_shutdown_done, which gives the place back without process_pending, so without a signal of “place at origin”. The
 *     last signals came while both connections were still shutting down. “transfer 12” waits for a place for ever,
 *     although two are free. Transfers of the mirror go on.
 *   culprit: place at origin
 *   victim: transfer 12|main
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A downloader: many transfers on a few connections to each host, in one loop of its own. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define MOST_CONNECTIONS 2
#define MOST_TRANSFERS 64

struct host {
	const char *name;
	unsigned used;          /* connections, also those that are being shut down */
	thrum_task place;       /* a condition: there may be one for another connection */
	struct transfer *first; /* those that wait for one */
	unsigned waiting;
};

struct transfer {
	int number;
	struct host *host;
	int takes_ms;
	bool closes; /* the server closes the connection after the answer */
	thrum_task task;
	thrum_task answer;
	thrum_task shutdown;
	struct transfer *next;
};

struct timer {
	uint64_t due;
	void (*run)(void *data);
	void *data;
	struct timer *next;
};

static struct host origin = {.name = "origin"};
static struct host mirror = {.name = "mirror"};
static struct timer *timers;
static struct transfer transfers[MOST_TRANSFERS];
static int transfer_count;
static int ended;
static int expected;
static bool all_added;
static thrum_task main_task;
static bool prompt;

static uint64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

static void after(int ms, void (*run)(void *data), void *data)
{
	struct timer *timer = malloc(sizeof *timer);
	struct timer **place = &timers;

	if (!timer)
		abort();
	timer->due = now_ms() + (uint64_t)ms;
	timer->run = run;
	timer->data = data;
	while (*place && (*place)->due <= timer->due)
		place = &(*place)->next;
	timer->next = *place;
	*place = timer;
}

static void run_loop(void)
{
	while (timers) {
		struct timer *timer = timers;
		uint64_t now = now_ms();

		if (timer->due > now) {
			struct timespec rest = {0, (long)(timer->due - now) * 1000000};

			thrum_suspend(THRUM_WAIT_FOR_WORK);
			nanosleep(&rest, NULL);
			thrum_resume();
			continue;
		}
		timers = timer->next;
		timer->run(timer->data);
		free(timer);
	}
}

static void on_answer(void *data);
static void connect_transfer(struct transfer *transfer)
{
	struct host *host = transfer->host;

	if (host->used < MOST_CONNECTIONS) {
		host->used++;
		transfer->answer = thrum_task_createf(THRUM_KIND_REQUEST, "answer %d of %s",
			transfer->number, host->name);
		thrum_task_wait(transfer->task, transfer->answer);
		after(transfer->takes_ms, on_answer, transfer);
		return;
	}
	transfer->next = host->first;
	host->first = transfer;
	host->waiting++;
	thrum_task_wait(transfer->task, host->place);
}

/* Something has changed: the first transfer that waits tries again. */
static void process_pending(struct host *host)
{
	struct transfer *transfer = host->first;

	thrum_task_signal(host->place, host->waiting);
	if (!transfer)
		return;
	host->first = transfer->next;
	host->waiting--;
	thrum_task_ready(transfer->task);
	THRUM_RUN (transfer->task) {
		thrum_task_read(transfer->task, host->place);
		connect_transfer(transfer);
	}
}

static void on_shutdown_done(void *data)
{
	struct transfer *transfer = data;
	struct host *host = transfer->host;

	thrum_task_resolve(transfer->shutdown);
	host->used--;
	if (prompt)
		process_pending(host);
}

static void on_answer(void *data)
{
	struct transfer *transfer = data;

	thrum_task_resolve(transfer->answer);
	THRUM_RUN (transfer->task) {
		thrum_task_read(transfer->task, transfer->answer);
		if (transfer->closes) {
			transfer->shutdown = thrum_task_createf(THRUM_KIND_TASK,
				"shutdown after transfer %d", transfer->number);
			after(30, on_shutdown_done, transfer);
		} else {
			transfer->host->used--; /* the next one uses it again */
		}
	}
	thrum_task_resolve(transfer->task);
	process_pending(transfer->host);
	if (++ended == expected && all_added)
		thrum_task_resolve(main_task);
}

static void add(struct host *host, int takes_ms, bool closes)
{
	struct transfer *transfer = &transfers[transfer_count++];

	transfer->number = transfer_count;
	transfer->host = host;
	transfer->takes_ms = takes_ms;
	transfer->closes = closes;
	transfer->task = thrum_task_createf(THRUM_KIND_TASK, "transfer %d", transfer->number);
	thrum_task_should_resolve(transfer->task);
	thrum_task_wait(main_task, transfer->task);
	expected++;
	THRUM_RUN (transfer->task)
		connect_transfer(transfer);
}

static void add_index(void *data)
{
	(void)data;
	for (int i = 0; i < 4; i++)
		add(&origin, 20 + 5 * i, false);
	add(&mirror, 30, false);
}

static void add_packages(void *data)
{
	(void)data;
	add(&origin, 25, true);
	add(&origin, 120, false);
	add(&origin, 30, false);
	add(&mirror, 20, true);
}

static void add_signatures(void *data)
{
	(void)data;
	add(&origin, 40, true);
	add(&origin, 48, true);
	add(&origin, 30, false);
}

static void add_pictures(void *data)
{
	int *left = data;

	add(&mirror, 30, false);
	if (--*left)
		after(60, add_pictures, left);
	else
		all_added = true;
}

static void draw_progress(void *data)
{
	putchar('.');
	if (!all_added || ended < expected)
		after(40, draw_progress, data);
}

int main(int argc, char **argv)
{
	int pictures = 12;

	prompt = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	origin.place = thrum_task_create(THRUM_KIND_CONDITION, "place at origin");
	mirror.place = thrum_task_create(THRUM_KIND_CONDITION, "place at mirror");
	main_task = thrum_task_create(THRUM_KIND_JOIN, "main");
	thrum_task_should_resolve(main_task);
	after(5, add_index, NULL);
	after(150, add_packages, NULL);
	after(400, add_signatures, NULL);
	after(420, add_pictures, &pictures);
	after(40, draw_progress, NULL);
	run_loop();
	thrum_stop();
	printf("%d of %d transfers\n", ended, expected);
	return ended != expected;
}
