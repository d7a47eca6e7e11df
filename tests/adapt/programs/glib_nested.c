/* SPDX-License-Identifier: ISC */
/*
 * It hangs: a timer asks a server and runs a loop until the answer comes. Within that loop another timer
 * asks for more, and runs a loop, too. The first answer comes, but its loop can't end before the one within
 * it; and the server answers the second question only after the first timer has gone on. With "fine" it
 * answers at once.
 */
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"

static GMainLoop *outermost, *outer, *inner;
static int ends[2];
static gboolean is_fine;

static void put(int end, char letter)
{
	if (write(end, &letter, 1) != 1)
		_exit(2);
}

static char take(int end)
{
	char letter;

	return read(end, &letter, 1) == 1 ? letter : '\0';
}

static gpointer serve(gpointer data)
{
	(void)data;
	for (int i = 0; i < 3; i++) {
		take(ends[1]);
		put(ends[1], 'x');
	}
	take(ends[1]);
	take(ends[1]);
	put(ends[1], 'o');
	if (!is_fine)
		take(ends[1]);
	put(ends[1], 'i');
	if (is_fine)
		take(ends[1]);
	return NULL;
}

static gboolean on_answer(gint end, GIOCondition condition, gpointer data)
{
	(void)condition;
	(void)data;
	g_main_loop_quit(take(end) == 'i' ? inner : outer);
	return G_SOURCE_CONTINUE;
}

static void ask(GMainLoop *loop)
{
	put(ends[0], '?');
	g_main_loop_run(loop);
}

static gboolean on_more(gpointer data)
{
	(void)data;
	ask(inner);
	return G_SOURCE_REMOVE;
}

static gboolean on_first(gpointer data)
{
	(void)data;
	for (int i = 0; i < 3; i++)
		ask(outer);
	g_timeout_add(1, on_more, NULL);
	ask(outer);
	put(ends[0], '!');
	g_main_loop_quit(outermost);
	return G_SOURCE_REMOVE;
}

int main(int argc, char **argv)
{
	GThread *server;

	is_fine = argc > 1 && strcmp(argv[1], "fine") == 0;
	end_after(5);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return 2;
	outermost = g_main_loop_new(NULL, FALSE);
	outer = g_main_loop_new(NULL, FALSE);
	inner = g_main_loop_new(NULL, FALSE);
	server = g_thread_new("server", serve, NULL);
	g_unix_fd_add(ends[0], G_IO_IN, on_answer, NULL);
	g_timeout_add(1, on_first, NULL);
	g_main_loop_run(outermost);
	g_thread_join(server);
	return 0;
}
