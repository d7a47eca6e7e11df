/* SPDX-License-Identifier: ISC */
/* It hangs as its first argument says, in GLib's locks, queues and loops; unless there is a second one. */
#include <gio/gio.h>
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "patience.h"

#define ITEMS 10

static GMainLoop *loop, *inner;
static gboolean is_fine;
static GMutex first, second;
static GAsyncQueue *queue;
static int count;

static gboolean quit(gpointer which)
{
	g_main_loop_quit(which);
	return G_SOURCE_REMOVE;
}

/* ---- Mutexes ----------------------------------------------------------------------------------- */

/* The other thread has taken it. */
static gint has_second;

static gpointer take_other(gpointer data)
{
	g_mutex_lock(&second);
	g_atomic_int_set(&has_second, 1);
	g_usleep(10000);
	if (!is_fine) {
		g_mutex_lock(&first);
		g_mutex_unlock(&first);
	}
	g_mutex_unlock(&second);
	return data;
}

static gboolean take_both(gpointer data)
{
	GThread *thread;

	(void)data;
	g_mutex_lock(&first);
	thread = g_thread_new("other", take_other, NULL);
	while (!is_fine && !g_atomic_int_get(&has_second))
		g_usleep(1000);
	g_mutex_lock(&second);
	g_mutex_unlock(&second);
	g_mutex_unlock(&first);
	g_thread_join(thread);
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static gboolean take_twice(gpointer data)
{
	(void)data;
	g_mutex_lock(&first);
	if (!is_fine)
		g_mutex_lock(&first);
	g_mutex_unlock(&first);
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static void run_both(void)
{
	g_idle_add(take_both, NULL);
	g_main_loop_run(loop);
}

static void run_twice(void)
{
	g_idle_add(take_twice, NULL);
	g_main_loop_run(loop);
}

/* ---- Queues ------------------------------------------------------------------------------------ */

static void take_items(void)
{
	for (int i = 0; i < ITEMS; i++)
		g_async_queue_pop(queue);
}

/* Each is put once the other thread waits for it. */
static gpointer put_items(gpointer data)
{
	for (int i = 0; i < (is_fine ? ITEMS : ITEMS - 1); i++) {
		while (g_async_queue_length(queue) >= 0)
			g_usleep(1000);
		g_async_queue_push(queue, &count);
	}
	return data;
}

static gpointer take_in_thread(gpointer data)
{
	take_items();
	return data;
}

static void run_producer(void)
{
	GThread *thread;

	queue = g_async_queue_new();
	thread = g_thread_new("producer", put_items, NULL);
	take_items();
	g_thread_join(thread);
}

static void run_consumer(void)
{
	GThread *thread;

	queue = g_async_queue_new();
	thread = g_thread_new("consumer", take_in_thread, NULL);
	put_items(NULL);
	g_thread_join(thread);
}

/* ---- Loops ------------------------------------------------------------------------------------- */

static void run_early(void)
{
	if (is_fine)
		g_timeout_add(1200, quit, loop);
	else
		g_main_loop_quit(loop);
	g_main_loop_run(loop);
}

static gboolean run_inner(gpointer data)
{
	(void)data;
	inner = g_main_loop_new(NULL, FALSE);
	g_timeout_add(20, quit, is_fine ? inner : loop);
	g_main_loop_run(inner);
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static void run_wrong(void)
{
	g_idle_add(run_inner, NULL);
	g_main_loop_run(loop);
}

/* GLib doesn't call it again within itself. */
static gboolean on_tick(gpointer data)
{
	(void)data;
	if (++count == 3 && !is_fine) {
		inner = g_main_loop_new(NULL, FALSE);
		g_main_loop_run(inner);
	}
	if (count == 4 && inner)
		g_main_loop_quit(inner);
	if (count == 5)
		g_main_loop_quit(loop);
	return G_SOURCE_CONTINUE;
}

static void run_ticks(void)
{
	g_timeout_add(5, on_tick, NULL);
	g_main_loop_run(loop);
}

/* Another thread ends the loop, though late. */
static gpointer end_late(gpointer data)
{
	g_usleep(1200000);
	g_main_loop_quit(loop);
	return data;
}

static void run_late(void)
{
	GThread *thread = g_thread_new("late", end_late, NULL);

	g_main_loop_run(loop);
	g_thread_join(thread);
}

/* ---- Sources that are gone ----------------------------------------------------------------------- */

static GTask *job;
static GCond done;
static guint step_id, removed_id;
static int rounds;
static gboolean is_done;

static gboolean on_round(gpointer data)
{
	(void)data;
	rounds++;
	return G_SOURCE_CONTINUE;
}

static void on_job_done(GObject *object, GAsyncResult *result, gpointer data)
{
	(void)object;
	g_task_propagate_boolean(G_TASK(result), NULL);
	g_main_loop_quit(data);
}

static void run_job(void)
{
	job = g_task_new(NULL, NULL, on_job_done, loop);
	g_task_set_name(job, "export");
	g_timeout_add(40, on_round, NULL);
}

static gboolean finish_job(gpointer task)
{
	g_task_return_boolean(task, TRUE);
	return G_SOURCE_REMOVE;
}

static gboolean stop_other(gpointer data)
{
	if (removed_id)
		g_source_remove(removed_id);
	return data != NULL;
}

static void run_removed(void)
{
	guint id;

	run_job();
	/* Not before the other one, also on a busy machine. */
	id = g_timeout_add(is_fine ? 60 : 10000, finish_job, job);
	if (!is_fine)
		removed_id = id;
	g_timeout_add(30, stop_other, NULL);
	g_main_loop_run(loop);
}

/* Its last step returns the job. */
static gboolean do_step(gpointer task)
{
	if (++count < 5)
		return G_SOURCE_CONTINUE;
	if (is_fine)
		g_task_return_boolean(task, TRUE);
	return G_SOURCE_REMOVE;
}

static void run_steps(void)
{
	run_job();
	g_timeout_add(5, do_step, job);
	g_main_loop_run(loop);
}

/* A timeout returns the job, though late. */
static void run_waiting(void)
{
	run_job();
	count = 4;
	g_timeout_add(1300, do_step, job);
	g_main_loop_run(loop);
}

static gboolean on_step(gpointer data)
{
	(void)data;
	step_id = is_fine || count < 6 ? 0 : step_id;
	return G_SOURCE_REMOVE;
}

/* Starts the next step, if none is under way. */
static gboolean start_step(gpointer data)
{
	(void)data;
	if (step_id == 0)
		step_id = g_idle_add(on_step, NULL);
	if (++count < 12)
		return G_SOURCE_CONTINUE;
	if (is_fine && job)
		g_task_return_boolean(job, TRUE);
	return G_SOURCE_REMOVE;
}

static void run_started(void)
{
	run_job();
	g_timeout_add(5, start_step, NULL);
	g_main_loop_run(loop);
}

static gboolean tell_done(gpointer data)
{
	(void)data;
	g_mutex_lock(&first);
	is_done = TRUE;
	g_cond_signal(&done);
	g_mutex_unlock(&first);
	return G_SOURCE_REMOVE;
}

/* Forgets the fourth one. */
static gboolean take_order(gpointer data)
{
	if (is_fine || ++count < 4)
		g_timeout_add(2, tell_done, data);
	return G_SOURCE_REMOVE;
}

static gpointer run_mailer(gpointer data)
{
	g_timeout_add(20, on_round, NULL);
	g_main_loop_run(loop);
	return data;
}

static void run_orders(void)
{
	GThread *thread = g_thread_new("mailer", run_mailer, NULL);

	for (int i = 0; i < 6; i++) {
		g_idle_add(take_order, NULL);
		g_mutex_lock(&first);
		while (!is_done)
			g_cond_wait(&done, &first);
		is_done = FALSE;
		g_mutex_unlock(&first);
	}
	g_main_loop_quit(loop);
	g_thread_join(thread);
}

/* ---- Quick jobs, of which the last is forgotten ------------------------------------------------- */

static void ignore(GObject *object, GAsyncResult *result, gpointer data)
{
	(void)object;
	(void)data;
	g_task_propagate_boolean(G_TASK(result), NULL);
}

static gboolean return_quickly(gpointer task)
{
	g_task_return_boolean(task, TRUE);
	g_object_unref(task);
	return G_SOURCE_REMOVE;
}

static gboolean start_quick(gpointer data)
{
	if (++count < 8) {
		g_timeout_add(2, return_quickly, g_task_new(NULL, NULL, ignore, data));
		return G_SOURCE_CONTINUE;
	}
	job = g_task_new(NULL, NULL, on_job_done, loop);
	if (is_fine)
		g_timeout_add(2, finish_job, job);
	return G_SOURCE_REMOVE;
}

static void run_quick(void)
{
	g_timeout_add(5, start_quick, NULL);
	g_timeout_add(100, on_round, NULL);
	g_main_loop_run(loop);
}

/* ---- Healthy programs that come near to these ---------------------------------------------------- */

/* Its work ends early. */
static gboolean start_order(gpointer data)
{
	g_timeout_add(3, tell_done, data);
	return ++count < 4;
}

/* Starts orders now and then. */
static gboolean start_rarely(gpointer data)
{
	if (rounds++ % 200 < 3)
		g_timeout_add(4, tell_done, data);
	return G_SOURCE_CONTINUE;
}

static void run_acting(void)
{
	run_job();
	g_timeout_add(5, start_rarely, NULL);
	g_main_loop_run(loop);
}

/* Returns a job soon, and then the last one after many idle rounds. */
static gboolean evict(gpointer data)
{
	if (++rounds == 5)
		g_task_return_boolean(g_task_new(NULL, NULL, ignore, data), TRUE);
	if (rounds == 600)
		g_task_return_boolean(job, TRUE);
	return G_SOURCE_CONTINUE;
}

static void run_evicting(void)
{
	g_timeout_add(5, start_quick, NULL);
	g_timeout_add(40, evict, NULL);
	g_main_loop_run(loop);
}

/* A worker waits for its next job. */
static gpointer take_jobs(gpointer data)
{
	g_mutex_lock(&first);
	while (rounds >= 0)
		g_cond_wait(&done, &first);
	g_mutex_unlock(&first);
	return data;
}

static void run_idle(void)
{
	g_thread_new("worker", take_jobs, NULL);
	g_timeout_add(5, start_order, NULL);
	g_timeout_add(20, on_round, NULL);
	g_main_loop_run(loop);
}

/* A job that a signal ends. */
static void end_job(int number)
{
	(void)number;
	rounds = -1;
}

static void run_signalled(void)
{
	signal(SIGUSR1, end_job);
	run_job();
	g_timeout_add(5, start_order, NULL);
	g_main_loop_run(loop);
}

/* A client asks a worker once itself, then the loop asks for it; at last only a signal's handler would. */
static GAsyncQueue *answers;

static gboolean ask(gpointer data)
{
	g_async_queue_push(queue, queue);
	return data != NULL;
}

static gpointer answer_all(gpointer data)
{
	for (;;)
		g_async_queue_push(answers, g_async_queue_pop(queue));
	return data;
}

/* A queue is recorded from the first wait on: so the worker waits before the client asks. */
static gpointer ask_often(gpointer data)
{
	while (g_async_queue_length(queue) >= 0)
		g_usleep(1000);
	ask(NULL);
	for (;;) {
		g_async_queue_pop(answers);
		if (count++ < ITEMS)
			g_timeout_add(1, ask, NULL);
	}
	return data;
}

static void run_unasked(void)
{
	queue = g_async_queue_new();
	answers = g_async_queue_new();
	g_thread_new("worker", answer_all, NULL);
	g_thread_new("client", ask_often, NULL);
	g_main_loop_run(loop);
}

static void run_heard(void)
{
	g_unix_signal_add(SIGUSR1, ask, queue);
	run_unasked();
}

/* A timeout waits for its time. */
static gboolean on_deadline(gpointer deadline)
{
	if (g_get_monotonic_time() > *(gint64 *)deadline)
		g_task_return_boolean(job, TRUE);
	return G_SOURCE_CONTINUE;
}

static void run_limited(void)
{
	gint64 deadline = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;

	run_job();
	g_timeout_add(5, start_order, NULL);
	g_timeout_add(10, on_deadline, &deadline);
	g_main_loop_run(loop);
}

/* A timeout comes seldom, and may count its rounds. */
static void run_counted(void)
{
	job = g_task_new(NULL, NULL, on_job_done, loop);
	g_timeout_add(5, start_order, NULL);
	g_timeout_add(500 * slowness(), on_round, NULL);
	g_main_loop_run(loop);
}

/* ---- Contexts that nobody runs ------------------------------------------------------------------ */

static gpointer run_context(gpointer context)
{
	GMainLoop *own = g_main_loop_new(context, FALSE);

	g_main_loop_run(own);
	return NULL;
}

static void await_answer(void)
{
	g_mutex_lock(&first);
	while (!is_done)
		g_cond_wait(&done, &first);
	g_mutex_unlock(&first);
}

static void run_asked(GMainContext *context)
{
	g_main_context_invoke(context, tell_done, NULL);
	if (is_fine)
		g_thread_new("runner", run_context, context);
	await_answer();
}

static void run_unrun(void)
{
	run_asked(g_main_context_new());
}

/* The main thread waits for its own idle source. */
static void run_unrun_default(void)
{
	g_idle_add(tell_done, NULL);
	if (is_fine)
		g_thread_new("runner", run_context, NULL);
	await_answer();
}

/* A loop of the program's own. */
static void run_iterated(void)
{
	GMainContext *context = g_main_context_new();
	GSource *source = g_idle_source_new();

	g_source_set_callback(source, tell_done, NULL, NULL);
	g_source_attach(source, context);
	g_usleep(1200000);
	while (!is_done)
		g_main_context_iteration(context, TRUE);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {{"both", run_both}, {"twice", run_twice}, {"producer", run_producer},
	{"consumer", run_consumer}, {"early", run_early}, {"wrong", run_wrong},
	{"ticks", run_ticks}, {"late", run_late}, {"removed", run_removed}, {"steps", run_steps},
	{"waiting", run_waiting}, {"started", run_started}, {"orders", run_orders},
	{"acting", run_acting}, {"quick", run_quick}, {"evicting", run_evicting},
	{"idle", run_idle}, {"signalled", run_signalled}, {"unasked", run_unasked},
	{"heard", run_heard}, {"counted", run_counted}, {"limited", run_limited},
	{"unrun", run_unrun}, {"default", run_unrun_default}, {"iterated", run_iterated}};

int main(int argc, char **argv)
{
	is_fine = argc > 2;
	if (!is_fine)
		end_after(5);
	loop = g_main_loop_new(NULL, FALSE);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		if (argc > 1 && strcmp(argv[1], cases[i].name) == 0)
			cases[i].run();
	puts("done");
	return 0;
}
