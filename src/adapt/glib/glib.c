/* SPDX-License-Identifier: ISC */
/* Sources of GLib's main loop. */
#define _GNU_SOURCE
#include "adapt/glib/glib.h"
#include "adapt/look/look.h"

#include <errno.h>
#include <gio/gio.h>
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

REAL(g_source_attach)
REAL(g_source_unref)
REAL(g_source_set_priority)
REAL(g_source_set_callback)
REAL(g_source_set_callback_indirect)
REAL(g_source_set_name)
REAL(g_source_set_static_name)
REAL(g_source_set_ready_time)
REAL(g_main_depth)
REAL(g_io_channel_unix_get_fd)
REAL(g_get_monotonic_time)

__thread const char *thrum__adapt_glib_child;

bool thrum__adapt_glib_begin(void)
{
	if (!is_chosen(ADAPTER_GLIB))
		return false;
	thrum__adapt_start();
	thrum__adapt_glib_find((const void *)(uintptr_t)real_g_main_depth(NULL));
	return is_on(ADAPTER_GLIB);
}

/* ---- Hooks ----------------------------------------------------------------------------------- */

/* A source's callback. */
struct hook {
	_Atomic int references;
	struct cell *cell; /* the source's; `number` counts its hooks */
	/* The program's, of one of both forms. */
	GSourceFunc function;
	gpointer data;
	GDestroyNotify notify;
	const GSourceCallbackFuncs *indirect;
	bool is_once; /* the function returns nothing and is called once */
};

/* The sources that the thread dispatches. */
#define RUNS_MAX 16
static __thread struct {
	const struct hook *next; /* is about to be dispatched */
	int count;
	struct {
		const struct hook *hook;
		int depth;
		unsigned pushed; /* contexts */
		bool is_blocked; /* it waits for a loop that it runs */
		uint32_t deeds;  /* see thrum__adapt_glib_runs_source */
		thrum_task loop; /* that it runs turn by turn; or NONE */
		thrum_task before;
	} runs[RUNS_MAX];
} thread __attribute__((tls_model("initial-exec")));

static void reference_hook(gpointer argument)
{
	struct hook *hook = argument;

	atomic_fetch_add(&hook->references, 1);
	if (hook->indirect && hook->indirect->ref)
		hook->indirect->ref(hook->data);
	/* GLib takes a reference only to dispatch. */
	thread.next = hook;
}

static gboolean run_once(gpointer argument)
{
	const struct hook *hook = argument;

	((void (*)(gpointer))(void (*)(void))hook->function)(hook->data);
	return G_SOURCE_REMOVE;
}

static void unblock(int run)
{
	const struct cell *cell = thread.runs[run].hook->cell;

	if (thread.runs[run].is_blocked)
		thrum__adapt_removed_unblock(cell->watched, cell->watch);
	thread.runs[run].is_blocked = false;
}

static void end_run(void)
{
	int top = --thread.count;
	thrum_task loop = thread.runs[top].loop;

	unblock(top);
	thrum__adapt_glib_ran_source(thread.runs[top].hook->cell, thread.runs[top].deeds);
	if (thread.runs[top].hook->cell->is_call)
		thrum__adapt_glib_handled(thread.runs[top].hook->cell->task);
	if (loop) {
		thrum_task_resolve(loop);
		thrum_task_read(thrum_task_current(), loop);
	}
	thrum_task_leave(thread.runs[top].before);
}

bool thrum__adapt_glib_is_in_run(void)
{
	return thread.count > 0;
}

static void begin_run(const struct hook *hook)
{
	int depth = real_g_main_depth(NULL)();

	/* Those that were left in another way. */
	while (thread.count > 0 && thread.runs[thread.count - 1].depth >= depth)
		end_run();
	if (thread.count == RUNS_MAX)
		return;
	thread.runs[thread.count].deeds = thrum__adapt_glib_runs_source(hook->cell);
	thread.runs[thread.count].is_blocked = false;
	thread.runs[thread.count].loop = THRUM_TASK_NONE;
	thread.runs[thread.count].hook = hook;
	thread.runs[thread.count].depth = depth;
	thread.runs[thread.count].pushed = thrum__adapt_glib_pushed();
	thread.runs[thread.count++].before = thrum_task_enter(hook->cell->task);
}

/* GLib asks for the callback to call it, or to find a source by its data. */
static void ask_hook(gpointer argument, GSource *source, GSourceFunc *function, gpointer *data)
{
	struct hook *hook = argument;
	bool is_dispatched = thread.next == hook;

	thread.next = NULL;
	if (hook->indirect) {
		hook->indirect->get(hook->data, source, function, data);
	} else {
		*function = is_dispatched && hook->is_once ? run_once : hook->function;
		*data = is_dispatched && hook->is_once ? hook : hook->data;
		/* Nobody finds a source without callback by its data. */
		if (!is_dispatched && !hook->function)
			*data = hook;
	}
	if (is_dispatched)
		begin_run(hook);
}

/* The last hook of a source is gone, and so is the source. */
static void free_hook(struct hook *hook)
{
	if (hook->notify)
		hook->notify(hook->data);
	if (__atomic_sub_fetch(&hook->cell->number, 1, __ATOMIC_ACQ_REL) == 0) {
		thrum__adapt_glib_source_ends(hook->cell);
		if (hook->cell->reader)
			thrum__adapt_removed_read_end(hook->cell->watched, hook->cell->watch,
				hook->cell->reader);
		else
			thrum__adapt_removed_source_end(hook->cell->watched, hook->cell->watch,
				(const void *)(uintptr_t)hook->function);
		thrum__adapt_cell_renew(hook->cell, THRUM_TASK_NONE);
	}
	free(hook);
}

static void release_hook(gpointer argument)
{
	struct hook *hook = argument;
	int top = thread.count - 1;

	/* After a dispatch the depth is that before it. If the source's own reference goes meanwhile,
	 * it is greater. */
	if (top >= 0 && thread.runs[top].hook == hook &&
		thread.runs[top].depth == real_g_main_depth(NULL)()) {
		thrum__adapt_glib_returned(thread.runs[top].pushed);
		end_run();
	}
	if (hook->indirect && hook->indirect->unref)
		hook->indirect->unref(hook->data);
	if (atomic_fetch_sub(&hook->references, 1) == 1)
		free_hook(hook);
}

static GSourceCallbackFuncs hook_functions = {reference_hook, release_hook, ask_hook};

/* Gives a source a hook. Returns false if there is no memory. */
static bool set_hook(GSource *source, struct cell *cell, const struct hook *given)
{
	int error = errno;
	struct hook *hook = malloc(sizeof(*hook));

	errno = error;
	if (!hook)
		return false;
	*hook = *given;
	hook->cell = cell;
	atomic_init(&hook->references, 1);
	__atomic_add_fetch(&cell->number, 1, __ATOMIC_ACQ_REL);
	real_g_source_set_callback_indirect(NULL)(source, hook, &hook_functions);
	return true;
}

/* ---- Making sources -------------------------------------------------------------------------- */

/* A source of a signal is made: GLib's handler is there now. */
static void note_handlers(void)
{
	for (int number = 1; number <= SIGRTMAX; number++)
		if (thrum__adapt_glib_is_own(thrum__adapt_handler(number)))
			thrum__adapt_loop_handles(number);
}

/* The child for whose end the source is that the thread makes; 0: none. */
static __thread GPid child __attribute__((tls_model("initial-exec")));

static int64_t watch_child(GPid pid)
{
	child = pid;
	return -1;
}
#define WATCHED(pid) watch_child(pid)

/* Gives a new source a task. */
static GSource *make_source(GSource *source, enum thrum_kind kind, const char *noun,
	int64_t milliseconds, int fd, const void *caller)
{
	struct callbacks none = {0};
	struct cell *cell;
	char label[THRUM_TEXT_MAX + 1];

	if (!source || !thrum__adapt_glib_begin() ||
		!(cell = thrum__adapt_cell(CELL_SOURCE, source, &none)))
		return source;
	cell->noun = noun;
	cell->is_named = false;
	cell->number = 0;
	cell->kind = cell->data = NULL;
	cell->remover = NULL;
	cell->is_attached = cell->has_run = cell->is_call = false;
	cell->is_timeout = kind == THRUM_KIND_TIMER;
	if (strcmp(noun, "signal") == 0)
		note_handlers();
	cell->watched = fd;
	cell->reader = NULL;
	cell->watch = thrum__adapt_removed_source(fd);
	if (kind == THRUM_KIND_REQUEST && thrum__adapt_glib_child) {
		snprintf(label, sizeof label, "spawn %s", thrum__adapt_glib_child);
		cell->is_named = true;
		noun = label;
	}
	thrum__adapt_cell_renew(cell, thrum__create(thrum__adapt_site(caller), (int)kind, noun));
	if (milliseconds >= 0)
		thrum_task_due(cell->task, milliseconds * 1000000);
	/* So that a source without callback is recorded, too, and its end. */
	if (!set_hook(source, cell, &(struct hook){0}))
		thrum__adapt_cell_renew(cell, THRUM_TASK_NONE);
	if (kind == THRUM_KIND_REQUEST && child > 0) {
		thrum__adapt_glib_watches(cell, child);
		child = 0;
	}
	return source;
}

/* Labels a source by its callback, unless the program names it. */
static void label_source(struct cell *cell, const void *function)
{
	char label[PLACE_MAX];
	int error = errno;

	if (cell->is_named || !function)
		return;
	thrum__adapt_label(label, cell->noun ? cell->noun : "source", function);
	errno = error;
	thrum_task_label(cell->task, label);
}

struct cell *thrum__adapt_glib_cell(const void *source)
{
	struct cell *cell = source && thrum__adapt_glib_begin()
		? thrum__adapt_cell_find(CELL_SOURCE, source)
		: NULL;

	return cell && cell->task ? cell : NULL;
}

static bool set_callback(GSource *source, const struct hook *given)
{
	struct cell *cell = thrum__adapt_glib_cell(source);

	if (!cell)
		return false;
	if (given->function) {
		label_source(cell, (const void *)(uintptr_t)given->function);
		cell->kind = thrum__adapt_glib_kind((const void *)(uintptr_t)given->function);
		cell->data = given->data;
	}
	return set_hook(source, cell, given);
}

STAND_IN void g_source_set_callback(GSource *source, GSourceFunc function, gpointer data,
	GDestroyNotify notify)
{
	struct hook given = {.function = function, .data = data, .notify = notify};

	if (!set_callback(source, &given))
		real_g_source_set_callback(CALLER)(source, function, data, notify);
}

STAND_IN void g_source_set_callback_indirect(GSource *source, gpointer data,
	GSourceCallbackFuncs *functions)
{
	struct hook given = {.data = data, .indirect = functions};

	if (!functions || !functions->get || !set_callback(source, &given))
		real_g_source_set_callback_indirect(CALLER)(source, data, functions);
}

/* The descriptor of a channel; it, if a source waits for its data. */
#define CHANNEL(channel) real_g_io_channel_unix_get_fd(NULL)(channel)
#define DATA_OF(fd) (condition & G_IO_IN ? (fd) : -1)
#define SOURCE(name, kind, noun, milliseconds, fd, parameters, arguments) \
	enum { \
		kind_##name = kind \
	}; \
	static const char noun_##name[] = noun; \
	REAL(name) \
	STAND_IN GSource *name parameters \
	{ \
		return make_source(real_##name(CALLER) arguments, kind, noun_##name, milliseconds, \
			fd, CALLER); \
	}

static bool is_idle(const struct cell *cell)
{
	return strcmp(cell->noun, "idle") == 0;
}

static void note_attached(struct cell *cell, const void *context, const void *caller)
{
	void *parent = thread.count > 0 ? thread.runs[thread.count - 1].hook->cell->kind : NULL;

	thrum__adapt_glib_came_in(cell, cell->data, parent, caller);
	thrum__adapt_glib_attached(cell->task, context, is_idle(cell), caller);
	thrum__adapt_glib_keeps(cell, context, caller);
	if (cell->is_call)
		thrum__adapt_glib_handles(cell->task, context);
}

/* Attaches a new source, as GLib does it. */
static guint add(GSource *source, GMainContext *context, gint priority, const struct hook *given,
	const void *caller)
{
	struct cell *cell;
	thrum_task task;
	guint id;

	real_g_source_set_priority(caller)(source, priority);
	if (!set_callback(source, given))
		real_g_source_set_callback(
			caller)(source, given->function, given->data, given->notify);
	cell = thrum__adapt_glib_cell(source);
	task = cell ? cell->task : THRUM_TASK_NONE;
	/* Nothing has to happen before its turn. */
	if (cell && is_idle(cell))
		thrum_task_ready(cell->task);
	if (cell)
		note_attached(cell, context, caller);
	id = real_g_source_attach(caller)(source, context);
	if (task)
		thrum__adapt_glib_added(task, context, id);
	real_g_source_unref(caller)(source);
	return id;
}

STAND_IN guint g_source_attach(GSource *source, GMainContext *context)
{
	struct cell *cell = thrum__adapt_glib_cell(source);
	thrum_task task = cell ? cell->task : THRUM_TASK_NONE;
	guint id;

	if (cell && is_idle(cell))
		thrum_task_ready(cell->task);
	if (cell)
		note_attached(cell, context, CALLER);
	id = real_g_source_attach(CALLER)(source, context);
	if (task)
		thrum__adapt_glib_added(task, context, id);
	return id;
}

#define AS_SOURCE_FUNCTION(function) ((GSourceFunc)(cell_function *)(function))
#define MAKE(name, its, milliseconds, fd) \
	make_source(real_##name(caller) its, (enum thrum_kind)kind_##name, noun_##name, \
		milliseconds, fd, caller)
#define ADD(name, parameters, arguments, source, its, milliseconds, fd, priority, destroy) \
	REAL(name) \
	STAND_IN guint name parameters \
	{ \
		const void *caller = CALLER; \
		struct hook given = {.data = data, .notify = destroy}; \
		GSource *made; \
\
		if (!function || !thrum__adapt_glib_begin() || \
			!(made = MAKE(source, its, milliseconds, fd))) \
			return real_##name(caller) arguments; \
		given.function = AS_SOURCE_FUNCTION(function); \
		return add(made, NULL, priority, &given, caller); \
	}
#include "adapt/glib/glib.def"

#if GLIB_CHECK_VERSION(2, 74, 0)
/* Their function returns nothing: a stand-in that says that the source is done is called. */
#define ADD_ONCE(name, parameters, arguments, source, its, milliseconds, priority) \
	REAL(name) \
	STAND_IN guint name parameters \
	{ \
		const void *caller = CALLER; \
		struct hook given = {.data = data, .is_once = true}; \
		GSource *made; \
\
		if (!function || !thrum__adapt_glib_begin() || \
			!(made = MAKE(source, its, milliseconds, -1))) \
			return real_##name(caller) arguments; \
		given.function = AS_SOURCE_FUNCTION(function); \
		/* Without its task, it would be called as the other kind of function. */ \
		if (!thrum__adapt_glib_cell(made)) { \
			real_g_source_unref(caller)(made); \
			return real_##name(caller) arguments; \
		} \
		return add(made, NULL, priority, &given, caller); \
	}
ADD_ONCE(g_timeout_add_once, (guint interval, GSourceOnceFunc function, gpointer data),
	(interval, function, data), g_timeout_source_new, (interval), (int64_t)interval,
	G_PRIORITY_DEFAULT)
ADD_ONCE(g_idle_add_once, (GSourceOnceFunc function, gpointer data), (function, data),
	g_idle_source_new, (), -1, G_PRIORITY_DEFAULT_IDLE)
#endif

REAL(g_main_context_invoke_full)
REAL(g_main_context_invoke)
REAL(g_main_context_default)
REAL(g_main_context_is_owner)
REAL(g_main_context_get_thread_default)
REAL(g_main_context_acquire)
REAL(g_main_context_release)

/* Whether GLib calls the function at once, without a source. If so, and the context is free, the
 * caller takes it. */
static bool is_at_once(GMainContext *context, bool *is_taken, const void *caller)
{
	GMainContext *own;

	if (real_g_main_context_is_owner(caller)(context))
		return true;
	own = real_g_main_context_get_thread_default(caller)();
	if (!own)
		own = real_g_main_context_default(caller)();
	*is_taken = own == context && real_g_main_context_acquire(caller)(context);
	return *is_taken;
}

/* As GLib does it. */
static void invoke(GMainContext *context, gint priority, const struct hook *given,
	const void *caller)
{
	bool is_taken = false;

	if (!context)
		context = real_g_main_context_default(caller)();
	if (!is_at_once(context, &is_taken, caller)) {
		add(MAKE(g_idle_source_new, (), -1, -1), context, priority, given, caller);
		return;
	}
	while (given->function(given->data))
		;
	if (is_taken)
		real_g_main_context_release(caller)(context);
	if (given->notify)
		given->notify(given->data);
}

STAND_IN void g_main_context_invoke_full(GMainContext *context, gint priority, GSourceFunc function,
	gpointer data, GDestroyNotify notify)
{
	struct hook given = {.function = function, .data = data, .notify = notify};

	if (function && thrum__adapt_glib_begin())
		invoke(context, priority, &given, CALLER);
	else
		real_g_main_context_invoke_full(CALLER)(context, priority, function, data, notify);
}

STAND_IN void g_main_context_invoke(GMainContext *context, GSourceFunc function, gpointer data)
{
	struct hook given = {.function = function, .data = data};

	if (function && thrum__adapt_glib_begin())
		invoke(context, G_PRIORITY_DEFAULT, &given, CALLER);
	else
		real_g_main_context_invoke(CALLER)(context, function, data);
}

/* ---- Loops within a dispatch ------------------------------------------------------------------ */

REAL(g_main_loop_run)
REAL(g_main_loop_get_context)
REAL(g_main_context_iteration)
REAL(g_source_get_can_recurse)
REAL(g_source_is_destroyed)
REAL(g_source_get_context)

/* Whether GLib doesn't call a source that is dispatched while a loop of the context runs. */
static bool is_kept(const struct hook *hook, const GMainContext *context)
{
	GSource *source = (GSource *)(uintptr_t)hook->cell->key;

	return !real_g_source_is_destroyed(NULL)(source) &&
		!real_g_source_get_can_recurse(NULL)(source) &&
		real_g_source_get_context(NULL)(source) == context;
}

/* The sources of the context whose callbacks the thread runs wait for the loop. Returns bits: for which of
 * them that is new. */
static uint32_t block_runs(GMainContext *context, thrum_task loop, const void *caller)
{
	uint32_t bits = 0;

	for (int i = 0; i < thread.count; i++) {
		const struct hook *hook = thread.runs[i].hook;

		if (thread.runs[i].is_blocked || !is_kept(hook, context))
			continue;
		bits |= UINT32_C(1) << i;
		thread.runs[i].is_blocked = true;
		thrum__adapt_removed_block(hook->cell->watched, hook->cell->watch,
			(const void *)(uintptr_t)hook->function, loop, caller);
	}
	return bits;
}

/* The source whose callback runs a loop waits for its end: until then GLib doesn't dispatch it again. */
static thrum_task begin_loop(const void *caller)
{
	char label[PLACE_MAX];
	struct thrum_site *site = thrum__adapt_site(caller);
	thrum_task task;

	thrum__adapt_label(label, "main loop, run by", caller);
	task = thrum__create(site, THRUM_KIND_HANDLE, label);
	thrum__wait_at(site, thrum_task_current(), task);
	return task;
}

STAND_IN void g_main_loop_run(GMainLoop *main_loop)
{
	const void *caller = CALLER;
	thrum_task task, runner = thrum_task_current();
	struct glib_running running = thrum__adapt_glib_runs(main_loop, thread.count == 0);
	uint32_t blocked;

	thrum__adapt_glib_loop_begin(main_loop, caller);
	if (thread.count == 0 || thrum__adapt_is_told || !thrum__adapt_glib_begin()) {
		real_g_main_loop_run(caller)(main_loop);
		thrum__adapt_glib_loop_end(main_loop);
		thrum__adapt_glib_ran(&running);
		return;
	}
	task = begin_loop(caller);
	thrum__adapt_glib_loop_is(task);
	thrum__adapt_glib_covers(&running, task, caller);
	blocked = block_runs(real_g_main_loop_get_context(caller)(main_loop), task, caller);
	real_g_main_loop_run(caller)(main_loop);
	thrum__adapt_glib_loop_end(main_loop);
	for (int i = 0; i < thread.count; i++)
		if (blocked >> i & 1)
			unblock(i);
	thrum__adapt_glib_ran(&running);
	thrum_task_resolve(task);
	thrum_task_read(runner, task);
}

/* A callback that runs a loop turn by turn waits for its own end. */
STAND_IN gboolean g_main_context_iteration(GMainContext *context, gboolean may_block)
{
	const void *caller = CALLER, *runner = thrum__adapt_loop_runner;
	int top = thread.count - 1;
	gboolean has_run;

	thrum__adapt_glib_iterates(context);
	if (may_block && top >= 0 && !thread.runs[top].loop && thrum__adapt_glib_begin()) {
		thread.runs[top].loop = begin_loop(caller);
		block_runs(context ? context : real_g_main_context_default(caller)(),
			thread.runs[top].loop, caller);
	}
	thrum__adapt_loop_runner = caller;
	has_run = real_g_main_context_iteration(caller)(context, may_block);
	thrum__adapt_loop_runner = runner;
	return has_run;
}

/* ---- Sources that exist ---------------------------------------------------------------------- */

/* How GIO names a source that handles a call, or a request for a property. */
static bool is_of_call(const char *name)
{
	static const char file[] = "gdbusconnection.c] ", end[] = "_in_idle_cb";
	const char *at = strstr(name, file), *last;

	at = at ? at + strlen(file) : name;
	last = strstr(at, end);
	return last && (at != name || strncmp(name, "[gio] ", 6) == 0) && !strstr(at, "emit_") &&
		!strstr(at, "complete_") && !strstr(at, "writing_");
}

static void tell_name(const GSource *source, const char *name)
{
	struct cell *cell = name ? thrum__adapt_glib_cell(source) : NULL;

	if (!cell)
		return;
	cell->is_named = true;
	cell->is_call = is_of_call(name);
	thrum_task_label(cell->task, name);
}

STAND_IN void g_source_set_name(GSource *source, const char *name)
{
	tell_name(source, name);
	real_g_source_set_name(CALLER)(source, name);
}

STAND_IN void g_source_set_static_name(GSource *source, const char *name)
{
	tell_name(source, name);
	real_g_source_set_static_name(CALLER)(source, name);
}

REAL(g_source_set_name_by_id)
REAL(g_main_context_find_source_by_id)

STAND_IN void g_source_set_name_by_id(guint id, const char *name)
{
	if (id > 0 && thrum__adapt_glib_begin())
		tell_name(real_g_main_context_find_source_by_id(CALLER)(NULL, id), name);
	real_g_source_set_name_by_id(CALLER)(id, name);
}

STAND_IN void g_source_set_ready_time(GSource *source, gint64 time)
{
	struct cell *cell = thrum__adapt_glib_cell(source);

	if (cell && time == 0)
		thrum_task_ready(cell->task);
	if (time > 0)
		thrum__adapt_glib_strange();
	if (cell && time > 0 && time < INT64_MAX / 1000)
		thrum_task_due(cell->task, (time - real_g_get_monotonic_time(CALLER)()) * 1000);
	real_g_source_set_ready_time(CALLER)(source, time);
}

/* ---- Removal ----------------------------------------------------------------------------------- */

REAL(g_source_destroy)
REAL(g_source_remove)

/* A source that ends itself in its run isn't removed. */
static void note_removed(const GSource *source, const void *caller)
{
	struct cell *cell = thrum__adapt_glib_cell(source);

	for (int i = 0; cell && i < thread.count; i++)
		if (thread.runs[i].hook->cell == cell)
			return;
	if (cell)
		cell->remover = caller;
}

STAND_IN void g_source_destroy(GSource *source)
{
	note_removed(source, CALLER);
	real_g_source_destroy(CALLER)(source);
}

STAND_IN gboolean g_source_remove(guint id)
{
	if (id > 0 && thrum__adapt_glib_begin())
		note_removed(real_g_main_context_find_source_by_id(CALLER)(NULL, id), CALLER);
	return real_g_source_remove(CALLER)(id);
}
