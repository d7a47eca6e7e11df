/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: open_document runs a main loop of its own until the document is loaded. autosave runs inside
 *     it and waits in a third main loop until the document is open. That is told only when open_document
 *     goes on, which it can't, as autosave's loop lies above it on the stack.
 *   culprit: autosave|wait_until_open
 *   victim: blink
 * case: healthy
 *   args: healthy
 *   run: kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* An editor opens one document after the other, and saves the one that is open now and then. */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

struct document {
	int number;
	gboolean is_open, is_opening;
	GMainLoop *loaded; /* open_document waits here */
	GMainLoop *opened; /* others wait here until it is open */
};

static struct document document;
static gboolean saves_while_opening;
static int saves, blinks, bytes;

static gboolean on_loaded(gpointer data)
{
	struct document *loading = data;

	bytes += 4000;
	g_main_loop_quit(loading->loaded);
	return G_SOURCE_REMOVE;
}

/* Returns when the document is open. */
static void open_document(int number)
{
	document.number = number;
	document.is_open = FALSE;
	document.is_opening = TRUE;
	g_timeout_add(number % 4 == 3 ? 120 : 25, on_loaded, &document);
	document.loaded = g_main_loop_new(NULL, FALSE);
	g_main_loop_run(document.loaded);
	g_main_loop_unref(document.loaded);
	document.loaded = NULL;
	document.is_opening = FALSE;
	document.is_open = TRUE;
	if (document.opened)
		g_main_loop_quit(document.opened);
}

static void wait_until_open(void)
{
	document.opened = g_main_loop_new(NULL, FALSE);
	g_main_loop_run(document.opened);
	g_main_loop_unref(document.opened);
	document.opened = NULL;
}

static void save_document(void)
{
	bytes -= 10;
	saves++;
}

static gboolean autosave(gpointer data)
{
	(void)data;
	if (document.is_opening) {
		if (!saves_while_opening)
			return G_SOURCE_CONTINUE; /* the next time will do */
		if (document.opened)
			return G_SOURCE_CONTINUE;
		wait_until_open();
	}
	save_document();
	return G_SOURCE_CONTINUE;
}

static gboolean open_next(gpointer data)
{
	(void)data;
	if (document.is_opening)
		return G_SOURCE_CONTINUE;
	open_document(document.number + 1);
	return G_SOURCE_CONTINUE;
}

/* The cursor. */
static gboolean blink(gpointer data)
{
	(void)data;
	if (++blinks % 10 == 0) {
		printf("document %d, %d saves, %d bytes\n", document.number, saves, bytes);
		fflush(stdout);
	}
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);

	saves_while_opening = argc > 1 && !strcmp(argv[1], "broken");
	g_timeout_add(40, blink, NULL);
	g_timeout_add(70, open_next, NULL);
	g_timeout_add(55, autosave, NULL);
	g_main_loop_run(loop);
	g_main_loop_unref(loop);
	return 0;
}
