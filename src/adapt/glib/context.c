/* SPDX-License-Identifier: ISC */
/*
 * Contexts that a thread pushed as its default, and that it doesn't pop. As long as it has pushed one, no
 * other thread can run its sources. So if the callback that pushed it has returned, or the thread runs the
 * loop of another context, the sources that are attached to it wait in vain. Their tasks wait for a task
 * that tells this, and that ends once the context is popped, or run after all. So does the first one that was
 * attached before.
 *
 * A thread with a context of its own may attach a source to the default context, as g_timeout_add does; or
 * any thread one that is ready. If no thread runs that, the source waits for a task that ends once one does.
 * So does a source of a context that the program made, and that no thread runs.
 */
#define _GNU_SOURCE
#include <glib.h>

#include "adapt/glib/glib.h"
#include "adapt/look/look.h"

#define PUSHED_MAX 8 /* of one thread */
#define LEFT_MAX 16  /* contexts that were left */
#define MADE \
	64u /* contexts that the program made; of several with one place, the latest is known */

REAL(g_main_context_push_thread_default)
REAL(g_main_context_pop_thread_default)
REAL(g_main_context_default)
REAL(g_main_context_is_owner)
REAL(g_main_loop_get_context)
REAL(g_main_context_new)
REAL(g_main_context_acquire)
REAL(g_main_context_release)
REAL(g_main_context_find_source_by_id)

/* The contexts that the calling thread has pushed. More are not noted. */
static __thread struct {
	unsigned runs;           /* loops of other contexts than the default one */
	GMainContext *outermost; /* of the outermost loop; NULL: it runs none */
	/* The latest source that it attached to the default context while it had one of its own, or NONE. */
	thrum_task elsewhere;
	guint elsewhere_id;
	unsigned count;
	struct pushed {
		GMainContext *context;
		const void *caller;
		/* The first source that the thread attached there since, and nobody ran; or NONE. */
		thrum_task source;
		guint id;
	} pushed[PUSHED_MAX];
} thread __attribute__((tls_model("initial-exec")));

static struct left {
	_Atomic(GMainContext *) context; /* NULL: it is free */
	const void *_Atomic caller;      /* that pushed it */
	_Atomic uint64_t task;           /* 0: nothing was attached since */
} left[LEFT_MAX];
static _Atomic int left_count;

static struct {
	_Atomic int runs;         /* loops of the default context */
	_Atomic bool is_iterated; /* the program runs it in a loop of its own */
	_Atomic uint64_t task;    /* 0: nothing waits for its run */
} of_default;

static struct made {
	GMainContext *_Atomic context;
	const void *_Atomic caller;
	_Atomic int runs;         /* loops */
	_Atomic uint32_t ran;     /* loops that have returned */
	_Atomic uint32_t user;    /* the thread that uses it; SEVERAL: several do */
	_Atomic bool is_iterated; /* the program runs it in a loop of its own */
	_Atomic uint64_t task;    /* 0: nothing waits for its run */
} made[MADE];

/* Returns a context that the program made, or NULL. */
static struct made *find_made(const GMainContext *context)
{
	struct made *one = &made[((uintptr_t)context >> 4 ^ (uintptr_t)context >> 10) % MADE];

	return context && atomic_load_explicit(&one->context, memory_order_relaxed) == context
		? one
		: NULL;
}

static void note_made(GMainContext *context, const void *caller)
{
	struct made *one = &made[((uintptr_t)context >> 4 ^ (uintptr_t)context >> 10) % MADE];

	if (!is_chosen(ADAPTER_GLIB))
		return;
	atomic_store(&one->context, NULL);
	resolve_told(&one->task);
	atomic_store(&one->caller, caller);
	atomic_store(&one->runs, 0);
	atomic_store(&one->ran, 0);
	atomic_store(&one->user, own_tid());
	atomic_store(&one->is_iterated, false);
	atomic_store(&one->context, context);
}

/* The calling thread runs a context, or attaches a source to it. */
static void use_made(struct made *one)
{
	if (one && atomic_load(&one->user) != own_tid())
		atomic_store(&one->user, SEVERAL);
}

bool thrum__adapt_glib_is_made(const void *context)
{
	return find_made(context) != NULL;
}

bool thrum__adapt_glib_has_returned(const void *context)
{
	const struct made *one = find_made(context);

	return one && atomic_load(&one->ran) > 0 && atomic_load(&one->runs) <= 0 &&
		!atomic_load(&one->is_iterated);
}

bool thrum__adapt_glib_is_private(const void *context)
{
	const struct made *one = find_made(context);

	return one && atomic_load(&one->user) == own_tid();
}

/* A loop of the context begins, or ends. */
static void run_made(const GMainContext *context, int by)
{
	struct made *one = find_made(context);

	if (!one)
		return;
	use_made(one);
	if (by < 0)
		atomic_fetch_add(&one->ran, 1);
	atomic_fetch_add(&one->runs, by);
	resolve_told(&one->task);
}

static void iterate_made(const GMainContext *context)
{
	struct made *one = find_made(context);

	use_made(one);
	if (!one || atomic_load_explicit(&one->is_iterated, memory_order_relaxed))
		return;
	atomic_store(&one->is_iterated, true);
	resolve_told(&one->task);
}

/* A source is attached to a context that nobody runs. */
static void attach_to_made(thrum_task source, struct made *one, const void *caller)
{
	if (atomic_load(&one->runs) <= 0 && !atomic_load(&one->is_iterated))
		thrum__adapt_wait_for_run(source, &one->task,
			"run of a loop of the main context made by", atomic_load(&one->caller),
			caller);
}

static struct left *find_left(const GMainContext *context)
{
	for (int i = 0; i < LEFT_MAX && atomic_load(&left_count) > 0; i++)
		if (atomic_load(&left[i].context) == context)
			return &left[i];
	return NULL;
}

/* A source waits until the context is popped. */
static void wait_for_pop(thrum_task source, struct left *one)
{
	const void *pusher = atomic_load(&one->caller);
	thrum_task task = atomic_load(&one->task);
	char label[PLACE_MAX + 80];

	if (!task) {
		thrum__adapt_label(label, "pop of the main context that was pushed by", pusher);
		task = thrum__create(thrum__adapt_site(pusher), THRUM_KIND_TASK, label);
		thrum_task_should_resolve(task);
		atomic_store(&one->task, task);
	}
	thrum_task_wait(source, task);
}

static struct pushed *find_pushed(const GMainContext *context)
{
	for (unsigned i = 0; i < thread.count && i < PUSHED_MAX; i++)
		if (thread.pushed[i].context == context)
			return &thread.pushed[i];
	return NULL;
}

/* The context that is left has a source which its thread attached before. */
static void leave_source(GMainContext *context, struct left *one)
{
	struct pushed *pushed = find_pushed(context);

	if (pushed && pushed->source &&
		real_g_main_context_find_source_by_id(NULL)(context, pushed->id))
		wait_for_pop(pushed->source, one);
}

static bool is_default(const void *context)
{
	return !context || context == real_g_main_context_default(NULL)();
}

void thrum__adapt_glib_added(thrum_task source, const void *context, unsigned id)
{
	struct pushed *pushed = UNLIKELY(thread.count > 0) ? find_pushed(context) : NULL;

	if (UNLIKELY(thread.count > 0) && is_default(context)) {
		thread.elsewhere = source;
		thread.elsewhere_id = id;
	}
	if (!pushed ||
		(pushed->source &&
			real_g_main_context_find_source_by_id(NULL)(pushed->context, pushed->id)))
		return;
	pushed->source = source;
	pushed->id = id;
}

thrum_task thrum__adapt_glib_unpopped(void)
{
	thrum_task task = THRUM_TASK_NONE;

	for (unsigned i = 0; i < thread.count && i < PUSHED_MAX && !task; i++) {
		const struct left *one = find_left(thread.pushed[i].context);

		task = one ? atomic_load(&one->task) : THRUM_TASK_NONE;
	}
	return task;
}

thrum_task thrum__adapt_glib_elsewhere(void)
{
	bool is_there = thread.elsewhere && thread.count > 0 && atomic_load(&of_default.runs) > 0 &&
		real_g_main_context_find_source_by_id(
			NULL)(real_g_main_context_default(NULL)(), thread.elsewhere_id);

	return is_there ? thread.elsewhere : THRUM_TASK_NONE;
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
		leave_source(context, &left[i]);
		return;
	}
}

/* It is popped, or run. */
static void come_back(const GMainContext *context)
{
	struct left *one = context ? find_left(context) : NULL;
	struct pushed *pushed = UNLIKELY(thread.count > 0) && context ? find_pushed(context) : NULL;

	if (pushed)
		pushed->source = THRUM_TASK_NONE;

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

const void *thrum__adapt_glib_context(void)
{
	GMainContext *context = thread.outermost;

	if (context)
		return context;
	/* The first thread runs the default one later, unless another one does. */
	context = real_g_main_context_default(NULL)();
	if (real_g_main_context_is_owner(NULL)(context))
		return context;
	if (own_tid() != (uint32_t)own_pid() || !real_g_main_context_acquire(NULL)(context))
		return NULL;
	real_g_main_context_release(NULL)(context);
	return context;
}

static void run_default(void)
{
	resolve_told(&of_default.task);
}

/* The calling thread has run a loop for the program. GLib runs those of its own threads unseen. */
static __thread bool has_run __attribute__((tls_model("initial-exec")));

static bool polls_own(const void *caller)
{
	return !has_run && thrum__adapt_glib_is_own(caller);
}

static void note_run(void)
{
	has_run = true;
	if (UNLIKELY(!atomic_load_explicit(&thrum__adapt_polls_own, memory_order_relaxed)))
		atomic_store(&thrum__adapt_polls_own, polls_own);
}

struct glib_running thrum__adapt_glib_runs(void *main_loop, bool is_outermost)
{
	GMainContext *context = real_g_main_loop_get_context(NULL)(main_loop), *other;
	struct glib_running running = {
		.is_default = context == real_g_main_context_default(NULL)()};
	const void *caller;

	note_run();
	if (running.is_default) {
		atomic_fetch_add(&of_default.runs, 1);
		run_default();
	} else {
		thread.runs++;
		run_made(context, 1);
	}
	running.context = context;
	running.is_cover = !running.is_default && thread.runs == 1 &&
		thread.outermost == real_g_main_context_default(NULL)();
	running.is_outermost = !thread.outermost;
	if (running.is_outermost)
		thread.outermost = context;
	if (LIKELY(thread.count == 0) && LIKELY(atomic_load(&left_count) == 0))
		return running;
	come_back(context);
	other = is_outermost ? find_other(context, &caller) : NULL;
	if (other)
		leave(other, caller);
	running.left = other;
	return running;
}

void thrum__adapt_glib_ran(const struct glib_running *running)
{
	if (running->is_default) {
		atomic_fetch_sub(&of_default.runs, 1);
	} else {
		thread.runs--;
		run_made(running->context, -1);
	}
	if (running->is_outermost)
		thread.outermost = NULL;
	if (running->is_cover)
		thrum__adapt_glib_uncovers();
	come_back(running->left);
}

bool thrum__adapt_glib_is_covered(void)
{
	return thread.runs == 1 && atomic_load(&of_default.runs) == 1 &&
		!atomic_load(&of_default.is_iterated);
}

/* A source is attached to the default context by a thread that has its own. */
static void attach_to_default(thrum_task source, const void *caller)
{
	if (atomic_load(&of_default.runs) <= 0 && !atomic_load(&of_default.is_iterated))
		thrum__adapt_wait_for_run(source, &of_default.task,
			"run of the default main context", NULL, caller);
}

void thrum__adapt_glib_attached(thrum_task source, const void *context, bool is_ready,
	const void *caller)
{
	struct left *one = context && source ? find_left(context) : NULL;
	struct made *own = source ? find_made(context) : NULL;

	use_made(own);
	if (UNLIKELY(own) && !one)
		attach_to_made(source, own, caller);
	if ((is_ready || UNLIKELY(thread.runs > 0 || thread.count > 0)) && source &&
		is_default(context))
		attach_to_default(source, caller);
	if (is_ready && source && is_default(context))
		thrum__adapt_glib_waits_for_default(source);
	if (one)
		wait_for_pop(source, one);
}

/* ---- The calls --------------------------------------------------------------------------------- */

STAND_IN void g_main_context_push_thread_default(GMainContext *context)
{
	const void *caller = CALLER;

	real_g_main_context_push_thread_default(caller)(context);
	if (thread.count < PUSHED_MAX) {
		thread.pushed[thread.count].context = context;
		thread.pushed[thread.count].caller = caller;
		thread.pushed[thread.count].source = THRUM_TASK_NONE;
	}
	thread.count++;
}

STAND_IN GMainContext *g_main_context_new(void)
{
	GMainContext *context = real_g_main_context_new(CALLER)();

	note_made(context, CALLER);
	return context;
}

#if GLIB_CHECK_VERSION(2, 72, 0)
REAL(g_main_context_new_with_flags)

STAND_IN GMainContext *g_main_context_new_with_flags(GMainContextFlags flags)
{
	GMainContext *context = real_g_main_context_new_with_flags(CALLER)(flags);

	note_made(context, CALLER);
	return context;
}
#endif

/* A loop of the program's own begins so. */
STAND_IN gboolean g_main_context_acquire(GMainContext *context)
{
	thrum__adapt_glib_iterates(context);
	return real_g_main_context_acquire(CALLER)(context);
}

STAND_IN void g_main_context_pop_thread_default(GMainContext *context)
{
	if (thread.count > 0)
		thread.count--;
	come_back(context);
	real_g_main_context_pop_thread_default(CALLER)(context);
}

void thrum__adapt_glib_iterates(void *context)
{
	note_run();
	iterate_made(context);
	if (UNLIKELY(atomic_load_explicit(&left_count, memory_order_relaxed) > 0 ||
		    thread.count > 0))
		come_back(context);
	if (!atomic_load_explicit(&of_default.is_iterated, memory_order_relaxed) &&
		is_default(context)) {
		atomic_store(&of_default.is_iterated, true);
		run_default();
	}
}
