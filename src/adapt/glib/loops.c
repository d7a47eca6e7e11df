/* SPDX-License-Identifier: ISC */
/*
 * Loops that nobody ends. A thread runs a main loop that has no source left, and all others wait, too: so
 * nothing can come any more. Often g_main_loop_quit was called before the loop ran, or for a loop around it.
 * That one waits for the end of the loop within it.
 */
#define _GNU_SOURCE
#include <glib.h>
#include <string.h>

#include "adapt/glib/glib.h"
#include "adapt/look/look.h"
#include "port/port.h"

#define RUNS_MAX 16 /* of one thread */
#define QUITS 64u   /* of several loops with one place, the latest is known */

REAL(g_main_loop_quit)
REAL(g_main_loop_new)
REAL(g_main_loop_get_context)

/* The loops that the calling thread runs, from the outermost in. */
static __thread struct {
	unsigned count;
	struct run {
		GMainLoop *loop;
		const void *caller;
		const void *quitter; /* who quit it before it ran; or NULL */
		thrum_task task;     /* NONE: it is the outermost */
		bool is_quit;        /* while another one runs within it */
		bool is_own;         /* this thread has quit it, */
		bool is_lost;        /* or had so before it ran for the first time */
		int64_t since;
	} runs[RUNS_MAX];
} thread __attribute__((tls_model("initial-exec")));

/* The latest call that quit a loop since its last run. */
static struct quit {
	GMainLoop *_Atomic loop;
	const void *_Atomic caller;
	_Atomic uint32_t tid;
	GMainLoop *_Atomic fresh; /* the latest that was made, and never ran */
} quits[QUITS];

static struct quit *quit_of(const GMainLoop *loop)
{
	return &quits[((uintptr_t)loop >> 4 ^ (uintptr_t)loop >> 10) % QUITS];
}

static const void *quitter_of(const GMainLoop *loop)
{
	const struct quit *quit = quit_of(loop);
	const void *caller = atomic_load(&quit->caller);

	return atomic_load(&quit->loop) == loop ? caller : NULL;
}

/* The loop has run, or begins. */
static void forget(GMainLoop *loop)
{
	GMainLoop *known = loop;

	atomic_compare_exchange_strong(&quit_of(loop)->loop, &known, NULL);
}

/* The calling thread has quit a loop that it runs. */
static void note_own(const GMainLoop *loop)
{
	for (unsigned i = 0; thread.count <= RUNS_MAX && i < thread.count; i++)
		thread.runs[i].is_own |= thread.runs[i].loop == loop;
}

/* The thread has quit a loop: that ends once the loop within it has ended. */
static void wait_for_inner(const GMainLoop *loop)
{
	unsigned inner = thread.count - 1;

	for (unsigned i = 0; thread.count <= RUNS_MAX && i + 1 < thread.count; i++) {
		struct run *run = &thread.runs[i];

		if (run->loop != loop || run->is_quit || !run->task)
			continue;
		run->is_quit = true;
		thrum_task_wait(run->task, thread.runs[inner].task);
	}
}

STAND_IN void g_main_loop_quit(GMainLoop *loop)
{
	struct quit *quit = quit_of(loop);

	if (loop && is_chosen(ADAPTER_GLIB)) {
		thrum__adapt_glib_acts();
		atomic_store(&quit->loop, NULL);
		atomic_store(&quit->caller, CALLER);
		atomic_store(&quit->tid, own_tid());
		atomic_store(&quit->loop, loop);
		wait_for_inner(loop);
		note_own(loop);
	}
	real_g_main_loop_quit(CALLER)(loop);
}

/* Adds why the loop doesn't end. */
static bool add_reason(char *to, const struct run *run)
{
	const void *outer = NULL;

	for (const struct run *other = thread.runs; other < run && !outer; other++)
		outer = quitter_of(other->loop);
	if (run->quitter)
		thrum__adapt_label(to, ", quit before it ran by", run->quitter);
	else if (outer)
		thrum__adapt_label(to, ", while the loop around it was quit by", outer);
	return run->quitter || outer;
}

/* The loop of a thread that has a context of its own, if it attached a source to the default one, which
 * another thread should run. */
static thrum_task tell_elsewhere(const struct run *run)
{
	thrum_task source = thrum__adapt_glib_elsewhere(), task;
	char label[2 * PLACE_MAX];

	if (!source)
		return THRUM_TASK_NONE;
	thrum__adapt_label(label, "source for the main loop of", run->caller);
	strcat(label, ", attached to the default main context");
	task = thrum__adapt_missing(label, run->caller);
	thrum_task_wait(task, source);
	return task;
}

/* The loop was quit before it ran for the first time. Only its own thread knows its context, and
 * has no source there. */
static thrum_task tell_lost(void)
{
	const struct run *run = &thread.runs[thread.count - 1];
	char label[2 * PLACE_MAX + 60];

	if (!run->is_lost || !thrum__adapt_glib_lasts_too_long(run->caller, run->since) ||
		!thrum__adapt_glib_is_private(real_g_main_loop_get_context(NULL)(run->loop)))
		return THRUM_TASK_NONE;
	thrum__adapt_label(label, "gone source for the main loop of", run->caller);
	add_reason(label + strlen(label), run);
	return thrum__adapt_missing(label, run->caller);
}

/* An idle loop of another thread than the main one is no cause by itself. */
static thrum_task tell(void)
{
	const struct run *run = &thread.runs[thread.count - 1];
	bool is_main = own_tid() == (uint32_t)own_pid();
	thrum_task task, open = THRUM_TASK_NONE;
	char label[2 * PLACE_MAX + 60];

	thrum__adapt_label(label, "source for the main loop of", run->caller);
	if (!add_reason(label + strlen(label), run)) {
		if (!is_main && thread.count < 2)
			return tell_elsewhere(run);
		task = thrum__adapt_glib_tell_covered();
		if (task)
			return task;
		open = thrum__adapt_glib_unpopped();
		open = open ? open : thrum__adapt_glib_open();
	}
	task = thrum__adapt_missing(label, run->caller);
	if (open)
		thrum_task_wait(task, open);
	return task;
}

/* The loop that runs has changed. */
static void note_innermost(void)
{
	bool is_known = thread.count > 0 && thread.count <= RUNS_MAX;

	thrum__adapt_loop_tells = is_known ? tell : NULL;
	thrum__adapt_loop_lost = is_known && thread.runs[thread.count - 1].is_lost ? tell_lost
										   : NULL;
	thrum__adapt_loop_runner = is_known ? thread.runs[thread.count - 1].caller : NULL;
}

/* Whether the calling thread has quit a new loop, which never ran. */
static bool is_lost(GMainLoop *loop)
{
	const struct quit *quit = quit_of(loop);

	return atomic_load(&quit->loop) == loop && atomic_load(&quit->fresh) == loop &&
		atomic_load(&quit->tid) == own_tid();
}

static void note_end(const struct run *run)
{
	if (is_chosen(ADAPTER_GLIB))
		thrum__adapt_glib_run_ended(run->caller, run->is_own, rough_time() - run->since);
}

/* Another loop may have been at this place. */
STAND_IN GMainLoop *g_main_loop_new(GMainContext *context, gboolean is_running)
{
	GMainLoop *loop = real_g_main_loop_new(CALLER)(context, is_running);

	if (loop && is_chosen(ADAPTER_GLIB)) {
		forget(loop);
		atomic_store(&quit_of(loop)->fresh, loop);
	}
	return loop;
}

void thrum__adapt_glib_loop_begin(void *main_loop, const void *caller)
{
	if (thread.count < RUNS_MAX)
		thread.runs[thread.count] = (struct run){.loop = main_loop,
			.caller = caller,
			.quitter = quitter_of(main_loop),
			.is_lost = is_lost(main_loop),
			.since = rough_time()};
	thread.count++;
	forget(main_loop);
	atomic_store(&quit_of(main_loop)->fresh, NULL);
	note_innermost();
}

void thrum__adapt_glib_loop_is(thrum_task task)
{
	if (thread.count <= RUNS_MAX)
		thread.runs[thread.count - 1].task = task;
}

void thrum__adapt_glib_loop_end(void *main_loop)
{
	thread.count--;
	if (thread.count < RUNS_MAX)
		note_end(&thread.runs[thread.count]);
	forget(main_loop);
	note_innermost();
}

const void *thrum__adapt_glib_outermost(void)
{
	return thread.runs[0].caller;
}
