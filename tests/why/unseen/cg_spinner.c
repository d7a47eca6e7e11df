/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: save_document is an idle source. While a large document is being saved, draw_spinner turns a
 *     wheel: it is a source of the default priority that is ready in every turn, until nothing is left to
 *     save. So the idle source never gets a turn, and backup waits for the saved document for ever.
 *   culprit: draw_spinner
 *   victim: backup|wait_saved
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* An editor that saves in idle time. A thread copies each saved version to a backup. */
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	DOCUMENTS = 6,
	LARGE = 4
};

static bool broken;

struct editor {
	GMainLoop *loop;
	GMutex mutex;
	GCond saved_more;
	int saved;   /* documents on the disk */
	int edited;  /* documents that were edited so far */
	int pending; /* saves that are still to be made */
	guint spins;
	guint keys;
	int copied;
};

static struct editor editor;

static gboolean save_document(gpointer data)
{
	(void)data;
	g_usleep(3000);
	g_mutex_lock(&editor.mutex);
	editor.saved++;
	editor.pending--;
	g_cond_signal(&editor.saved_more);
	g_mutex_unlock(&editor.mutex);
	return G_SOURCE_REMOVE;
}

/* One step of the wheel in the status bar; it takes as long as the screen does. */
static gboolean draw_spinner(gpointer data)
{
	(void)data;
	g_usleep(2000);
	editor.spins++;
	return editor.pending > 0 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static void show_spinner(void)
{
	if (broken)
		g_idle_add_full(G_PRIORITY_DEFAULT, draw_spinner, NULL, NULL);
	else
		g_timeout_add(16, draw_spinner, NULL);
}

static gboolean edit_document(gpointer data)
{
	(void)data;
	if (editor.pending > 0)
		return G_SOURCE_CONTINUE; /* the next one when this one is on the disk */
	editor.edited++;
	editor.pending++;
	g_idle_add(save_document, NULL);
	if (editor.edited == LARGE)
		show_spinner();
	return editor.edited < DOCUMENTS ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static gboolean type_key(gpointer data)
{
	(void)data;
	editor.keys++;
	return G_SOURCE_CONTINUE;
}

static gboolean quit_editor(gpointer data)
{
	(void)data;
	g_main_loop_quit(editor.loop);
	return G_SOURCE_REMOVE;
}

/* Returns when document `number` is saved. */
static void wait_saved(int number)
{
	g_mutex_lock(&editor.mutex);
	while (editor.saved < number)
		g_cond_wait(&editor.saved_more, &editor.mutex);
	g_mutex_unlock(&editor.mutex);
}

static gpointer backup(gpointer data)
{
	(void)data;
	for (int number = 1; number <= DOCUMENTS; number++) {
		wait_saved(number);
		g_usleep(2000);
		editor.copied++;
	}
	g_idle_add(quit_editor, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	GThread *thread;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	g_mutex_init(&editor.mutex);
	g_cond_init(&editor.saved_more);
	editor.loop = g_main_loop_new(NULL, FALSE);
	g_timeout_add(40, edit_document, NULL);
	g_timeout_add(25, type_key, NULL);
	thread = g_thread_new("backup", backup, NULL);
	g_main_loop_run(editor.loop);
	g_thread_join(thread);
	g_main_loop_unref(editor.loop);
	printf("%d documents saved, %d copied, %u keys, %u steps of the wheel\n", editor.saved,
		editor.copied, editor.keys, editor.spins);
	return 0;
}
