/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: The client that started "fetch avatar:7" went away and cancelled the fetch, but the cache entry stayed in the state "fetching". All later GET avatar:7 wait for that dead fetch.
 *   culprit: fetch avatar:7
 *   victim: GET avatar:7
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* imgcache: a cache that joins equal requests to one fetch */
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

enum {
	EMPTY,
	FETCHING,
	READY
};
struct entry {
	int key, state;
	thrum_task fetch;
	struct event *reply;
	struct request *waiters;
};
struct request {
	struct request *next;
	struct entry *entry;
	thrum_task task;
	bool done;
};

static struct event *events;
static struct entry cache[10];
static bool broken, stopping;
static long begin;
static int open_requests;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000 - begin;
}

static struct event *later(long ms, void (*call)(void *), void *data)
{
	struct event *event = malloc(sizeof(*event)), **at = &events;

	*event = (struct event){.at = now() + ms, .call = call, .data = data};
	while (*at && (*at)->at <= event->at)
		at = &(*at)->next;
	event->next = *at;
	*at = event;
	return event;
}

static void forget(struct event *event)
{
	for (struct event **at = &events; *at; at = &(*at)->next)
		if (*at == event) {
			*at = event->next;
			free(event);
			return;
		}
}

static void start_fetch(struct entry *entry);

static void on_fetched(void *data)
{
	struct entry *entry = data;
	struct request *request;

	THRUM_RUN (entry->fetch) {
		entry->state = READY;
		thrum_task_resolve(entry->fetch);
		while ((request = entry->waiters)) {
			entry->waiters = request->next;
			thrum_task_read(request->task, entry->fetch);
			thrum_task_resolve(request->task);
			request->done = true;
			open_requests--;
		}
	}
}

static void start_fetch(struct entry *entry)
{
	entry->state = FETCHING;
	entry->fetch = thrum_task_createf(THRUM_KIND_REQUEST, "fetch avatar:%d", entry->key);
	entry->reply = later(60, on_fetched, entry);
}

static struct request *get(int key)
{
	struct entry *entry = &cache[key];
	struct request *request = calloc(1, sizeof(*request));

	entry->key = key;
	request->entry = entry;
	request->task = thrum_task_createf(THRUM_KIND_TASK, "GET avatar:%d", key);
	thrum_task_should_resolve(request->task);
	open_requests++;
	THRUM_RUN (request->task) {
		if (entry->state == EMPTY)
			start_fetch(entry);
		if (entry->state == READY) {
			thrum_task_resolve(request->task);
			open_requests--;
			break;
		}
		thrum_task_wait(request->task, entry->fetch);
		request->next = entry->waiters;
		entry->waiters = request;
	}
	return request;
}

static void client_gone(void *data)
{
	struct request *request = data, **at;
	struct entry *entry = request->entry;

	if (request->done)
		return;
	for (at = &entry->waiters; *at != request; at = &(*at)->next)
		continue;
	*at = request->next;
	open_requests--;
	thrum_task_cancel(request->task);
	if (entry->waiters)
		return; /* others still want it */
	forget(entry->reply);
	thrum_task_cancel(entry->fetch);
	if (!broken)
		entry->state = EMPTY;
}

static void request_of(void *data)
{
	get((int)(long)data);
}

static void impatient(void *data)
{
	later(20, client_gone, get((int)(long)data));
}

static void sweep(void *data)
{
	later(50, sweep, NULL);
}

static void stop(void *data)
{
	stopping = true;
}

int main(int argc, char **argv)
{
	struct event *event;
	thrum_task sweeper = thrum_task_create(THRUM_KIND_TIMER, "sweep");

	broken = argc > 1 && !strcmp(argv[1], "broken");
	begin = 0;
	begin = now();
	thrum_task_due(sweeper, 50000000);
	sweep(NULL);
	for (long i = 1; i < 6; i++)
		later(10 * i, request_of, (void *)i);
	later(50, impatient, (void *)6);
	later(55, request_of, (void *)6);
	later(90, impatient, (void *)7);
	later(150, request_of, (void *)7);
	later(170, request_of, (void *)3);
	later(200, request_of, (void *)7);
	later(260, request_of, (void *)8);
	later(400, stop, NULL);
	while (!stopping || open_requests) {
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
	printf("imgcache: done\n");
	return 0;
}
