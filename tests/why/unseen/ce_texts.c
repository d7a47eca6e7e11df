/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: load_text starts an asynchronous load and runs a main loop until it ends. The loop is always that of the
 *     default context. In the thread "indexer", which has a context of its own as its thread's default, the load
 *     ends in that context, which nobody iterates while load_text waits for the default one.
 *   culprit: load_text
 *   victim: indexer|run_indexer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A help browser: the window loads pages, and a thread indexes them in the background. */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

struct load {
	GMainLoop *loop;
	char *text;
};

static const char *const pages[] = {"/etc/passwd", "/etc/group", "/etc/hosts", "/etc/profile"};

static gboolean own_context; /* whether load_text asks for the context of its thread */
static GMainLoop *window;
static gint shown;
static gint indexed;
static gint words;

static void on_loaded(GObject *source, GAsyncResult *result, gpointer data)
{
	struct load *load = data;
	GError *error = NULL;

	if (!g_file_load_contents_finish(G_FILE(source), result, &load->text, NULL, NULL, &error)) {
		load->text = g_strdup(error->message);
		g_error_free(error);
	}
	g_main_loop_quit(load->loop);
}

/* Loads a text, and lets the loop go on meanwhile. The caller frees the text. */
static char *load_text(const char *path)
{
	GMainContext *context = own_context ? g_main_context_get_thread_default() : NULL;
	struct load load = {.loop = g_main_loop_new(context, FALSE)};
	GFile *file = g_file_new_for_path(path);

	g_file_load_contents_async(file, NULL, on_loaded, &load);
	g_main_loop_run(load.loop);
	g_main_loop_unref(load.loop);
	g_object_unref(file);
	return load.text;
}

static int count_words(const char *text)
{
	int count = 0;

	for (gboolean inside = FALSE; *text; text++) {
		if (g_ascii_isalnum(*text) && !inside)
			count++;
		inside = g_ascii_isalnum(*text);
	}
	return count;
}

/* ---- The indexer ---- */

static gboolean index_next(gpointer data)
{
	GMainLoop *loop = data;
	char *text = load_text(pages[indexed]);

	words += count_words(text);
	g_free(text);
	if (g_atomic_int_add(&indexed, 1) + 1 == (gint)G_N_ELEMENTS(pages)) {
		g_main_loop_quit(loop);
		return G_SOURCE_REMOVE;
	}
	return G_SOURCE_CONTINUE;
}

static gpointer run_indexer(gpointer data)
{
	GMainContext *context = g_main_context_new();
	GMainLoop *loop = g_main_loop_new(context, FALSE);
	GSource *timer = g_timeout_source_new(30);

	(void)data;
	g_main_context_push_thread_default(context);
	g_source_set_callback(timer, index_next, loop, NULL);
	g_source_attach(timer, context);
	g_main_loop_run(loop);
	g_source_unref(timer);
	g_main_context_pop_thread_default(context);
	g_main_loop_unref(loop);
	g_main_context_unref(context);
	return NULL;
}

/* ---- The window ---- */

static gboolean show_next(gpointer data)
{
	char *text = load_text(pages[(guint)shown % G_N_ELEMENTS(pages)]);
	GThread **indexer = data;

	g_free(text);
	shown++;
	if (shown == 8)
		*indexer = g_thread_new("indexer", run_indexer, NULL);
	if (g_atomic_int_get(&indexed) == (gint)G_N_ELEMENTS(pages))
		g_main_loop_quit(window);
	return G_SOURCE_CONTINUE;
}

static gboolean blink_cursor(gpointer data)
{
	gboolean *on = data;

	*on = !*on;
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	GThread *indexer = NULL;
	gboolean cursor = FALSE;

	own_context = argc < 2 || strcmp(argv[1], "broken");
	window = g_main_loop_new(NULL, FALSE);
	g_timeout_add(50, show_next, &indexer);
	g_timeout_add(120, blink_cursor, &cursor);
	g_main_loop_run(window);
	g_thread_join(indexer);
	printf("help: %d pages shown, %d words\n", shown, words);
	g_main_loop_unref(window);
	return 0;
}
