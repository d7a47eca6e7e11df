/* SPDX-License-Identifier: ISC */
/*
 * Asynchronous queues. From the first wait on, each item that is put into one is a signal, and each one that
 * is taken out is a read.
 */
#define _GNU_SOURCE
#include <glib.h>

#include "adapt/glib/glib.h"

#define MAKERS 256u /* of several queues with one place, the latest one is known */

/* The place where a queue was made. */
static struct maker {
	GAsyncQueue *_Atomic queue;
	const void *_Atomic caller;
} makers[MAKERS];

REAL(g_async_queue_new)
REAL(g_async_queue_new_full)
REAL(g_async_queue_try_pop)
REAL(g_async_queue_try_pop_unlocked)

static struct maker *maker_of(const GAsyncQueue *queue)
{
	return &makers[((uintptr_t)queue >> 4 ^ (uintptr_t)queue >> 12) % MAKERS];
}

static GAsyncQueue *note_maker(GAsyncQueue *queue, const void *caller)
{
	struct maker *maker = maker_of(queue);

	if (!queue || !is_chosen(ADAPTER_GLIB))
		return queue;
	/* Another one may have lived there. */
	if (is_on(ADAPTER_GLIB))
		thrum__adapt_object_end(queue);
	atomic_store(&maker->queue, NULL);
	atomic_store(&maker->caller, caller);
	atomic_store(&maker->queue, queue);
	return queue;
}

STAND_IN GAsyncQueue *g_async_queue_new(void)
{
	return note_maker(real_g_async_queue_new(CALLER)(), CALLER);
}

STAND_IN GAsyncQueue *g_async_queue_new_full(GDestroyNotify free_item)
{
	return note_maker(real_g_async_queue_new_full(CALLER)(free_item), CALLER);
}

/* An item is about to be put in. */
static void put(const GAsyncQueue *queue)
{
	struct object *object = queue && is_on(ADAPTER_GLIB) ? thrum__adapt_object((uintptr_t)queue)
							     : NULL;

	if (queue && thrum__adapt_glib_is_in_run())
		thrum__adapt_glib_acts();
	if (object)
		thrum_task_signal(atomic_load(&object->task), atomic_load(&object->waiters));
}

/* One was taken out without a wait. */
static void take(const GAsyncQueue *queue)
{
	struct object *object = is_on(ADAPTER_GLIB) ? thrum__adapt_object((uintptr_t)queue) : NULL;

	if (object)
		thrum_task_read(thrum_task_current(), atomic_load(&object->task));
	hear_news(thrum__adapt_self);
}

static void begin_wait(struct wait *wait, const GAsyncQueue *queue, const void *caller,
	bool is_timed)
{
	struct object *object = thrum__adapt_object((uintptr_t)queue);
	const struct maker *maker = maker_of(queue);
	char label[PLACE_MAX];

	if (!object && atomic_load(&maker->queue) == queue) {
		thrum__adapt_label(label, "queue made by", atomic_load(&maker->caller));
		object = thrum__adapt_object_named(queue, THRUM_KIND_STREAM, label, caller);
	} else if (!object) {
		object = thrum__adapt_object_make(queue, THRUM_KIND_STREAM, "queue", caller);
	}
	thrum__adapt_wait_begin(wait, object, queue, caller, is_timed);
}

#define POP(name, parameters, arguments, try, is_timed) \
	REAL(name) \
	STAND_IN gpointer name parameters \
	{ \
		const void *caller = CALLER; \
		gpointer item; \
		struct wait wait; \
\
		if (!queue || !may_record(ADAPTER_GLIB)) \
			return real_##name(caller) arguments; \
		item = real_##try(caller)(queue); \
		if (item) \
			take(queue); \
		if (item || !records_wait(ADAPTER_GLIB)) \
			return item ? item : real_##name(caller) arguments; \
		begin_wait(&wait, queue, caller, is_timed); \
		item = real_##name(caller) arguments; \
		thrum__adapt_wait_end(&wait); \
		return item; \
	}
POP(g_async_queue_pop, (GAsyncQueue * queue), (queue), g_async_queue_try_pop, false)
POP(g_async_queue_pop_unlocked, (GAsyncQueue * queue), (queue), g_async_queue_try_pop_unlocked,
	false)
POP(g_async_queue_timeout_pop, (GAsyncQueue * queue, guint64 timeout), (queue, timeout),
	g_async_queue_try_pop, true)
POP(g_async_queue_timeout_pop_unlocked, (GAsyncQueue * queue, guint64 timeout), (queue, timeout),
	g_async_queue_try_pop_unlocked, true)

#define TRY(name) \
	STAND_IN gpointer name(GAsyncQueue *queue) \
	{ \
		gpointer item = real_##name(CALLER)(queue); \
\
		if (item) \
			take(queue); \
		return item; \
	}
TRY(g_async_queue_try_pop)
TRY(g_async_queue_try_pop_unlocked)

#define PUT(name, parameters, arguments) \
	REAL(name) \
	STAND_IN void name parameters \
	{ \
		put(queue); \
		real_##name(CALLER) arguments; \
	}
PUT(g_async_queue_push, (GAsyncQueue * queue, gpointer item), (queue, item))
PUT(g_async_queue_push_unlocked, (GAsyncQueue * queue, gpointer item), (queue, item))
PUT(g_async_queue_push_front, (GAsyncQueue * queue, gpointer item), (queue, item))
PUT(g_async_queue_push_front_unlocked, (GAsyncQueue * queue, gpointer item), (queue, item))
PUT(g_async_queue_push_sorted,
	(GAsyncQueue * queue, gpointer item, GCompareDataFunc compare, gpointer data),
	(queue, item, compare, data))
PUT(g_async_queue_push_sorted_unlocked,
	(GAsyncQueue * queue, gpointer item, GCompareDataFunc compare, gpointer data),
	(queue, item, compare, data))
