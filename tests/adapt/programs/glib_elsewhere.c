/* SPDX-License-Identifier: ISC */
/*
 * A thread has a context of its own, and waits in a loop of that for an answer, whose source it attaches to
 * the default context by mistake. At first the main thread runs that one, and all goes well. Then a callback
 * of the main loop waits for the thread. With "fine" the thread's source is in its own context, with "helper"
 * a third thread ends its loop, with "free" the callback doesn't wait for it. It knows nothing of thrum.
 * Where it hangs, SIGALRM ends it.
 */
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"

#define ASKED 4 /* before the last time */

static const char *scene;
static GMainLoop *main_loop;
static int ends[2], asked;

static bool is(const char *name)
{
	return strcmp(scene, name) == 0;
}

static gboolean on_answer(GIOChannel *channel, GIOCondition condition, gpointer loop)
{
	char byte;

	(void)condition;
	if (read(g_io_channel_unix_get_fd(channel), &byte, 1) == 1)
		g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static void watch(GIOChannel *channel, GMainContext *context, GMainLoop *loop)
{
	GSource *source;

	if (!is("fine")) {
		g_io_add_watch(channel, G_IO_IN, on_answer, loop);
		return;
	}
	source = g_io_create_watch(channel, G_IO_IN);
	g_source_set_callback(source, G_SOURCE_FUNC(on_answer), loop, NULL);
	g_source_attach(source, context);
	g_source_unref(source);
}

/* In the loop that waits for the answer: it runs before that comes. */
static gboolean on_start(gpointer unused)
{
	(void)unused;
	return write(ends[1], "!", 1) != 1;
}

static void attach_start(GMainContext *context)
{
	GSource *source = g_idle_source_new();

	g_source_set_callback(source, on_start, NULL, NULL);
	g_source_attach(source, context);
	g_source_unref(source);
}

/* Ends a loop after a while, as if the answer had come in another way. */
static gpointer help(gpointer loop)
{
	g_usleep(600000);
	g_main_loop_quit(loop);
	return NULL;
}

static void ask(bool is_last)
{
	GMainContext *context = g_main_context_new();
	GMainLoop *loop = g_main_loop_new(context, FALSE);
	GIOChannel *channel = g_io_channel_unix_new(ends[0]);
	GThread *helper = NULL;

	g_main_context_push_thread_default(context);
	watch(channel, context, loop);
	if (is_last && is("helper"))
		helper = g_thread_new("helper", help, loop);
	attach_start(context);
	g_main_loop_run(loop);
	if (helper)
		g_thread_join(helper);
	g_main_context_pop_thread_default(context);
	g_main_loop_unref(loop);
	g_io_channel_unref(channel);
	g_main_context_unref(context);
}

static gpointer ask_alone(gpointer is_last)
{
	ask(is_last != NULL);
	return NULL;
}

static gboolean on_end(gpointer unused)
{
	(void)unused;
	g_main_loop_quit(main_loop);
	return G_SOURCE_REMOVE;
}

static gboolean on_refresh(gpointer unused)
{
	bool is_last = ++asked > ASKED;
	GThread *thread = g_thread_new("updates", ask_alone, is_last ? &asked : NULL);

	(void)unused;
	if (!is_last || is("free")) {
		g_thread_unref(thread);
	} else {
		g_thread_join(thread);
		g_main_loop_quit(main_loop);
	}
	if (is_last && is("free"))
		g_timeout_add(300, on_end, NULL);
	return !is_last;
}

int main(int argc, char **argv)
{
	scene = argc > 1 ? argv[1] : "";
	end_after(3);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return 1;
	main_loop = g_main_loop_new(NULL, FALSE);
	g_timeout_add(30, on_refresh, NULL);
	g_main_loop_run(main_loop);
	printf("refreshed\n");
	return 0;
}
