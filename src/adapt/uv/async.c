/* SPDX-License-Identifier: ISC */
/*
 * Handles of libuv by which other threads wake a loop (uv_async_t). All handles of a loop share an eventfd.
 * If the loop waits for that, its name has the handle that was sent last, how often, and how often its
 * callback ran. libuv may make one run of several sends: so these numbers are no fault by themselves.
 */
#include "adapt/uv/uv.h"

#include <string.h>

#include "adapt/look/look.h"

#define LOOPS_MAX 32    /* of further loops nothing is told, */
#define HANDLES_MAX 128 /* nor of further handles */

static struct waking {
	_Atomic int fd;             /* that wakes the loop, + 1; 0: it is free */
	_Atomic int count;          /* handles */
	uv_async_t *_Atomic latest; /* the handle that was sent last, or the first one */
	_Atomic bool is_named;      /* the eventfd has a name that tells of it */
} wakings[LOOPS_MAX];

/* How often a handle with a callback was sent, and has run. Handles have no word that all versions of libuv
 * leave alone. */
static struct counts {
	uv_async_t *_Atomic handle; /* NULL: it is free */
	_Atomic uint32_t sends, runs;
} counts[HANDLES_MAX];

/* Returns the place of a handle; of NULL, a free one. NULL: there is none. */
static struct counts *counts_of(const uv_async_t *handle)
{
	for (unsigned i = 0; i < HANDLES_MAX; i++)
		if (atomic_load_explicit(&counts[i].handle, memory_order_relaxed) == handle)
			return &counts[i];
	return NULL;
}

static struct counts *take_counts(uv_async_t *handle)
{
	uv_async_t *none = NULL;
	struct counts *free = counts_of(NULL);

	if (!free || !atomic_compare_exchange_strong(&free->handle, &none, handle))
		return NULL;
	atomic_store(&free->sends, 0);
	atomic_store(&free->runs, 0);
	return free;
}

static struct waking *find(int fd)
{
	for (unsigned i = 0; i < LOOPS_MAX && fd >= 0; i++)
		if (atomic_load_explicit(&wakings[i].fd, memory_order_relaxed) == fd + 1)
			return &wakings[i];
	return NULL;
}

static struct waking *find_or_take(int fd)
{
	struct waking *one = find(fd);

	for (unsigned i = 0; i < LOOPS_MAX && fd >= 0 && !one; i++) {
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
	const struct counts *known = handle ? counts_of(handle) : NULL;
	char words[CALL_MAX] = " (", *end = words + strlen(words);
	uint32_t sends;

	if (!known || handle->loop->active_reqs.count > 0 || atomic_exchange(&one->is_named, true))
		return;
	sends = atomic_load(&known->sends);
	if (atomic_load(&one->count) > 1)
		end = stpcpy(put_count(end, (uint32_t)atomic_load(&one->count), " handle"),
			sends > 0 ? "; the latest has " : "; one has ");
	end = put_count(end, sends, " send");
	end = put_count(stpcpy(end, ", "), atomic_load(&known->runs), " run");
	strcpy(end, ") of ");
	thrum__adapt_pipe_rename(fd, words, "async", thrum__adapt_uv_callback(handle));
}

/* ---- The handles ---------------------------------------------------------------------------- */

void thrum__adapt_uv_async_made(uv_async_t *handle)
{
	struct waking *one = find_or_take(handle->loop->async_io_watcher.fd);
	uv_async_t *none = NULL;

	if (!one || !take_counts(handle))
		return;
	atomic_fetch_add(&one->count, 1);
	atomic_compare_exchange_strong(&one->latest, &none, handle);
	unname(one);
	atomic_store(&thrum__adapt_names_also, name);
}

void thrum__adapt_uv_async_sent(uv_async_t *handle)
{
	struct waking *one = find(handle->loop->async_io_watcher.fd);
	struct counts *known = counts_of(handle);

	if (!one || !known)
		return;
	atomic_fetch_add(&known->sends, 1);
	atomic_store(&one->latest, handle);
	unname(one);
}

void thrum__adapt_uv_async_runs(uv_async_t *handle)
{
	struct waking *one = find(handle->loop->async_io_watcher.fd);
	struct counts *known = counts_of(handle);

	if (!one || !known)
		return;
	atomic_fetch_add(&known->runs, 1);
	unname(one);
}

void thrum__adapt_uv_async_closed(uv_async_t *handle)
{
	struct waking *one = find(handle->loop->async_io_watcher.fd);
	struct counts *known = counts_of(handle);
	uv_async_t *expected = handle;

	if (!one || !known)
		return;
	atomic_store(&known->handle, NULL);
	atomic_fetch_sub(&one->count, 1);
	atomic_compare_exchange_strong(&one->latest, &expected, NULL);
	unname(one);
}
