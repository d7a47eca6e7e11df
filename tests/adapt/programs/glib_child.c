/* SPDX-License-Identifier: ISC */
/* It waits for a child, or for the end of a pipe, by GIO as its first argument says: it never reads the pipe
 * that the child fills, or never closes the one from which the child reads, or an end of the pipe is left
 * open; unless there is a second one. */
#include <fcntl.h>
#include <gio/gio.h>
#include <glib-unix.h>
#include <string.h>
#include <unistd.h>

#include "patience.h"

static gboolean is_fine;
static GSubprocess *child;
static GMainLoop *loop;
static int ends[2];

/* It writes more than a pipe holds. */
static void start(GSubprocessFlags flags)
{
	child = g_subprocess_new(flags, NULL, "head", "-c", is_fine ? "1000" : "1000000",
		"/dev/zero", NULL);
}

static void run_wait(void)
{
	start(G_SUBPROCESS_FLAGS_STDOUT_PIPE);
	g_subprocess_wait(child, NULL, NULL);
}

static void run_check(void)
{
	GError *error = NULL;

	start(G_SUBPROCESS_FLAGS_STDOUT_PIPE);
	g_subprocess_wait_check(child, NULL, &error);
	g_clear_error(&error);
	child = g_subprocess_new(G_SUBPROCESS_FLAGS_NONE, &error, "false", NULL);
	if (!g_subprocess_wait_check(child, NULL, &error))
		g_print("%s\n", error->message);
}

/* ---- Loops -------------------------------------------------------------------------------------- */

static void on_end(GObject *object, GAsyncResult *result, gpointer data)
{
	(void)data;
	g_subprocess_wait_finish(G_SUBPROCESS(object), result, NULL);
	g_main_loop_quit(loop);
}

static void run_full(void)
{
	start(G_SUBPROCESS_FLAGS_STDOUT_PIPE);
	g_subprocess_wait_async(child, NULL, on_end, NULL);
	g_main_loop_run(loop);
}

static void run_input(void)
{
	child = g_subprocess_new(G_SUBPROCESS_FLAGS_STDIN_PIPE, NULL, "cat", NULL);
	if (is_fine)
		g_output_stream_close(g_subprocess_get_stdin_pipe(child), NULL, NULL);
	g_subprocess_wait_async(child, NULL, on_end, NULL);
	g_main_loop_run(loop);
}

static gboolean on_data(gint fd, GIOCondition condition, gpointer data)
{
	char bytes[100];

	(void)condition;
	(void)data;
	if (read(fd, bytes, sizeof bytes) > 0)
		return G_SOURCE_CONTINUE;
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static gpointer write_some(gpointer data)
{
	for (int i = 0; i < 3; i++) {
		g_usleep(5000);
		if (write(ends[1], "abc", 3) != 3)
			return NULL;
	}
	if (is_fine)
		close(ends[1]);
	return data;
}

/* The main loop waits for the end of a pipe, and a thread writes to it, or closes it. */
static void run_pipe(GThreadFunc writer)
{
	GThread *thread;

	g_unix_open_pipe(ends, FD_CLOEXEC, NULL);
	g_unix_fd_add(ends[0], G_IO_IN | G_IO_HUP, on_data, NULL);
	thread = g_thread_new("writer", writer, NULL);
	g_main_loop_run(loop);
	g_thread_join(thread);
}

static void run_open(void)
{
	run_pipe(write_some);
}

/* The child, which waits for input, gets the writing end, too. */
static void run_leak(void)
{
	gchar program[] = "cat", *arguments[] = {program, NULL};
	int input;

	g_unix_open_pipe(ends, is_fine ? FD_CLOEXEC : 0, NULL);
	g_spawn_async_with_pipes(NULL, arguments, NULL,
		G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_LEAVE_DESCRIPTORS_OPEN,
		NULL, NULL, NULL, &input, NULL, NULL, NULL);
	close(ends[1]);
	g_unix_fd_add(ends[0], G_IO_IN | G_IO_HUP, on_data, NULL);
	g_main_loop_run(loop);
}

/* ---- Healthy ones ------------------------------------------------------------------------------- */

static gpointer read_late(gpointer data)
{
	GInputStream *stream = g_subprocess_get_stdout_pipe(child);
	char bytes[4096];

	g_usleep(1500000);
	while (g_input_stream_read(stream, bytes, sizeof bytes, NULL, NULL) > 0)
		;
	return data;
}

static void run_late(void)
{
	GThread *thread;

	start(G_SUBPROCESS_FLAGS_STDOUT_PIPE);
	thread = g_thread_new("reader", read_late, NULL);
	g_subprocess_wait(child, NULL, NULL);
	g_thread_join(thread);
}

/* The child just takes its time. */
static void run_slow(void)
{
	child = g_subprocess_new(G_SUBPROCESS_FLAGS_STDOUT_PIPE, NULL, "sleep", "10", NULL);
	g_subprocess_wait(child, NULL, NULL);
}

static void run_asleep(void)
{
	child = g_subprocess_new(G_SUBPROCESS_FLAGS_STDIN_PIPE, NULL, "sleep", "10", NULL);
	g_subprocess_wait_async(child, NULL, on_end, NULL);
	g_main_loop_run(loop);
}

static gboolean close_input(gpointer data)
{
	(void)data;
	g_output_stream_close(g_subprocess_get_stdin_pipe(child), NULL, NULL);
	return G_SOURCE_REMOVE;
}

/* A helper, for which there is nothing to do meanwhile. */
static void run_helper(void)
{
	child = g_subprocess_new(G_SUBPROCESS_FLAGS_STDIN_PIPE, NULL, "cat", NULL);
	g_subprocess_wait_async(child, NULL, on_end, NULL);
	g_timeout_add(1500, close_input, NULL);
	g_main_loop_run(loop);
}

static gpointer close_later(gpointer data)
{
	g_usleep(1500000);
	close(ends[1]);
	return data;
}

static void run_later(void)
{
	run_pipe(close_later);
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)(void);
		gboolean ends; /* though it has no second argument */
	} runs[] = {{"wait", run_wait, FALSE}, {"check", run_check, FALSE},
		{"late", run_late, TRUE}, {"slow", run_slow, FALSE}, {"full", run_full, FALSE},
		{"input", run_input, FALSE}, {"open", run_open, FALSE}, {"leak", run_leak, FALSE},
		{"asleep", run_asleep, FALSE}, {"helper", run_helper, TRUE},
		{"later", run_later, TRUE}};

	is_fine = count > 2;
	loop = g_main_loop_new(NULL, FALSE);
	for (size_t i = 0; count > 1 && i < G_N_ELEMENTS(runs); i++)
		if (strcmp(arguments[1], runs[i].name) == 0) {
			end_after(is_fine || runs[i].ends ? 20 : 3);
			runs[i].run();
		}
	return 0;
}
