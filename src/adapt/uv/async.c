/* SPDX-License-Identifier: ISC */
/*
 * Handles of libuv by which other threads wake a loop (uv_async_t). All handles of a loop share an eventfd.
 * If the loop waits for that, its name has the handle that was sent last, how often, and how often its
 * callback ran. libuv may make one run of several sends: so these numbers are no fault by themselves. If all
 * handles that are open were made at one place, and several others of that place were closed, the name tells
 * that instead: a loop goes on as long as a handle is open. A handle that is sent when uv_run has returned
 * waits for a task that ends once the loop runs again.
 */
#include "adapt/uv/uv.h"

#include <string.h>

#include "adapt/look/look.h"

#define LOOPS_MAX 32    /* of further loops nothing is told, */
#define HANDLES_MAX 128 /* nor of further handles, */
#define MAKERS_MAX 32   /* nor of further places */
#define CLOSED_MIN 3    /* so many handles of a place show that they are closed */

static struct waking {
	_Atomic int fd;             /* that wakes the loop, + 1; 0: it is free */
	_Atomic int signals;        /* by which it hears of signals, + 1; 0: not known */
	_Atomic int count;          /* handles */
	uv_async_t *_Atomic latest; /* the handle that was sent last, or the first one */
	_Atomic bool is_named;      /* the eventfd has a name that tells of it */
	const void *_Atomic left;   /* who ran the loop last; NULL: it runs, or never did */
	_Atomic uint64_t unrun;     /* the task for which its handles wait, or NONE */
} wakings[LOOPS_MAX];

/* A place that makes handles. */
static struct maker {
	const void *_Atomic caller; /* NULL: it is free */
	const void *_Atomic closer; /* who closed most of them, if one place did */
	_Atomic int votes;          /* for that, less those for others */
	_Atomic int closed;
} makers[MAKERS_MAX];

/* How often a handle with a callback was sent, and has run. Handles have no word that all versions of libuv
 * leave alone. */
static struct counts {
	uv_async_t *_Atomic handle; /* NULL: it is free */
	_Atomic uint32_t sends, runs;
	struct maker *_Atomic maker; /* NULL: not known */
	_Atomic int fd;              /* that wakes its loop, + 1; 0: not known */
} counts[HANDLES_MAX];

static struct maker *maker_of(const void *caller)
{
	for (unsigned i = 0; i < MAKERS_MAX; i++) {
		const void *none = NULL;

		if (atomic_load(&makers[i].caller) == caller ||
			atomic_compare_exchange_strong(&makers[i].caller, &none, caller) ||
			none == caller)
			return &makers[i];
	}
	return NULL;
}

/* Returns the place of a handle; of NULL, a free one. NULL: there is none. */
static struct counts *counts_of(const uv_async_t *handle)
{
	for (unsigned i = 0; i < HANDLES_MAX; i++)
		if (atomic_load_explicit(&counts[i].handle, memory_order_relaxed) == handle)
			return &counts[i];
	return NULL;
}

static struct counts *take_counts(uv_async_t *handle, int fd, const void *caller)
{
	uv_async_t *none = NULL;
	struct counts *free = counts_of(NULL);

	if (!free || !atomic_compare_exchange_strong(&free->handle, &none, handle))
		return NULL;
	atomic_store(&free->sends, 0);
	atomic_store(&free->runs, 0);
	atomic_store(&free->maker, maker_of(thrum__adapt_caller(caller)));
	atomic_store(&free->fd, fd + 1); /* last: the loops of others look for theirs */
	return free;
}

REAL(uv_run)

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

/* How many open handles of a loop were made at a place. */
static int count_open(int fd, const struct maker *maker)
{
	int open = 0;

	for (unsigned i = 0; i < HANDLES_MAX; i++)
		open += atomic_load(&counts[i].fd) == fd + 1 &&
			atomic_load(&counts[i].maker) == maker;
	return open;
}

/* Names an eventfd by the handles that are left open, of which others were closed. */
static void name_left(int fd, int open, const uv_async_t *handle, const struct maker *maker)
{
	char words[CALL_MAX + PLACE_MAX] = " of ", *end;

	end = put_count(words + strlen(words), (uint32_t)open, " open handle");
	thrum__adapt_label(end, " async", thrum__adapt_uv_callback((const uv_handle_t *)handle));
	end = stpcpy(strchr(end, '\0'), ", ");
	end = thrum__adapt_put_number(end, (uint64_t)atomic_load(&maker->closed));
	strcpy(end, open == 1 ? " like it closed" : " like them closed");
	thrum__adapt_pipe_rename(fd, words,
		atomic_load(&maker->votes) == atomic_load(&maker->closed) ? " by" : ", some by",
		atomic_load(&maker->closer));
}

/* The handle that was sent last, else any that is open. */
static uv_async_t *handle_of(struct waking *one, int fd)
{
	uv_async_t *handle = atomic_load(&one->latest);

	for (unsigned i = 0; i < HANDLES_MAX && !handle; i++)
		if (atomic_load(&counts[i].handle) && atomic_load(&counts[i].fd) == fd + 1)
			handle = atomic_load(&counts[i].handle);
	return handle;
}

/* The calling thread's loop waits for its eventfd. While a request is under way, that may wake it. */
static void name(int fd)
{
	struct waking *one = find(fd);
	uv_async_t *handle = one ? handle_of(one, fd) : NULL;
	const struct counts *known = handle ? counts_of(handle) : NULL;
	const struct maker *maker = known ? atomic_load(&known->maker) : NULL;
	char words[CALL_MAX] = " (", *end = words + strlen(words);
	uint32_t sends;

	if (!known || handle->loop->active_reqs.count > 0 || atomic_exchange(&one->is_named, true))
		return;
	if (maker && atomic_load(&maker->closed) >= CLOSED_MIN &&
		count_open(fd, maker) == atomic_load(&one->count)) {
		name_left(fd, atomic_load(&one->count), handle, maker);
		return;
	}
	sends = atomic_load(&known->sends);
	if (atomic_load(&one->count) > 1)
		end = stpcpy(put_count(end, (uint32_t)atomic_load(&one->count), " handle"),
			sends > 0 && handle == atomic_load(&one->latest) ? "; the latest has "
									 : "; one has ");
	end = put_count(end, sends, " send");
	end = put_count(stpcpy(end, ", "), atomic_load(&known->runs), " run");
	strcpy(end, ") of ");
	thrum__adapt_pipe_rename(fd, words, "async",
		thrum__adapt_uv_callback((const uv_handle_t *)handle));
}

/* ---- The loop ------------------------------------------------------------------------------- */

static void runs(struct waking *one)
{
	atomic_store(&one->left, NULL);
	resolve_told(&one->unrun);
}

/* Whether no code of the program writes to a descriptor of a loop. */
static bool is_unused(int fd)
{
	for (unsigned i = 0; i < LOOPS_MAX && atomic_load(&wakings[i].fd); i++)
		if (atomic_load(&wakings[i].signals) == fd + 1 ||
			(atomic_load(&wakings[i].fd) == fd + 1 &&
				atomic_load(&wakings[i].count) == 0))
			return true;
	return false;
}

int thrum__adapt_uv_run_loop(uv_loop_t *loop, uv_run_mode mode, const void *caller)
{
	thrum_task (*outer)(void) = thrum__adapt_broken_tells;
	struct waking *one = find_or_take(loop->async_io_watcher.fd);
	int result;

	if (one) {
		runs(one);
		atomic_store(&one->signals, loop->signal_pipefd[0] + 1);
		atomic_store(&thrum__adapt_is_unused, is_unused);
	}
	thrum__adapt_broken_tells = thrum__adapt_timers_tell;
	result = real_uv_run(caller)(loop, mode);
	thrum__adapt_broken_tells = outer;
	if (mode == UV_RUN_DEFAULT)
		thrum__adapt_uv_left(loop);
	one = mode == UV_RUN_DEFAULT ? find(loop->async_io_watcher.fd) : NULL;
	if (one)
		atomic_store(&one->left, caller);
	return result;
}

/* ---- The handles ---------------------------------------------------------------------------- */

void thrum__adapt_uv_async_made(uv_async_t *handle, const void *caller)
{
	int fd = handle->loop->async_io_watcher.fd;
	struct waking *one = find_or_take(fd);
	uv_async_t *none = NULL;

	if (!one || !take_counts(handle, fd, caller))
		return;
	if (atomic_load(&one->count) == 0)
		runs(one); /* another loop may have got the descriptor */
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
	const void *left = atomic_load_explicit(&one->left, memory_order_relaxed);

	/* The first of them tells enough. */
	if (UNLIKELY(left) && !atomic_load(&one->unrun))
		thrum__adapt_wait_for_run(thrum__adapt_uv_task((uv_handle_t *)handle), &one->unrun,
			"run of a loop, as uv_run has returned in", left, left);
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

/* Keeps the place that closes most of them: if one closes more than half, it is left at the end. */
static void note_closer(struct maker *maker, const void *caller)
{
	atomic_fetch_add(&maker->closed, 1);
	if (atomic_load(&maker->closer) == caller) {
		atomic_fetch_add(&maker->votes, 1);
	} else if (atomic_load(&maker->votes) == 0) {
		atomic_store(&maker->closer, caller);
		atomic_store(&maker->votes, 1);
	} else {
		atomic_fetch_sub(&maker->votes, 1);
	}
}

void thrum__adapt_uv_async_closed(uv_async_t *handle, const void *caller)
{
	struct waking *one = find(handle->loop->async_io_watcher.fd);
	struct counts *known = counts_of(handle);
	uv_async_t *expected = handle;

	if (!one || !known)
		return;
	if (atomic_load(&known->maker))
		note_closer(atomic_load(&known->maker), thrum__adapt_caller(caller));
	atomic_store(&known->fd, 0);
	atomic_store(&known->handle, NULL);
	atomic_fetch_sub(&one->count, 1);
	atomic_compare_exchange_strong(&one->latest, &expected, NULL);
	unname(one);
}
