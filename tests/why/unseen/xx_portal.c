/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: probe_portal pushes a private main context as the thread's default and returns early,
 *          without a pop, when the portal is too old. Later answers go to that context, which nobody runs.
 *   culprit: probe_portal
 *   victim: (load_thumbnails|main_loop|g_main_loop_run)
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A file chooser: asks the desktop portal for its version, then loads thumbnails in the background. */
#define THUMBNAILS 40

typedef void answer_callback(int result, gpointer data);

struct call {
	GMainContext *context;
	answer_callback *callback;
	gpointer data;
	int delay_ms, result;
};

static GMainLoop *main_loop;
static GThreadPool *bus_threads;
static int loaded;
static guint clock_ticks;
static bool healthy;

/* ---- A small library for calls that are answered in the caller's default context ---- */

static gboolean deliver_answer(gpointer data)
{
	struct call *call = data;

	call->callback(call->result, call->data);
	return G_SOURCE_REMOVE;
}

static void free_call(gpointer data)
{
	struct call *call = data;

	g_main_context_unref(call->context);
	g_free(call);
}

static void serve_call(gpointer data, gpointer unused)
{
	struct call *call = data;
	GSource *source;

	(void)unused;
	g_usleep(call->delay_ms * 1000);
	source = g_idle_source_new();
	g_source_set_callback(source, deliver_answer, call, free_call);
	g_source_attach(source, call->context);
	g_source_unref(source);
}

static void call_async(int delay_ms, int result, answer_callback *callback, gpointer data)
{
	struct call *call = g_new0(struct call, 1);

	call->context = g_main_context_ref_thread_default();
	call->callback = callback;
	call->data = data;
	call->delay_ms = delay_ms;
	call->result = result;
	g_thread_pool_push(bus_threads, call, NULL);
}

/* ---- The file chooser ---- */

static void on_version(int version, gpointer data)
{
	*(int *)data = version;
}

static bool probe_portal(int wanted)
{
	GMainContext *private = g_main_context_new();
	int version = -1;

	g_main_context_push_thread_default(private);
	call_async(5, 2, on_version, &version);
	while (version < 0)
		g_main_context_iteration(private, TRUE);
	if (version < wanted && !healthy)
		return false;
	g_main_context_pop_thread_default(private);
	g_main_context_unref(private);
	return version >= wanted;
}

static void on_thumbnail(int result, gpointer data)
{
	(void)result, (void)data;
	if (++loaded == THUMBNAILS)
		g_main_loop_quit(main_loop);
}

static gboolean load_thumbnails(gpointer unused)
{
	(void)unused;
	for (int i = 0; i < THUMBNAILS; i++)
		call_async(2 + i % 5, i, on_thumbnail, NULL);
	return G_SOURCE_REMOVE;
}

static gboolean open_chooser(gpointer unused)
{
	(void)unused;
	if (!probe_portal(3))
		printf("chooser: portal is old, using the built-in dialog\n");
	fflush(stdout);
	g_timeout_add(10, load_thumbnails, NULL);
	return G_SOURCE_REMOVE;
}

static gboolean draw_spinner(gpointer unused)
{
	(void)unused;
	clock_ticks++;
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	healthy = argc > 1 && strcmp(argv[1], "healthy") == 0;
	bus_threads = g_thread_pool_new(serve_call, NULL, 3, FALSE, NULL);
	main_loop = g_main_loop_new(NULL, FALSE);
	g_idle_add(open_chooser, NULL);
	g_timeout_add(40, draw_spinner, NULL);
	g_main_loop_run(main_loop);
	printf("chooser: %d thumbnails, %u frames\n", loaded, clock_ticks);
	g_thread_pool_free(bus_threads, FALSE, TRUE);
	g_main_loop_unref(main_loop);
	return 0;
}
