/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: save_document runs a loop of its own until the document is stored. The third save takes so long
 *     that the timer on_autosave fires within that loop. It wants to save, too, and runs yet another loop
 *     in wait_until_free, until the first save gives the document back. The first save can't go on, since
 *     its loop returns only when the inner one has returned.
 *   culprit: on_autosave|wait_until_free
 *   victim: on_key|blink_cursor|store_in_thread|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* An editor that stores its document on a slow server. */
#include <gio/gio.h>
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	SAVES = 5,
	LARGE_SAVE = 3,
	AUTOSAVE_MS = 400
};

static struct {
	bool is_busy, is_changed;
	int store_ms, saves;
	GSList *waiting; /* loops of those who wait until it is free */
} document;

static GMainLoop *application;
static guint autosave_source;
static int keys;
static bool broken, cursor;

/* ---- Storing -------------------------------------------------------------------------------- */

static void store_in_thread(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	(void)source;
	(void)cancellable;
	g_usleep(GPOINTER_TO_INT(data) * 1000UL);
	g_task_return_boolean(task, TRUE);
}

static void on_stored(GObject *source, GAsyncResult *result, gpointer data)
{
	(void)source;
	if (g_task_propagate_boolean(G_TASK(result), NULL))
		document.saves++;
	g_main_loop_quit(data);
}

static void wait_until_free(void)
{
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);

	document.waiting = g_slist_append(document.waiting, loop);
	g_main_loop_run(loop);
	document.waiting = g_slist_remove(document.waiting, loop);
	g_main_loop_unref(loop);
}

static void give_back(void)
{
	document.is_busy = false;
	for (GSList *at = document.waiting; at; at = at->next)
		g_main_loop_quit(at->data);
}

/* Returns when the document is stored. The window stays alive meanwhile. */
static void save_document(const char *reason)
{
	GMainLoop *loop;
	GTask *task;

	if (document.is_busy)
		wait_until_free();
	document.is_busy = true;
	document.is_changed = false;
	loop = g_main_loop_new(NULL, FALSE);
	task = g_task_new(NULL, NULL, on_stored, loop);
	g_task_set_task_data(task, GINT_TO_POINTER(document.store_ms), NULL);
	g_task_run_in_thread(task, store_in_thread);
	g_object_unref(task);
	g_main_loop_run(loop);
	g_main_loop_unref(loop);
	printf("stored (%s)\n", reason);
	give_back();
}

/* ---- Editing -------------------------------------------------------------------------------- */

static gboolean on_autosave(gpointer data)
{
	(void)data;
	if (document.is_busy && !broken)
		return G_SOURCE_CONTINUE;
	autosave_source = 0;
	if (document.is_changed || document.is_busy)
		save_document("by itself");
	return G_SOURCE_REMOVE;
}

static void edit(int store_ms)
{
	document.is_changed = true;
	document.store_ms = store_ms;
	if (!autosave_source)
		autosave_source = g_timeout_add(AUTOSAVE_MS, on_autosave, NULL);
}

static void press_save(void)
{
	save_document("by the user");
	if (!document.is_changed && autosave_source) {
		g_source_remove(autosave_source);
		autosave_source = 0;
	}
}

/* Each third key is Ctrl+S. */
static gboolean on_key(gpointer data)
{
	static int saves;

	(void)data;
	if (++keys % 3) {
		edit(saves + 1 == LARGE_SAVE ? 900 : 20); /* a picture */
		return G_SOURCE_CONTINUE;
	}
	press_save();
	if (++saves < SAVES)
		return G_SOURCE_CONTINUE;
	g_main_loop_quit(application);
	return G_SOURCE_REMOVE;
}

static gboolean blink_cursor(gpointer data)
{
	(void)data;
	cursor = !cursor;
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	guint blink;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	application = g_main_loop_new(NULL, FALSE);
	g_timeout_add(40, on_key, NULL);
	blink = g_timeout_add(200, blink_cursor, NULL);
	g_main_loop_run(application);
	g_source_remove(blink);
	if (autosave_source)
		g_source_remove(autosave_source);
	g_main_loop_unref(application);
	printf("%d keys, stored %d times\n", keys, document.saves);
	return 0;
}
