/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: catalog_refresh_sync runs a loop of a private context, but doesn't push that context as the
 *     thread's default; so the refresh task's completion on_refreshed goes to the default context, which
 *     nobody iterates meanwhile
 *   culprit: catalog_refresh_sync|catalog_refresh_async|on_refreshed
 *   victim: main$|on_tick
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A panel with a catalog of applications; the synchronous refresh wraps the asynchronous one. */
#include <gio/gio.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define REFRESHES 4

struct catalog {
	GMutex mutex;
	guint generation;
	guint entries;
};

struct refresh {
	GMainLoop *loop;
	gboolean succeeded;
};

static struct catalog catalog;
static GMainLoop *main_loop;
static bool push_context;
static guint ticks;
static guint prefetches;

/* Runs in a thread of GTask's pool. */
static void scan_directories(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	struct catalog *self = data;

	(void)source;
	(void)cancellable;
	g_usleep(8000);
	g_mutex_lock(&self->mutex);
	self->generation++;
	self->entries = 40 + self->generation;
	g_mutex_unlock(&self->mutex);
	g_task_return_boolean(task, TRUE);
}

static void catalog_refresh_async(struct catalog *self, GAsyncReadyCallback callback, gpointer data)
{
	GTask *task = g_task_new(NULL, NULL, callback, data);

	g_task_set_name(task, "refresh");
	g_task_set_task_data(task, self, NULL);
	g_task_run_in_thread(task, scan_directories);
	g_object_unref(task);
}

static gboolean catalog_refresh_finish(GAsyncResult *result)
{
	return g_task_propagate_boolean(G_TASK(result), NULL);
}

static void on_refreshed(GObject *source, GAsyncResult *result, gpointer data)
{
	struct refresh *refresh = data;

	(void)source;
	refresh->succeeded = catalog_refresh_finish(result);
	g_main_loop_quit(refresh->loop);
}

/* Refreshes the catalog, and dispatches nothing else of the caller's meanwhile. */
__attribute__((noinline)) static gboolean catalog_refresh_sync(struct catalog *self)
{
	GMainContext *context = g_main_context_new();
	struct refresh refresh = {g_main_loop_new(context, FALSE), FALSE};

	if (push_context)
		g_main_context_push_thread_default(context);
	catalog_refresh_async(self, on_refreshed, &refresh);
	g_main_loop_run(refresh.loop);
	if (push_context)
		g_main_context_pop_thread_default(context);
	g_main_loop_unref(refresh.loop);
	g_main_context_unref(context);
	return refresh.succeeded;
}

static void on_prefetched(GObject *source, GAsyncResult *result, gpointer data)
{
	(void)source;
	(void)data;
	if (catalog_refresh_finish(result))
		prefetches++;
}

static gboolean on_tick(gpointer data)
{
	(void)data;
	ticks++;
	if (ticks <= 3) {
		catalog_refresh_async(&catalog, on_prefetched, NULL);
		return G_SOURCE_CONTINUE;
	}
	if (!catalog_refresh_sync(&catalog))
		g_printerr("the catalog can't be read\n");
	if (ticks < 3 + REFRESHES)
		return G_SOURCE_CONTINUE;
	g_main_loop_quit(main_loop);
	return G_SOURCE_REMOVE;
}

static gboolean on_clock(gpointer data)
{
	(void)data;
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	guint clock_source;

	push_context = argc < 2 || strcmp(argv[1], "broken") != 0;
	g_mutex_init(&catalog.mutex);
	main_loop = g_main_loop_new(NULL, FALSE);
	g_timeout_add(30, on_tick, NULL);
	clock_source = g_timeout_add(25, on_clock, NULL);
	g_main_loop_run(main_loop);
	g_source_remove(clock_source);
	g_main_loop_unref(main_loop);
	printf("generation %u, %u entries, %u prefetches\n", catalog.generation, catalog.entries,
		prefetches);
	return 0;
}
