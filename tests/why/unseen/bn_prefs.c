/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: prefs_load_sync blocks the main thread until on_prefs_loaded has run, but that callback is dispatched by
 *     the main context, which only the blocked main thread iterates.
 *   culprit: prefs_load_sync|on_prefs_loaded
 *   victim: autosave|indexer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* An editor's start, on GLib: preferences have an asynchronous call, and a synchronous one around it. */
#include <gio/gio.h>
#include <string.h>

struct prefs {
	int tab_width;
	gboolean dark;
};

struct sync_load {
	GMutex mutex;
	GCond loaded;
	gboolean done;
	struct prefs *prefs;
	GMainLoop *loop; /* of the call's own context, if it has one */
};

static gboolean broken;
static GMainLoop *main_loop;
static gint documents_indexed;
static gint quitting;

static void prefs_read(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	struct prefs *prefs = g_new0(struct prefs, 1);

	(void)source;
	(void)data;
	(void)cancellable;
	g_usleep(20000); /* the disk */
	prefs->tab_width = 8;
	prefs->dark = TRUE;
	g_task_return_pointer(task, prefs, g_free);
}

static void prefs_load_async(GAsyncReadyCallback callback, gpointer data)
{
	GTask *task = g_task_new(NULL, NULL, callback, data);

	g_task_set_source_tag(task, prefs_load_async);
	g_task_set_name(task, "load preferences");
	g_task_run_in_thread(task, prefs_read);
	g_object_unref(task);
}

static void on_prefs_loaded(GObject *source, GAsyncResult *result, gpointer data)
{
	struct sync_load *load = data;

	(void)source;
	g_mutex_lock(&load->mutex);
	load->prefs = g_task_propagate_pointer(G_TASK(result), NULL);
	load->done = TRUE;
	g_cond_signal(&load->loaded);
	g_mutex_unlock(&load->mutex);
	if (load->loop)
		g_main_loop_quit(load->loop);
}

static struct prefs *prefs_load_sync(void)
{
	struct sync_load load = {0};

	g_mutex_init(&load.mutex);
	g_cond_init(&load.loaded);
	if (broken) {
		prefs_load_async(on_prefs_loaded, &load);
		g_mutex_lock(&load.mutex);
		while (!load.done)
			g_cond_wait(&load.loaded, &load.mutex);
		g_mutex_unlock(&load.mutex);
	} else {
		GMainContext *context = g_main_context_new();

		g_main_context_push_thread_default(context);
		load.loop = g_main_loop_new(context, FALSE);
		prefs_load_async(on_prefs_loaded, &load);
		g_main_loop_run(load.loop);
		g_main_context_pop_thread_default(context);
		g_main_loop_unref(load.loop);
		g_main_context_unref(context);
	}
	g_cond_clear(&load.loaded);
	g_mutex_clear(&load.mutex);
	return load.prefs;
}

static void on_spell_checked(GObject *source, GAsyncResult *result, gpointer data)
{
	int *checks = data;

	(void)source;
	g_free(g_task_propagate_pointer(G_TASK(result), NULL));
	(*checks)++;
}

static gboolean on_autosave(gpointer data)
{
	int *saves = data;

	if (++*saves == 30)
		g_main_loop_quit(main_loop);
	return G_SOURCE_CONTINUE;
}

/* A document was opened by double click: the window wants the preferences now. */
static gboolean on_open_document(gpointer data)
{
	struct prefs *prefs = prefs_load_sync();

	(void)data;
	g_message("tabs of %d, %s", prefs->tab_width, prefs->dark ? "dark" : "light");
	g_free(prefs);
	return G_SOURCE_REMOVE;
}

static gpointer index_documents(gpointer data)
{
	(void)data;
	while (!g_atomic_int_get(&quitting)) {
		g_usleep(10000);
		g_atomic_int_inc(&documents_indexed);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	GThread *indexer;
	int saves = 0, checks = 0;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	main_loop = g_main_loop_new(NULL, FALSE);
	indexer = g_thread_new("indexer", index_documents, NULL);
	prefs_load_async(on_spell_checked, &checks);
	g_timeout_add(20, on_autosave, &saves);
	g_timeout_add(150, on_open_document, NULL);
	g_main_loop_run(main_loop);
	g_atomic_int_set(&quitting, 1);
	g_thread_join(indexer);
	g_main_loop_unref(main_loop);
	g_message("%d saves, %d checks, %d documents", saves, checks, documents_indexed);
	return 0;
}
