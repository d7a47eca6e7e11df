/* SPDX-License-Identifier: ISC */
/*
 * A main loop that loses a source, as its callback says that it is done. It knows nothing of thrum. Where it
 * hangs, SIGALRM ends it: without a handler, as threads whose calls a handler might end don't look.
 *
 * glib_removed fd		a source of a descriptor
 * glib_removed channel		a watch of a channel
 * glib_removed socket		a source of a GSocket
 * glib_removed stream		a stream, from which it reads no more
 *
 * With `fine`: the callback says that it goes on. Then this ends, too:
 *
 * glib_removed paused		the source comes again by a timeout
 */
#define _GNU_SOURCE
#include <gio/gio.h>
#include <glib-unix.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"

#define PAUSE 900 /* ms: as long as a timeout may take */

static gboolean is_fine, is_paused;
static int ends[2];
static GMainLoop *loop;

static gboolean on_question(gint fd, GIOCondition condition, gpointer data);

static gboolean on_pause_over(gpointer data)
{
	g_unix_fd_add(ends[0], G_IO_IN, on_question, data);
	return G_SOURCE_REMOVE;
}

static gboolean on_question(gint fd, GIOCondition condition, gpointer data)
{
	char byte;

	(void)condition;
	if (recv(fd, &byte, 1, MSG_DONTWAIT) != 1) {
		g_main_loop_quit(loop);
		return G_SOURCE_REMOVE;
	}
	if (send(fd, "!", 1, 0) != 1)
		abort();
	if (byte == 'x' && is_paused)
		g_timeout_add(PAUSE, on_pause_over, data);
	return byte != 'x' || (is_fine && !is_paused);
}

static gboolean on_line(GIOChannel *channel, GIOCondition condition, gpointer data)
{
	return on_question(g_io_channel_unix_get_fd(channel), condition, data);
}

static gboolean on_packet(GSocket *socket, GIOCondition condition, gpointer data)
{
	return on_question(g_socket_get_fd(socket), condition, data);
}

static char byte_of_stream;

/* The callback of a read. */
static void on_bytes(GObject *object, GAsyncResult *result, gpointer data)
{
	GInputStream *stream = G_INPUT_STREAM(object);
	char byte = byte_of_stream;

	if (g_input_stream_read_finish(stream, result, NULL) != 1) {
		g_main_loop_quit(loop);
		return;
	}
	if (send(ends[0], "!", 1, 0) != 1)
		abort();
	if (byte != 'x' || is_fine)
		g_input_stream_read_async(stream, &byte_of_stream, 1, 0, NULL, on_bytes, data);
}

static void read_stream(void)
{
	GSocket *socket = g_socket_new_from_fd(ends[0], NULL);
	GSocketConnection *connection = g_socket_connection_factory_create_connection(socket);
	GInputStream *stream = g_io_stream_get_input_stream(G_IO_STREAM(connection));

	g_input_stream_read_async(stream, &byte_of_stream, 1, 0, NULL, on_bytes, NULL);
}

static gpointer ask(gpointer unused)
{
	const char *question = "aaxaa";
	char byte;

	for (; *question; question++)
		if (send(ends[1], question, 1, 0) != 1 || recv(ends[1], &byte, 1, 0) != 1)
			abort();
	shutdown(ends[1], SHUT_WR);
	return unused;
}

static gboolean on_tick(gpointer unused)
{
	(void)unused;
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	GThread *client;

	is_fine = argc > 2;
	is_paused = strcmp(name, "paused") == 0;
	if (!is_fine)
		end_after(6);
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	loop = g_main_loop_new(NULL, FALSE);
	if (strcmp(name, "channel") == 0) {
		GIOChannel *channel = g_io_channel_unix_new(ends[0]);

		g_io_add_watch(channel, G_IO_IN | G_IO_HUP, on_line, NULL);
		g_io_channel_unref(channel);
	} else if (strcmp(name, "socket") == 0) {
		GSocket *socket = g_socket_new_from_fd(ends[0], NULL);
		GSource *source = g_socket_create_source(socket, G_IO_IN | G_IO_HUP, NULL);

		g_source_set_callback(source, (GSourceFunc)(void (*)(void))on_packet, NULL, NULL);
		g_source_attach(source, NULL);
		g_source_unref(source);
	} else if (strcmp(name, "stream") == 0) {
		read_stream();
	} else {
		g_unix_fd_add(ends[0], G_IO_IN, on_question, NULL);
		g_timeout_add(10, on_tick, NULL);
	}
	client = g_thread_new("client", ask, NULL);
	g_main_loop_run(loop);
	g_thread_join(client);
	return 0;
}
