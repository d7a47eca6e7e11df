/* SPDX-License-Identifier: ISC */
/*
 * Events that GLib's loops never see. With `quit`, a call runs a loop of its own for each answer, but the
 * last answer comes before that loop runs, so its quit is forgotten. With `unrun`, the first such call
 * leaves a source in its own context, which no loop runs later. With `unread`, a child fills a pipe, which
 * is read only after its end. With `fine` behind it, each does it right. It knows nothing of thrum. Where
 * it hangs, SIGALRM ends it.
 */
#include <gio/gio.h>
#include <glib-unix.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"

enum {
	ANSWERS = 5,
	LINES = 5000, /* more than a pipe takes */
	CHILDREN = 3
};

static bool is_fine;
static GMainLoop *main_loop;

static gboolean on_tick(void *unused)
{
	(void)unused;
	return G_SOURCE_CONTINUE;
}

/* ---- Answers --------------------------------------------------------------------------------- */

static gboolean on_answer(void *loop)
{
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static void ask(bool is_known)
{
	GMainContext *context = g_main_context_new();
	GMainLoop *loop = g_main_loop_new(context, FALSE);
	GSource *answer = g_timeout_source_new(5);

	g_main_context_push_thread_default(context);
	g_source_set_callback(answer, on_answer, loop, NULL);
	if (is_known)
		on_answer(loop);
	else
		g_source_attach(answer, context);
	if (!is_known || !is_fine)
		g_main_loop_run(loop);
	g_source_unref(answer);
	g_main_context_pop_thread_default(context);
	g_main_loop_unref(loop);
	g_main_context_unref(context);
}

static void *ask_all(void *unused)
{
	for (int i = 1; i <= ANSWERS; i++)
		ask(i == ANSWERS);
	return unused;
}

/* ---- News ------------------------------------------------------------------------------------ */

static int questions[2], news[2];
static GTask *refresh;

static void *serve(void *unused)
{
	char byte;

	(void)unused;
	while (read(questions[1], &byte, 1) == 1 &&
		write(byte == 'r' ? news[1] : questions[1], &byte, 1) == 1)
		;
	return NULL;
}

static gboolean on_news(int fd, GIOCondition condition, void *unused)
{
	char byte;

	(void)condition;
	(void)unused;
	if (read(fd, &byte, 1) != 1)
		return G_SOURCE_REMOVE;
	g_task_return_boolean(refresh, TRUE);
	g_object_unref(refresh);
	return G_SOURCE_CONTINUE;
}

static void subscribe(void)
{
	static GSource *source;

	if (source)
		return;
	source = g_unix_fd_source_new(news[0], G_IO_IN);
	g_source_set_callback(source, G_SOURCE_FUNC(on_news), NULL, NULL);
	g_source_attach(source, g_main_context_ref_thread_default()); /* it is kept */
}

static gboolean on_details(int fd, GIOCondition condition, void *loop)
{
	char byte;

	(void)condition;
	if (read(fd, &byte, 1) == 1)
		g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static void ask_for_details(void)
{
	GMainContext *context = g_main_context_new();
	GMainLoop *loop = g_main_loop_new(context, FALSE);
	GSource *reply = g_unix_fd_source_new(questions[0], G_IO_IN);

	g_main_context_push_thread_default(context);
	subscribe();
	g_source_set_callback(reply, G_SOURCE_FUNC(on_details), loop, NULL);
	g_source_attach(reply, context);
	if (write(questions[0], "d", 1) == 1)
		g_main_loop_run(loop);
	g_source_unref(reply);
	g_main_context_pop_thread_default(context);
	g_main_loop_unref(loop);
	g_main_context_unref(context);
}

static void on_refreshed(GObject *unused, GAsyncResult *result, void *data)
{
	(void)unused;
	(void)data;
	g_task_propagate_boolean(G_TASK(result), NULL);
	g_main_loop_quit(main_loop);
}

static gboolean on_start(void *unused)
{
	(void)unused;
	refresh = g_task_new(NULL, NULL, on_refreshed, NULL);
	g_task_set_name(refresh, "refresh");
	return write(questions[0], "r", 1) == 1 ? G_SOURCE_REMOVE : G_SOURCE_CONTINUE;
}

/* ---- Children -------------------------------------------------------------------------------- */

static char *self;

static void start_child(void);

static void count_lines(GInputStream *output)
{
	char part[4096];
	long lines = 0;
	gssize got;

	while ((got = g_input_stream_read(output, part, sizeof part, NULL, NULL)) > 0)
		for (gssize i = 0; i < got; i++)
			lines += part[i] == '\n';
	printf("%ld lines\n", lines);
}

static void on_end(GObject *child, GAsyncResult *result, void *unused)
{
	(void)unused;
	g_subprocess_wait_check_finish(G_SUBPROCESS(child), result, NULL);
	count_lines(g_subprocess_get_stdout_pipe(G_SUBPROCESS(child)));
	start_child();
}

static void on_output(GObject *child, GAsyncResult *result, void *unused)
{
	GBytes *output;

	(void)unused;
	if (g_subprocess_communicate_finish(G_SUBPROCESS(child), result, &output, NULL, NULL)) {
		printf("%zu bytes\n", g_bytes_get_size(output));
		g_bytes_unref(output);
	}
	start_child();
}

static void start_child(void)
{
	static int count;
	GSubprocess *child;

	if (count++ == CHILDREN) {
		g_main_loop_quit(main_loop);
		return;
	}
	child = g_subprocess_new(G_SUBPROCESS_FLAGS_STDOUT_PIPE, NULL, self, "child",
		count == CHILDREN ? "long" : "short", NULL);
	if (is_fine)
		g_subprocess_communicate_async(child, NULL, NULL, on_output, NULL);
	else
		g_subprocess_wait_check_async(child, NULL, on_end, NULL);
	g_object_unref(child);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (strcmp(mode, "child") == 0) {
		for (int i = 0; i < (strcmp(argv[2], "long") == 0 ? LINES : 10); i++)
			printf("a line that says nothing new, %d\n", i);
		return 0;
	}
	self = argv[0];
	is_fine = argc > 2;
	end_after(30);
	main_loop = g_main_loop_new(NULL, FALSE);
	if (strcmp(mode, "quit") == 0) {
		g_thread_join(g_thread_new("asker", ask_all, NULL));
		return 0;
	}
	g_timeout_add(50, on_tick, NULL);
	if (strcmp(mode, "unrun") == 0) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, questions) != 0 ||
			socketpair(AF_UNIX, SOCK_STREAM, 0, news) != 0)
			return 2;
		g_thread_new("server", serve, NULL);
		if (is_fine)
			subscribe();
		for (int i = 0; i < ANSWERS; i++)
			ask_for_details();
		g_timeout_add(60, on_start, NULL);
	} else {
		start_child();
	}
	g_main_loop_run(main_loop);
	return 0;
}
