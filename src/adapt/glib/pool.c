/* SPDX-License-Identifier: ISC */
/*
 * GThreadPool. Each item that is pushed is a task, which runs once a thread takes the item. The pool gets a
 * function of ours, of which there is one for each pool. Its data, which a program may read, stays the
 * program's.
 */
#include <errno.h>
#include <glib.h>
#include <stdlib.h>

#include "adapt/glib/glib.h"

#define BUCKETS 1024u

/* A pool of the program's. Further ones are as without thrum. */
static struct pool {
	GFunc function; /* NULL: there is none */
} pools[32];

/* An item that was pushed, until it has run. */
static struct item {
	struct item *next; /* of the same bucket */
	const struct pool *pool;
	const void *data;
	thrum_task task;
	bool is_taken;
} * first[BUCKETS], **last[BUCKETS];
/* All the above belongs to the thread that has set it. */
static atomic_flag is_busy = ATOMIC_FLAG_INIT;

REAL(g_error_free)
REAL(g_thread_pool_new)
REAL(g_thread_pool_push)
REAL(g_thread_pool_free)

static void lock(void)
{
	while (atomic_flag_test_and_set_explicit(&is_busy, memory_order_acquire))
		thrum__port_yield();
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&is_busy, memory_order_release);
}

static unsigned bucket_of(const void *data)
{
	return (unsigned)(mix_key(0, (uintptr_t)data) % BUCKETS);
}

static void put(struct item *item)
{
	unsigned at = bucket_of(item->data);

	lock();
	if (!first[at])
		last[at] = &first[at];
	*last[at] = item;
	last[at] = &item->next;
	unlock();
}

/* Takes the first item of a pool with this data in a bucket; NULL: with any. Returns NULL if there is
 * none. */
static struct item *take(unsigned at, const struct pool *pool, const void *data)
{
	struct item *item;

	lock();
	for (item = first[at]; item; item = item->next)
		if (item->pool == pool && !item->is_taken && (!data || item->data == data))
			break;
	if (item)
		item->is_taken = true;
	unlock();
	return item;
}

static void end(struct item *item)
{
	unsigned at = bucket_of(item->data);
	struct item **link = &first[at];

	lock();
	while (*link != item)
		link = &(*link)->next;
	if (!(*link = item->next))
		last[at] = link;
	unlock();
	free(item);
}

static void run(const struct pool *pool, gpointer data, gpointer argument)
{
	struct item *item = take(bucket_of(data), pool, data);
	thrum_task before;

	if (!item) {
		pool->function(data, argument);
		return;
	}
	before = thrum_task_enter(item->task);
	pool->function(data, argument);
	thrum_task_resolve(item->task);
	thrum_task_leave(before);
	end(item);
}

/* Octal numbers from 0 to 037. */
#define EIGHT(X, a) X(a##0) X(a##1) X(a##2) X(a##3) X(a##4) X(a##5) X(a##6) X(a##7)
#define ALL(X) EIGHT(X, 0) EIGHT(X, 01) EIGHT(X, 02) EIGHT(X, 03)
#define RUN(i) \
	static void run_##i(gpointer data, gpointer argument) \
	{ \
		run(&pools[i], data, argument); \
	}
ALL(RUN)
#define NAME(i) run_##i,
static const GFunc runs[] = {ALL(NAME)};

/* Returns the pool that has a function of ours, or NULL. */
static struct pool *find_pool(GFunc function)
{
	for (unsigned i = 0; i < sizeof pools / sizeof *pools; i++)
		if (runs[i] == function)
			return &pools[i];
	return NULL;
}

/* GIO's own pool is that of GTask. */
static struct pool *make_pool(GFunc function, const void *caller)
{
	struct pool *pool = NULL;

	if (!function || find_pool(function) || !is_chosen(ADAPTER_GLIB) ||
		thrum__adapt_glib_is_own(caller))
		return NULL;
	lock();
	for (unsigned i = 0; i < sizeof pools / sizeof *pools && !pool; i++)
		if (!pools[i].function)
			pool = &pools[i];
	if (pool)
		pool->function = function;
	unlock();
	return pool;
}

static void forget(struct pool *pool)
{
	lock();
	pool->function = NULL;
	unlock();
}

#define NEW(name, parameters, arguments) \
	STAND_IN GThreadPool *name parameters \
	{ \
		struct pool *made = make_pool(function, CALLER); \
		GThreadPool *pool; \
\
		if (made) \
			function = runs[made - pools]; \
		pool = real_##name(CALLER) arguments; \
		if (made && !pool) \
			forget(made); \
		return pool; \
	}
NEW(g_thread_pool_new,
	(GFunc function, gpointer data, gint most, gboolean is_exclusive, GError **error),
	(function, data, most, is_exclusive, error))

#if GLIB_CHECK_VERSION(2, 70, 0)
REAL(g_thread_pool_new_full)
NEW(g_thread_pool_new_full,
	(GFunc function, gpointer data, GDestroyNotify free_item, gint most, gboolean is_exclusive,
		GError **error),
	(function, data, free_item, most, is_exclusive, error))
#endif

static struct item *put_new(const struct pool *pool, gpointer data, const void *caller)
{
	int error = errno;
	struct item *item = thrum__adapt_glib_begin() ? malloc(sizeof *item) : NULL;

	errno = error;
	if (!item)
		return NULL;
	*item = (struct item){.pool = pool, .data = data};
	item->task = thrum__adapt_create_for(caller, THRUM_KIND_TASK, "job",
		(cell_function *)pool->function);
	thrum_task_ready(item->task);
	put(item);
	return item;
}

static void drop(struct item *item)
{
	thrum_task_cancel(item->task);
	end(item);
}

/* The item is in the pool also if there is an error: then a thread is missing. If there is none, the pool
 * is being freed. */
STAND_IN gboolean g_thread_pool_push(GThreadPool *pool, gpointer data, GError **error)
{
	const struct pool *known = pool ? find_pool(pool->func) : NULL;
	struct item *item = known ? put_new(known, data, CALLER) : NULL;
	GError *own = NULL, **given = error ? error : &own;
	gboolean is_put = real_g_thread_pool_push(CALLER)(pool, data, given);

	if (item && !is_put && !*given && (item = take(bucket_of(data), known, data)))
		drop(item);
	if (own)
		real_g_error_free(CALLER)(own);
	return is_put;
}

/* The items that are left never run. */
static void drop_items(const struct pool *pool)
{
	struct item *item;

	for (unsigned at = 0; at < BUCKETS; at++)
		while ((item = take(at, pool, NULL)))
			drop(item);
}

/* Tells that the running task waits for all items. Returns what it waits for, or THRUM_TASK_NONE. */
static thrum_task wait_for_items(const struct pool *pool, const void *caller)
{
	thrum_task join = THRUM_TASK_NONE;

	lock();
	for (unsigned at = 0; at < BUCKETS; at++)
		for (const struct item *item = first[at]; item; item = item->next) {
			if (item->pool != pool)
				continue;
			if (join == THRUM_TASK_NONE)
				join = thrum__adapt_create_for(caller, THRUM_KIND_JOIN, "pool",
					(cell_function *)pool->function);
			thrum_task_wait(join, item->task);
		}
	unlock();
	thrum_task_wait(thrum_task_current(), join);
	return join;
}

/* Without a wait, threads may still run items, and use what is known of the pool. */
STAND_IN void g_thread_pool_free(GThreadPool *pool, gboolean is_immediate, gboolean waits)
{
	struct pool *known = pool ? find_pool(pool->func) : NULL;
	thrum_task items = THRUM_TASK_NONE;

	if (known && is_immediate)
		drop_items(known);
	if (known && waits && thrum__adapt_glib_begin())
		items = wait_for_items(known, CALLER);
	real_g_thread_pool_free(CALLER)(pool, is_immediate, waits);
	thrum_task_resolve(items);
	if (known && waits)
		forget(known);
}
