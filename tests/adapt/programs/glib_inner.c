/* SPDX-License-Identifier: ISC */
/*
 * It hangs: the callback of a watch runs a main loop until the peer's answer comes, but GLib doesn't call it
 * for that before it returns. With an argument the answer may wait, and a timer ends the loop.
 */
#include <glib-unix.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define LETTERS 12

static GMainLoop *outer, *inner;
static int ends[2], letters;

static gboolean on_tick(gpointer data)
{
	(void)data;
	return G_SOURCE_CONTINUE;
}

static gboolean quit(gpointer loop)
{
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static void ask_again(gboolean is_timed)
{
	inner = g_main_loop_new(NULL, FALSE);
	if (is_timed)
		g_timeout_add(50, quit, inner);
	g_main_loop_run(inner);
	g_main_loop_unref(inner);
}

static gboolean on_letter(gint descriptor, GIOCondition condition, gpointer is_timed)
{
	char letter;

	(void)condition;
	if (read(descriptor, &letter, 1) != 1 || write(descriptor, "k", 1) != 1)
		return G_SOURCE_REMOVE;
	if (++letters == LETTERS - 2)
		ask_again(is_timed != NULL);
	if (letters == LETTERS)
		g_main_loop_quit(outer);
	return G_SOURCE_CONTINUE;
}

/* Sends a letter once the one before is answered. */
static void *send_letters(void *data)
{
	char answer;

	for (int i = 0; i < LETTERS; i++) {
		g_usleep(2000); /* so that the loop waits again */
		if (write(ends[1], "l", 1) != 1 || read(ends[1], &answer, 1) != 1)
			break;
	}
	return data;
}

int main(int argc, char **argv)
{
	pthread_t peer;

	if (argc < 2)
		alarm(2);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return 1;
	outer = g_main_loop_new(NULL, FALSE);
	g_unix_fd_add(ends[0], G_IO_IN, on_letter, argc > 1 ? argv[1] : NULL);
	g_timeout_add(100, on_tick, NULL);
	pthread_create(&peer, NULL, send_letters, NULL);
	g_main_loop_run(outer);
	pthread_join(peer, NULL);
	g_main_loop_unref(outer);
	printf("%d letters\n", letters);
	return 0;
}
