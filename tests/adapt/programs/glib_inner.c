/* SPDX-License-Identifier: ISC */
/*
 * It hangs: the callback of a watch runs a main loop until the peer's answer comes, but GLib doesn't call it
 * for that before it returns. Nothing else comes ("alone"), the callback runs the loop turn by turn
 * ("turns"), or the loop has a timer. With "timed" the answer may wait, and a timer ends the loop. With
 * "recurses" GLib calls the callback again meanwhile. With "copy" the peer has another descriptor of its end.
 * With "iterates" the program runs GLib's loop by its own until a thread wakes it.
 */
#include <glib-unix.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"

#define LETTERS 12

static GMainLoop *outer, *inner;
static int ends[2], letters;
static const char *way = "";

static gboolean is(const char *other)
{
	return strcmp(way, other) == 0;
}

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

static void ask_again(void)
{
	inner = g_main_loop_new(NULL, FALSE);
	if (is("timed"))
		g_timeout_add(50, quit, inner);
	g_main_loop_run(inner);
	g_main_loop_unref(inner);
}

/* Until all letters have come. */
static void take_turns(void)
{
	while (letters < LETTERS)
		g_main_context_iteration(NULL, TRUE);
}

static gboolean on_letter(gint descriptor, GIOCondition condition, gpointer data)
{
	char letter;

	(void)condition;
	(void)data;
	if (read(descriptor, &letter, 1) != 1 || write(descriptor, "k", 1) != 1)
		return G_SOURCE_REMOVE;
	letters++;
	if (letters == LETTERS - 1 && is("recurses"))
		g_main_loop_quit(inner);
	else if (letters == LETTERS - 2 && is("turns"))
		take_turns();
	else if (letters == LETTERS - 2)
		ask_again();
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

static void *finish(void *is_over)
{
	g_usleep(50000);
	g_atomic_int_set((int *)is_over, 1);
	g_main_context_wakeup(NULL);
	return NULL;
}

static int iterate(void)
{
	int is_over = 0;
	pthread_t finisher;

	pthread_create(&finisher, NULL, finish, &is_over);
	while (!g_atomic_int_get(&is_over))
		g_main_context_iteration(NULL, TRUE);
	return pthread_join(finisher, NULL);
}

static void watch(void)
{
	GSource *source = g_unix_fd_source_new(ends[0], G_IO_IN);

	g_source_set_callback(source, (GSourceFunc)(void (*)(void))on_letter, NULL, NULL);
	g_source_set_can_recurse(source, is("recurses"));
	g_source_attach(source, NULL);
	g_source_unref(source);
}

int main(int argc, char **argv)
{
	pthread_t peer;

	if (argc > 1)
		way = argv[1];
	if (is("iterates"))
		return iterate();
	if (!is("timed") && !is("recurses"))
		end_after(2);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return 1;
	if (is("copy"))
		ends[1] = dup(ends[1]);
	outer = g_main_loop_new(NULL, FALSE);
	watch();
	if (!is("alone"))
		g_timeout_add(100, on_tick, NULL);
	pthread_create(&peer, NULL, send_letters, NULL);
	g_main_loop_run(outer);
	pthread_join(peer, NULL);
	g_main_loop_unref(outer);
	printf("%d letters\n", letters);
	return 0;
}
