/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: send_quote starts a write while the long history is still being written on the same stream. GLib refuses the
 *     second write (G_IO_ERROR_PENDING), on_quote_written drops the quote instead of queueing it, and the viewer, who
 *     has read all of the history, waits for a quote that nobody sends again.
 *   culprit: send_quote|on_quote_written
 *   victim: viewer|view_quotes
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A stock ticker: a viewer connects, gets the history that it asks for, and then quotes as they come. */
#include <errno.h>
#include <gio/gio.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct ticker {
	GMainLoop *loop;
	GSocketConnection *connection;
	GDataInputStream *input;
	char *history;
	char quote[64];
	int quotes_sent;
};

struct viewer {
	int fd;
	int days;
	int quotes_seen;
};

/* The history has a line of 32 bytes for each minute of trading. */
static char *make_history(int days, size_t *size)
{
	const size_t lines = (size_t)days * 390;
	char *text = malloc(lines * 32 + 8);

	if (!text)
		abort();
	*size = 0;
	for (size_t i = 0; i < lines; i++) {
		memset(text + *size, '.', 31);
		memcpy(text + *size, "minute", 6);
		text[*size + 31] = '\n';
		*size += 32;
	}
	memcpy(text + *size, "end\n", 5);
	*size += 4;
	return text;
}

static void on_history_written(GObject *source, GAsyncResult *result, gpointer data)
{
	struct ticker *ticker = data;
	GError *error = NULL;

	if (!g_output_stream_write_all_finish(G_OUTPUT_STREAM(source), result, NULL, &error)) {
		fprintf(stderr, "ticker: history: %s\n", error->message);
		g_error_free(error);
	}
	free(ticker->history);
	ticker->history = NULL;
}

static __attribute__((noinline)) void send_history(struct ticker *ticker, int days)
{
	GOutputStream *output = g_io_stream_get_output_stream(G_IO_STREAM(ticker->connection));
	size_t size;

	ticker->history = make_history(days, &size);
	g_output_stream_write_all_async(output, ticker->history, size, G_PRIORITY_DEFAULT, NULL,
		on_history_written, ticker);
}

static void on_quote_written(GObject *source, GAsyncResult *result, gpointer data)
{
	struct ticker *ticker = data;
	GError *error = NULL;

	if (g_output_stream_write_all_finish(G_OUTPUT_STREAM(source), result, NULL, &error)) {
		ticker->quotes_sent++;
		return;
	}
	g_debug("quote not sent: %s", error->message);
	g_error_free(error);
}

static gboolean send_quote(gpointer data)
{
	struct ticker *ticker = data;
	GOutputStream *output = g_io_stream_get_output_stream(G_IO_STREAM(ticker->connection));

	snprintf(ticker->quote, sizeof ticker->quote, "quote ACME %d\n",
		4200 + ticker->quotes_sent);
	g_output_stream_write_all_async(output, ticker->quote, strlen(ticker->quote),
		G_PRIORITY_DEFAULT, NULL, on_quote_written, ticker);
	return G_SOURCE_REMOVE;
}

static void on_command(GObject *source, GAsyncResult *result, gpointer data)
{
	struct ticker *ticker = data;
	GError *error = NULL;
	char *line = g_data_input_stream_read_line_finish(G_DATA_INPUT_STREAM(source), result, NULL,
		&error);

	if (!line) {
		if (error) {
			fprintf(stderr, "ticker: %s\n", error->message);
			g_error_free(error);
		}
		g_main_loop_quit(ticker->loop);
		return;
	}
	if (!strncmp(line, "history ", 8)) {
		send_history(ticker, atoi(line + 8));
		g_timeout_add(180, send_quote, ticker); /* the next price comes */
	}
	g_free(line);
	g_data_input_stream_read_line_async(ticker->input, G_PRIORITY_DEFAULT, NULL, on_command,
		ticker);
}

/* A viewer draws its empty chart first, then reads the history and two lines of quotes. */
static void *view_quotes(void *argument)
{
	struct viewer *viewer = argument;
	char line[64];
	FILE *stream;

	pthread_setname_np(pthread_self(), "viewer");
	stream = fdopen(viewer->fd, "r+");
	if (!stream)
		abort();
	if (dprintf(viewer->fd, "history %d\n", viewer->days) < 0)
		abort();
	usleep(400 * 1000);
	while (fgets(line, sizeof line, stream)) {
		if (!strncmp(line, "quote ", 6)) {
			viewer->quotes_seen++;
			break;
		}
	}
	fclose(stream);
	return NULL;
}

int main(int argc, char **argv)
{
	struct ticker ticker = {0};
	struct viewer viewer = {0};
	GError *error = NULL;
	GSocket *socket;
	pthread_t thread;
	int fds[2];

	if (argc != 2)
		return 2;
	viewer.days = !strcmp(argv[1], "broken") ? 60 : 1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return 1;
	viewer.fd = fds[1];
	socket = g_socket_new_from_fd(fds[0], &error);
	if (!socket) {
		fprintf(stderr, "ticker: %s\n", error->message);
		return 1;
	}
	ticker.loop = g_main_loop_new(NULL, FALSE);
	ticker.connection = g_socket_connection_factory_create_connection(socket);
	g_object_unref(socket);
	ticker.input = g_data_input_stream_new(
		g_io_stream_get_input_stream(G_IO_STREAM(ticker.connection)));
	g_data_input_stream_read_line_async(ticker.input, G_PRIORITY_DEFAULT, NULL, on_command,
		&ticker);

	if (pthread_create(&thread, NULL, view_quotes, &viewer))
		return 1;
	g_main_loop_run(ticker.loop);
	pthread_join(thread, NULL);
	printf("%d quotes sent, %d seen\n", ticker.quotes_sent, viewer.quotes_seen);

	g_object_unref(ticker.input);
	g_object_unref(ticker.connection);
	g_main_loop_unref(ticker.loop);
	return viewer.quotes_seen == 1 ? 0 : 1;
}
