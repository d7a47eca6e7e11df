/* SPDX-License-Identifier: ISC */
/* It waits for a child by GIO as its first argument says, and never reads the pipe that the child fills;
 * unless there is a second one. */
#include <gio/gio.h>
#include <string.h>
#include <unistd.h>

static gboolean is_fine;
static GSubprocess *child;

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

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} runs[] = {{"wait", run_wait}, {"check", run_check}, {"late", run_late},
		{"slow", run_slow}};

	is_fine = count > 2;
	alarm(3);
	for (size_t i = 0; count > 1 && i < G_N_ELEMENTS(runs); i++)
		if (strcmp(arguments[1], runs[i].name) == 0)
			runs[i].run();
	return 0;
}
