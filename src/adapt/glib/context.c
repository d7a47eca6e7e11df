/* SPDX-License-Identifier: ISC */
/*
 * Contexts that a thread pushed as its default, and that it doesn't pop. As long as it has pushed one, no
 * other thread can run its sources. So if the callback that pushed it has returned, or the thread runs the
 * loop of another context, the sources that are attached to it wait in vain. Their tasks wait for a task
 * that tells this, and that ends once the context is popped, or run after all.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <glib.h>

#include "adapt/glib/glib.h"

#define PUSHED_MAX 16 /* of one thread */
#define LEFT_MAX 16   /* contexts that were left */

REAL(g_main_context_push_thread_default)
REAL(g_main_context_pop_thread_default)
REAL(g_main_context_iteration)
REAL(g_main_context_default)
REAL(g_main_loop_get_context)

/* Those that the calling thread has pushed. More are not noted. */
static __thread struct {
	unsigned count;
	struct {
		GMainContext *context;
		const void *caller;
	} pushed[PUSHED_MAX];
} thread __attribute__((tls_model("initial-exec")));

static struct left {
	_Atomic(GMainContext *) context; /* NULL: it is free */
	const void *_Atomic caller;      /* that pushed it */
	_Atomic uint64_t task;           /* 0: nothing was attached since */
} left[LEFT_MAX];
static _Atomic int left_count;

static struct left *find_left(const GMainContext *context)
{
	for (int i = 0; i < LEFT_MAX && atomic_load(&left_count) > 0; i++)
		if (atomic_load(&left[i].context) == context)
			return &left[i];
	return NULL;
}

static void leave(GMainContext *context, const void *caller)
{
	if (!context || context == real_g_main_context_default(NULL)() || find_left(context))
		return;
	for (int i = 0; i < LEFT_MAX; i++) {
		GMainContext *none = NULL;

		if (!atomic_compare_exchange_strong(&left[i].context, &none, context))
			continue;
		atomic_store(&left[i].caller, caller);
		atomic_fetch_add(&left_count, 1);
		return;
	}
}

/* It is popped, or run. */
static void come_back(const GMainContext *context)
{
	struct left *one = context ? find_left(context) : NULL;

	if (!one)
		return;
	thrum_task_resolve(atomic_exchange(&one->task, 0));
	atomic_store(&one->context, NULL);
	atomic_fetch_sub(&left_count, 1);
}

unsigned thrum__adapt_glib_pushed(void)
{
	return thread.count;
}

void thrum__adapt_glib_returned(unsigned before)
{
	for (unsigned i = before; i < thread.count && i < PUSHED_MAX; i++)
		leave(thread.pushed[i].context, thread.pushed[i].caller);
}

/* Returns the context on top if it isn't the one that is about to run; else NULL. */
static GMainContext *find_other(const GMainContext *context, const void **caller)
{
	GMainContext *top;

	if (thread.count == 0 || thread.count > PUSHED_MAX)
		return NULL;
	top = thread.pushed[thread.count - 1].context;
	*caller = thread.pushed[thread.count - 1].caller;
	return top != context && !find_left(top) ? top : NULL;
}

void *thrum__adapt_glib_runs(void *main_loop, bool is_outermost)
{
	GMainContext *context, *other;
	const void *caller;

	if (LIKELY(thread.count == 0) && LIKELY(atomic_load(&left_count) == 0))
		return NULL;
	context = real_g_main_loop_get_context(NULL)(main_loop);
	come_back(context);
	other = is_outermost ? find_other(context, &caller) : NULL;
	if (other)
		leave(other, caller);
	return other;
}

void thrum__adapt_glib_ran(void *other)
{
	come_back(other);
}

void thrum__adapt_glib_attached(thrum_task source, const void *context)
{
	struct left *one = context && source ? find_left(context) : NULL;
	const void *caller = one ? atomic_load(&one->caller) : NULL;
	char label[PLACE_MAX + 80];
	thrum_task task;

	if (!one)
		return;
	task = atomic_load(&one->task);
	if (!task) {
		thrum__adapt_label(label, "pop of the main context that was pushed by", caller);
		task = thrum__create(thrum__adapt_site(caller), THRUM_KIND_TASK, label);
		thrum_task_should_resolve(task);
		atomic_store(&one->task, task);
	}
	thrum_task_wait(source, task);
}

/* ---- The calls --------------------------------------------------------------------------------- */

STAND_IN void g_main_context_push_thread_default(GMainContext *context)
{
	const void *caller = CALLER;

	real_g_main_context_push_thread_default(caller)(context);
	if (thread.count < PUSHED_MAX) {
		thread.pushed[thread.count].context = context;
		thread.pushed[thread.count].caller = caller;
	}
	thread.count++;
}

STAND_IN void g_main_context_pop_thread_default(GMainContext *context)
{
	if (thread.count > 0)
		thread.count--;
	come_back(context);
	real_g_main_context_pop_thread_default(CALLER)(context);
}

STAND_IN gboolean g_main_context_iteration(GMainContext *context, gboolean may_block)
{
	if (UNLIKELY(atomic_load_explicit(&left_count, memory_order_relaxed) > 0))
		come_back(context);
	return real_g_main_context_iteration(CALLER)(context, may_block);
}
