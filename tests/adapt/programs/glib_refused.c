/* SPDX-License-Identifier: ISC */
/*
 * A loop sends a long text, and a line while that is still under way: so GIO refuses the line. As the first
 * argument says, nobody sends it again (drop), the callback does (again), or a timer does so later (later). A
 * thread reads up to the line. SIGALRM ends the program.
 */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"

#define LONG 4000000

static GMainLoop *loop;
static GOutputStream *output;
static const char *way;
static char text[LONG];
static int refused;

static void send_line(void);

static gboolean send_later(gpointer data)
{
	(void)data;
	send_line();
	return G_SOURCE_REMOVE;
}

static void on_text(GObject *source, GAsyncResult *result, gpointer data)
{
	g_output_stream_write_all_finish(G_OUTPUT_STREAM(source), result, NULL, NULL);
	if (refused && strcmp(way, "again") == 0)
		send_line();
	else if (refused && strcmp(way, "later") == 0)
		g_timeout_add_seconds(60, send_later, data);
}

static void on_line(GObject *source, GAsyncResult *result, gpointer data)
{
	(void)data;
	if (!g_output_stream_write_all_finish(G_OUTPUT_STREAM(source), result, NULL, NULL))
		refused++;
}

static __attribute__((noinline)) void send_line(void)
{
	g_output_stream_write_all_async(output, "line\n", 5, G_PRIORITY_DEFAULT, NULL, on_line,
		NULL);
}

static gboolean send_both(gpointer data)
{
	memset(text, '.', LONG);
	g_output_stream_write_all_async(output, text, LONG, G_PRIORITY_DEFAULT, NULL, on_text,
		data);
	send_line();
	return G_SOURCE_REMOVE;
}

static gboolean quit(gpointer data)
{
	(void)data;
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static gpointer read_line(gpointer argument)
{
	char part[65536] = ".";
	ssize_t size = 1;

	g_usleep(200000);
	while (size > 0 && part[size - 1] != '\n')
		size = read(GPOINTER_TO_INT(argument), part, sizeof part);
	g_idle_add(quit, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	GSocketConnection *connection;
	GThread *reader;
	GSocket *socket;
	int fds[2];

	way = argc > 1 ? argv[1] : "again";
	end_after(strcmp(way, "again") == 0 ? 30 : 5);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
		return 1;
	loop = g_main_loop_new(NULL, FALSE);
	socket = g_socket_new_from_fd(fds[0], NULL);
	connection = g_socket_connection_factory_create_connection(socket);
	output = g_io_stream_get_output_stream(G_IO_STREAM(connection));
	reader = g_thread_new("reader", read_line, GINT_TO_POINTER(fds[1]));
	g_idle_add(send_both, NULL);
	g_main_loop_run(loop);
	g_thread_join(reader);
	printf("refused %d\n", refused);
	return 0;
}
