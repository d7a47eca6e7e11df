/* SPDX-License-Identifier: ISC */
/*
 * Reads a trace in a second thread. The two threads share a ring of batches: the one that reads fills
 * them with copies of the events and their texts.
 */
#define _GNU_SOURCE
#include "source/ahead/ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "port/port.h"
#include "read/read.h"

/* All batches together fit into a processor's cache. */
#define EVENTS 512
#define BATCHES 16
#define TEXTS (1u << 15) /* bytes of a batch's texts, at first */
#define LEAST (4u << 20) /* bytes of a trace: reading it takes far longer than starting a thread */

struct batch {
	struct thrum_trace_info info; /* when the events were read */
	struct thrum_event events[EVENTS];
	size_t count;
	char *texts;
	size_t used, room; /* bytes of `texts` */
};

struct ahead {
	struct thrum_trace trace; /* first: the public handle */
	void (*meanwhile)(void *);
	void *context;
	pthread_t thread;

	/* Held by the thread that uses `from`. */
	pthread_mutex_t reading;
	struct thrum_trace *from;
	struct thrum_trace_lane lane; /* a copy of the last one that was asked for */

	/* The thread's: what it has read and not copied yet. */
	const struct thrum_event *events;
	size_t count;

	pthread_mutex_t lock; /* held for the members here */
	pthread_cond_t has_batch, has_room;
	uint64_t filled, emptied; /* batches, so far */
	bool is_taken, has_ended, is_closed;

	int result; /* the last one of thrum_trace_next: valid when has_ended is set */
	struct thrum_error_info error;
	struct batch batches[BATCHES];
};

/* ---- The thread ----------------------------------------------------------------------------- */

/* Makes room for a text. Returns whether there is: a batch that has events may have to do without more. */
static bool make_room(struct batch *batch, size_t size)
{
	if (size <= batch->room - batch->used)
		return true;
	char *texts = batch->count == 0 ? realloc(batch->texts, size) : NULL;

	if (!texts)
		return false;
	batch->texts = texts;
	batch->room = size;
	return true;
}

/* Copies as many of the events that were read as there is room for. */
static void copy_events(struct ahead *a, struct batch *batch)
{
	for (; a->count > 0 && batch->count < EVENTS; a->count--, a->events++) {
		struct thrum_event *to = &batch->events[batch->count];

		*to = *a->events;
		if (to->text_size > 0) {
			if (!make_room(batch, to->text_size + (size_t)1))
				return;
			to->text = memcpy(batch->texts + batch->used, to->text,
				to->text_size + (size_t)1);
			batch->used += to->text_size + (size_t)1;
		} else {
			to->text = "";
		}
		batch->count++;
	}
}

/* Fills a batch. Returns as thrum_trace_next does. */
static int fill(struct ahead *a, struct batch *batch)
{
	int result = 1;

	batch->count = batch->used = 0;
	for (;;) {
		copy_events(a, batch);
		if (a->count > 0 || batch->count == EVENTS)
			break;
		pthread_mutex_lock(&a->reading);
		result = thrum_trace_next(a->from, &a->events, &a->count, &a->error);
		pthread_mutex_unlock(&a->reading);
		if (result != 1)
			break;
	}
	if (result != 1)
		a->count = 0;
	else if (batch->count == 0)
		result = thrum__read_error_set(&a->error, -THRUM_E_MEMORY, 0, "out of memory");
	batch->info = *thrum_trace_info(a->from);
	return result;
}

static void *read_on(void *context)
{
	struct ahead *a = context;
	int result = 1;

	while (result == 1) {
		pthread_mutex_lock(&a->lock);
		while (a->filled - a->emptied == BATCHES && !a->is_closed)
			pthread_cond_wait(&a->has_room, &a->lock);
		bool is_closed = a->is_closed, has_time = a->filled - a->emptied >= BATCHES / 2;
		struct batch *batch = &a->batches[a->filled % BATCHES];

		pthread_mutex_unlock(&a->lock);
		if (is_closed)
			break;
		if (has_time && a->meanwhile)
			a->meanwhile(a->context);
		result = fill(a, batch);
		pthread_mutex_lock(&a->lock);
		a->filled++;
		a->result = result;
		a->has_ended = result != 1;
		pthread_cond_signal(&a->has_batch);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

/* ---- The trace ------------------------------------------------------------------------------ */

/* Gives the last batch back, and returns the next one; NULL at the end. */
static const struct batch *take(struct ahead *a)
{
	const struct batch *batch = NULL;

	pthread_mutex_lock(&a->lock);
	a->emptied += a->is_taken;
	/* Not for each batch: waking a thread costs about as much as filling one. */
	if (a->filled - a->emptied <= BATCHES / 2)
		pthread_cond_signal(&a->has_room);
	while (a->filled == a->emptied && !a->has_ended)
		pthread_cond_wait(&a->has_batch, &a->lock);
	a->is_taken = a->filled > a->emptied;
	if (a->is_taken)
		batch = &a->batches[a->emptied % BATCHES];
	pthread_mutex_unlock(&a->lock);
	return batch;
}

static int next(struct thrum_trace *trace, const struct thrum_event **events, size_t *count,
	struct thrum_error_info *info)
{
	struct ahead *a = (struct ahead *)trace;
	const struct batch *batch = take(a);

	if (batch)
		trace->info = batch->info;
	/* Only the last batch may be empty. */
	if (!batch || batch->count == 0) {
		if (a->result < 0 && info)
			*info = a->error;
		return a->result;
	}
	*events = batch->events;
	*count = batch->count;
	return 1;
}

static const struct thrum_trace_site *get_site(const struct thrum_trace *trace, unsigned number)
{
	struct ahead *a = (struct ahead *)trace;

	pthread_mutex_lock(&a->reading);
	const struct thrum_trace_site *site = thrum_trace_site(a->from, number);

	pthread_mutex_unlock(&a->reading);
	return site;
}

static const struct thrum_trace_lane *get_lane(const struct thrum_trace *trace, unsigned number)
{
	struct ahead *a = (struct ahead *)trace;

	pthread_mutex_lock(&a->reading);
	const struct thrum_trace_lane *lane = thrum_trace_lane(a->from, number);

	if (lane)
		a->lane = *lane;
	pthread_mutex_unlock(&a->reading);
	return lane ? &a->lane : NULL;
}

static void destroy(struct ahead *a)
{
	for (size_t i = 0; i < BATCHES; i++)
		free(a->batches[i].texts);
	free(a);
}

static void close_ahead(struct thrum_trace *trace)
{
	struct ahead *a = (struct ahead *)trace;

	pthread_mutex_lock(&a->lock);
	a->is_closed = true;
	pthread_cond_signal(&a->has_room);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	destroy(a);
}

static const struct thrum__read_format ahead_format = {
	.next = next,
	.site = get_site,
	.lane = get_lane,
	.close = close_ahead,
};

bool thrum__source_may_read_ahead(const struct thrum_trace *trace)
{
	return thrum_trace_info(trace)->file_size >= LEAST && thrum__port_idle_processors() > 0;
}

struct thrum_trace *thrum__source_read_ahead(struct thrum_trace *from, void (*meanwhile)(void *),
	void *context)
{
	struct ahead *a = calloc(1, sizeof *a);
	sigset_t all, before;
	bool is_ready = a;

	for (size_t i = 0; is_ready && i < BATCHES; i++)
		is_ready = make_room(&a->batches[i], TEXTS);
	if (is_ready) {
		a->trace = *from;
		a->trace.format = &ahead_format;
		a->trace.input_close = NULL;
		a->from = from;
		a->meanwhile = meanwhile;
		a->context = context;
		pthread_mutex_init(&a->reading, NULL);
		pthread_mutex_init(&a->lock, NULL);
		pthread_cond_init(&a->has_batch, NULL);
		pthread_cond_init(&a->has_room, NULL);
		/* Signals are for the program's other threads. */
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		is_ready = pthread_create(&a->thread, NULL, read_on, a) == 0;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	if (is_ready)
		return &a->trace;
	if (a)
		destroy(a);
	return from;
}

void thrum__source_end_ahead(struct thrum_trace *ahead, const struct thrum_trace *from)
{
	if (ahead != from)
		thrum_trace_close(ahead);
}
