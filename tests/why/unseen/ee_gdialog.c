/* SPDX-License-Identifier: ISC */
/*
 * case: healthy
 *   args: healthy
 *   run: kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* A dialog: a handler runs a loop of its own, for long, and is told by a peer meanwhile of things that can wait. */
#include <glib-unix.h>
#include <glib.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
static GMainLoop *outer, *inner;
static int ends[2], ticks;
static gboolean on_tick(gpointer d)
{
	ticks++;
	return G_SOURCE_CONTINUE;
}
static gboolean on_close(gpointer d)
{
	g_main_loop_quit(inner);
	return G_SOURCE_REMOVE;
}
static gboolean on_menu(gpointer d)
{
	inner = g_main_loop_new(NULL, FALSE);
	g_timeout_add(4000, on_close, NULL);
	g_main_loop_run(inner);
	return G_SOURCE_REMOVE;
}
static gboolean on_news(gint fd, GIOCondition c, gpointer d)
{
	char b[8];
	if (read(fd, b, 8) <= 0)
		return G_SOURCE_REMOVE;
	if (write(fd, "k", 1) != 1)
		return G_SOURCE_REMOVE;
	return G_SOURCE_CONTINUE;
}
static void *peer(void *d)
{
	char b;
	for (;;) {
		if (write(ends[1], "n", 1) != 1 || read(ends[1], &b, 1) != 1)
			break;
		usleep(30000);
	}
	return d;
}
int main(void)
{
	pthread_t t;
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	outer = g_main_loop_new(NULL, FALSE);
	g_unix_fd_add(ends[0], G_IO_IN, on_news, NULL);
	g_timeout_add(40, on_tick, NULL);
	g_timeout_add(100, on_menu, NULL);
	pthread_create(&t, NULL, peer, NULL);
	g_main_loop_run(outer);
	return 0;
}
