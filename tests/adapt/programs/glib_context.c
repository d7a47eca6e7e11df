/* SPDX-License-Identifier: ISC */
/*
 * A callback pushes a context as its thread's default, and returns without a pop: what comes later for the
 * default context is never run. With "main" it is main that does so, before it runs its loop; with "before"
 * it attaches the source then, too, and with "between" it runs that before its loop. With "fine" the context
 * is popped, with "later" another callback runs it and pops it, and with "own" a thread runs the loop of the
 * context that it has pushed. With "default" that thread adds its timer to the default context, which nobody
 * runs; with "served" main does. SIGALRM ends it.
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "patience.h"

static const char *chosen;
static GMainLoop *main_loop;
static GMainContext *own;

static gboolean is(const char *name)
{
	return strcmp(chosen, name) == 0;
}

static gboolean finish(gpointer data)
{
	(void)data;
	g_main_loop_quit(main_loop);
	return G_SOURCE_REMOVE;
}

/* As a library does that calls back in the context from which it was called. */
static void call_back(GSourceFunc function)
{
	GMainContext *context = g_main_context_ref_thread_default();
	GSource *source = g_idle_source_new();

	g_source_set_callback(source, function, NULL, NULL);
	g_source_attach(source, context);
	g_source_unref(source);
	g_main_context_unref(context);
}

static void probe(void)
{
	own = g_main_context_new();
	g_main_context_push_thread_default(own);
	if (!is("fine"))
		return;
	g_main_context_pop_thread_default(own);
	g_main_context_unref(own);
}

static gboolean tick_once(gpointer data)
{
	(void)data;
	return G_SOURCE_REMOVE;
}

static gboolean run_own(gpointer data)
{
	while (g_main_context_iteration(own, FALSE))
		;
	g_main_context_pop_thread_default(own);
	return finish(data);
}

static gboolean ask(gpointer data)
{
	(void)data;
	call_back(is("later") ? tick_once : finish);
	if (is("later"))
		g_timeout_add(300, run_own, NULL);
	return G_SOURCE_REMOVE;
}

static gboolean begin(gpointer data)
{
	(void)data;
	if (is("before") || is("between"))
		return G_SOURCE_REMOVE;
	if (!is("main"))
		probe();
	g_timeout_add(10, ask, NULL);
	return G_SOURCE_REMOVE;
}

static gboolean tick(gpointer data)
{
	(void)data;
	return G_SOURCE_CONTINUE;
}

static gboolean end_default(gpointer data)
{
	g_main_loop_quit(data);
	return G_SOURCE_REMOVE;
}

static gpointer run_thread(gpointer data)
{
	GMainContext *context = g_main_context_new();

	main_loop = g_main_loop_new(context, FALSE);
	g_main_context_push_thread_default(context);
	if (is("own")) {
		call_back(finish);
	} else {
		GSource *source = g_timeout_source_new(40);

		g_source_set_callback(source, tick, NULL, NULL);
		g_source_attach(source, context);
		g_source_unref(source);
		g_timeout_add(10, finish, NULL);
	}
	g_main_loop_run(main_loop);
	g_main_context_pop_thread_default(context);
	if (data)
		g_idle_add(end_default, data);
	return NULL;
}

static void run_between(void)
{
	call_back(tick_once);
	while (g_main_context_iteration(own, FALSE))
		;
	g_timeout_add(100, finish, NULL);
}

int main(int argc, char **argv)
{
	chosen = argc > 1 ? argv[1] : "";
	end_after(2);
	if (is("own") || is("default") || is("served")) {
		GMainLoop *served = is("served") ? g_main_loop_new(NULL, FALSE) : NULL;
		GThread *thread = g_thread_new("own", run_thread, served);

		g_usleep(100000);
		if (served)
			g_main_loop_run(served);
		g_thread_join(thread);
		puts("done");
		return 0;
	}
	main_loop = g_main_loop_new(NULL, FALSE);
	g_timeout_add(40, tick, NULL);
	g_idle_add(begin, NULL);
	if (is("main") || is("before") || is("between"))
		probe();
	if (is("before"))
		call_back(finish);
	if (is("between"))
		run_between();
	g_main_loop_run(main_loop);
	puts("done");
	return 0;
}
