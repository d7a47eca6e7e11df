/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: typeset starts the engine with a pipe for its output, waits for its end, and reads the output only in
 *     on_engine_end. A book with many warnings fills the pipe: the engine waits until somebody reads, and the helper until the
 *     engine ends.
 *   culprit: typeset\b|g_subprocess_wait_check_async|on_engine_end|stdout_pipe
 *   victim: main|export
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A desktop helper that typesets books: it runs an engine as a process for each, and counts the warnings in its output. */
#include <gio/gio.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct book {
	const char *title;
	const char *warnings;
	GTask *job;
};

static struct book books[] = {
	{"primer", "40", NULL},
	{"songs", "120", NULL},
	{"recipes", "7", NULL},
	{"encyclopedia", "4000", NULL},
	{"letters", "15", NULL},
};
static GMainLoop *loop;
static const char *self_path = "/proc/self/exe";
static bool read_early;
static unsigned next_book;

static void export_next(void);

static gssize count_lines(const char *text)
{
	gssize lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* The engine read and typeset all; what it said is in the pipe. */
static void on_engine_end(GObject *source, GAsyncResult *result, gpointer data)
{
	GSubprocess *engine = G_SUBPROCESS(source);
	struct book *book = data;
	GInputStream *output = g_subprocess_get_stdout_pipe(engine);
	GError *error = NULL;
	char part[1024];
	gssize got;
	gssize lines = 0;

	if (!g_subprocess_wait_check_finish(engine, result, &error)) {
		g_task_return_error(book->job, error);
		g_object_unref(book->job);
		return;
	}
	while ((got = g_input_stream_read(output, part, sizeof part - 1, NULL, NULL)) > 0) {
		part[got] = '\0';
		lines += count_lines(part);
	}
	g_task_return_int(book->job, lines);
	g_object_unref(book->job);
}

static void on_engine_output(GObject *source, GAsyncResult *result, gpointer data)
{
	struct book *book = data;
	GError *error = NULL;
	char *text = NULL;

	if (!g_subprocess_communicate_utf8_finish(G_SUBPROCESS(source), result, &text, NULL,
		    &error))
		g_task_return_error(book->job, error);
	else
		g_task_return_int(book->job, count_lines(text));
	g_free(text);
	g_object_unref(book->job);
}

static void typeset(struct book *book, GAsyncReadyCallback callback)
{
	GError *error = NULL;
	GSubprocess *engine;

	book->job = g_task_new(NULL, NULL, callback, book);
	g_task_set_name(book->job, book->title);
	engine = g_subprocess_new(G_SUBPROCESS_FLAGS_STDOUT_PIPE, &error, self_path, "engine",
		book->warnings, NULL);
	if (!engine) {
		g_task_return_error(book->job, error);
		g_object_unref(book->job);
		return;
	}
	if (read_early)
		g_subprocess_communicate_utf8_async(engine, NULL, NULL, on_engine_output, book);
	else
		g_subprocess_wait_check_async(engine, NULL, on_engine_end, book);
	g_object_unref(engine);
}

static void on_exported(GObject *source, GAsyncResult *result, gpointer data)
{
	struct book *book = data;
	GError *error = NULL;
	gssize warnings = g_task_propagate_int(G_TASK(result), &error);

	(void)source;
	if (error)
		printf("%s: %s\n", book->title, error->message);
	else
		printf("%s: %zd warnings\n", book->title, (ssize_t)warnings);
	g_clear_error(&error);
	export_next();
}

static void export_next(void)
{
	if (next_book < G_N_ELEMENTS(books))
		typeset(&books[next_book++], on_exported);
	else
		g_main_loop_quit(loop);
}

/* The progress bar moves. */
static gboolean on_progress(gpointer data)
{
	++*(unsigned *)data;
	return G_SOURCE_CONTINUE;
}

static int run_engine(const char *warnings)
{
	int count = atoi(warnings);

	for (int i = 0; i < count; i++)
		printf("warning: page %d: line too wide\n", i + 1);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned progress = 0;

	if (argc > 2 && !strcmp(argv[1], "engine"))
		return run_engine(argv[2]);
	read_early = argc > 1 && !strcmp(argv[1], "healthy");
	setvbuf(stdout, NULL, _IOLBF, 0);
	loop = g_main_loop_new(NULL, FALSE);
	g_timeout_add(50, on_progress, &progress);
	export_next();
	g_main_loop_run(loop);
	return 0;
}
