/* SPDX-License-Identifier: ISC */
/*
 * A callback runs the loop of a context of its own until a task is done that a thread does. It hangs with
 * "task": the context isn't the thread's default, so the task's callback waits for the loop around it;
 * and with "thread", where a thread adds the source that ends the inner loop to the outer one. With a
 * second argument it does both as it should. Healthy, too: with "later" the source waits for the loop
 * around it, until a thread that sleeps for long ends the inner loop; with "timed" a timeout of the inner
 * loop ends that.
 */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "patience.h"

#define ROUNDS 2
#define SLOW 1300000 /* us: long enough to be looked at */

static GMainLoop *outer;
static const char *way;
static gboolean is_right; /* this round */
static int rounds;

static gboolean is(const char *other)
{
	return strcmp(way, other) == 0;
}

static gboolean count(gpointer data)
{
	(void)data;
	rounds++;
	return G_SOURCE_REMOVE;
}

static gboolean quit(gpointer loop)
{
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static void work(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	(void)source, (void)data, (void)cancellable;
	g_usleep(5000);
	g_task_return_boolean(task, TRUE);
}

static void on_done(GObject *source, GAsyncResult *result, gpointer loop)
{
	(void)source;
	if (g_task_propagate_boolean(G_TASK(result), NULL))
		g_main_loop_quit(loop);
}

static void start_task(gpointer loop)
{
	GTask *task = g_task_new(NULL, NULL, on_done, loop);

	g_task_run_in_thread(task, work);
	g_object_unref(task);
}

static gpointer end_loop(gpointer loop)
{
	g_usleep(5000);
	if (is("thread"))
		g_main_context_invoke(is_right ? g_main_loop_get_context(loop) : NULL, quit, loop);
	else
		g_main_context_invoke(NULL, count, NULL);
	if (is("later")) {
		g_usleep(SLOW);
		g_main_context_invoke(g_main_loop_get_context(loop), quit, loop);
	}
	return NULL;
}

static void end_by_timeout(GMainContext *context, GMainLoop *loop)
{
	GSource *timeout = g_timeout_source_new(SLOW / 1000);

	g_source_set_callback(timeout, quit, loop, NULL);
	g_source_attach(timeout, context);
	g_source_unref(timeout);
}

__attribute__((noinline)) static void wait_for_all(void)
{
	GMainContext *context = g_main_context_new();
	GMainLoop *loop = g_main_loop_new(context, FALSE);

	if (is("timed"))
		end_by_timeout(context, loop);
	if (is_right)
		g_main_context_push_thread_default(context);
	if (is("task"))
		start_task(loop);
	else
		g_thread_unref(g_thread_new("worker", end_loop, loop));
	g_main_loop_run(loop);
	if (is_right)
		g_main_context_pop_thread_default(context);
	g_main_loop_unref(loop);
	g_main_context_unref(context);
}

static gboolean on_round(gpointer fine)
{
	static int left = ROUNDS;

	/* Only the last time it is forgotten. */
	is_right = fine || left > 1;
	wait_for_all();
	return --left > 0 ? G_SOURCE_CONTINUE : quit(outer);
}

static gboolean on_clock(gpointer data)
{
	(void)data;
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	way = argc > 1 ? argv[1] : "task";
	if (argc < 3 && (is("task") || is("thread")))
		end_after(5);
	outer = g_main_loop_new(NULL, FALSE);
	g_timeout_add(10, on_round, argc > 2 ? argv[2] : NULL);
	g_timeout_add(15, on_clock, NULL);
	g_main_loop_run(outer);
	puts("done");
	return 0;
}
