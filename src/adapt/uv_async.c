/* SPDX-License-Identifier: ISC */
/*
 * Handles of libuv by which other threads wake a loop (uv_async_t). All handles of a loop share an eventfd.
 * If the loop waits for that, its name has the handle that was sent last, how often, and how often its
 * callback ran. libuv may make one run of several sends: so these numbers are no fault by themselves.
 */
#include "adapt/uv.h"

#include <string.h>

#include "adapt/descriptor.h"

#define LOOPS_MAX 32 /* of further loops nothing is told */

static struct waking {
	_Atomic int fd;             /* that wakes the loop, + 1; 0: it is free */
	_Atomic int count;          /* handles */
	uv_async_t *_Atomic latest; /* the handle that was sent last, or the first one */
	_Atomic bool is_named;      /* the eventfd has a name that tells of it */
} wakings[LOOPS_MAX];

/* A word of a handle that libuv doesn't use for this sort: how often it was sent, and has run. */
struct counts {
	_Atomic uint32_t sends, runs;
};

static struct counts *counts_of(uv_async_t *handle)
{
	_Static_assert(sizeof(struct counts) <= sizeof handle->u.reserved[0], "a word has room");
	return (struct counts *)(void *)&handle->u.reserved[0];
}

static struct waking *find(int fd)
{
	for (unsigned i = 0; i < LOOPS_MAX; i++)
		if (atomic_load_explicit(&wakings[i].fd, memory_order_relaxed) == fd + 1)
			return &wakings[i];
	return NULL;
}

static struct waking *find_or_take(int fd)
{
	struct waking *one = find(fd);

	for (unsigned i = 0; i < LOOPS_MAX && !one; i++) {
		int none = 0;

		if (atomic_compare_exchange_strong(&wakings[i].fd, &none, fd + 1))
			one = &wakings[i];
	}
	return one;
}

/* The numbers change: the eventfd has its own name again. */
static void unname(struct waking *one)
{
	if (UNLIKELY(atomic_load(&one->is_named)) && atomic_exchange(&one->is_named, false))
		thrum__adapt_pipe_rename(atomic_load(&one->fd) - 1, "", NULL, NULL);
}

/* ---- Telling --------------------------------------------------------------------------------- */

static char *put_count(char *to, uint32_t count, const char *noun)
{
	return stpcpy(stpcpy(thrum__adapt_put_number(to, count), noun), count == 1 ? "" : "s");
}

/* The calling thread's loop waits for its eventfd. While a request is under way, that may wake it. */
static void name(int fd)
{
	struct waking *one = find(fd);
	uv_async_t *handle = one ? atomic_load(&one->latest) : NULL;
	char words[CALL_MAX] = " (", *end = words + strlen(words);
	uint32_t sends;

	if (!handle || handle->loop->active_reqs.count > 0 || atomic_exchange(&one->is_named, true))
		return;
	sends = atomic_load(&counts_of(handle)->sends);
	if (atomic_load(&one->count) > 1)
		end = stpcpy(put_count(end, (uint32_t)atomic_load(&one->count), " handle"),
			sends > 0 ? "; the latest has " : "; one has ");
	end = put_count(end, sends, " send");
	end = put_count(stpcpy(end, ", "), atomic_load(&counts_of(handle)->runs), " run");
	strcpy(end, ") of ");
	thrum__adapt_pipe_rename(fd, words, "async", thrum__adapt_uv_callback(handle));
}

/* ---- The handles ---------------------------------------------------------------------------- */

void thrum__adapt_uv_async_made(uv_async_t *handle)
{
	struct waking *one = find_or_take(handle->loop->async_io_watcher.fd);
	uv_async_t *none = NULL;

	handle->u.reserved[0] = NULL;
	if (!one)
		return;
	atomic_fetch_add(&one->count, 1);
	atomic_compare_exchange_strong(&one->latest, &none, handle);
	unname(one);
	atomic_store(&thrum__adapt_names_also, name);
}

void thrum__adapt_uv_async_sent(uv_async_t *handle)
{
	struct waking *one = find(handle->loop->async_io_watcher.fd);

	atomic_fetch_add(&counts_of(handle)->sends, 1);
	if (!one)
		return;
	atomic_store(&one->latest, handle);
	unname(one);
}

void thrum__adapt_uv_async_runs(uv_async_t *handle)
{
	struct waking *one = find(handle->loop->async_io_watcher.fd);

	atomic_fetch_add(&counts_of(handle)->runs, 1);
	if (one)
		unname(one);
}

void thrum__adapt_uv_async_closed(uv_async_t *handle)
{
	struct waking *one = find(handle->loop->async_io_watcher.fd);
	uv_async_t *expected = handle;

	if (!one)
		return;
	atomic_fetch_sub(&one->count, 1);
	atomic_compare_exchange_strong(&one->latest, &expected, NULL);
	unname(one);
}
