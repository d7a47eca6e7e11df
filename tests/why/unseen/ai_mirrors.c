/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The user cancels the downloads. The handler on_cancelled finishes its download at once, and finish_download
 *     calls g_cancellable_disconnect, which waits until no handler of the cancellable runs: the main thread waits for
 *     itself, inside g_cancellable_cancel.
 *   culprit: on_cancelled|finish_download|g_cancellable_disconnect|g_cancellable_cancel
 *   victim: mirror|read_more|on_read
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* mirrors: downloads files from several mirrors at once; what isn't there after some time is cancelled. */
#include <errno.h>
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MIRRORS 3
#define CHUNK 2048
#define CHUNK_EVERY_MS 30
#define PATIENCE_MS 400

struct mirror {
	const char *name;
	unsigned chunks;
	int socket;
	GThread *thread;
};

struct batch {
	GMainLoop *loop;
	GCancellable *cancellable;
	unsigned running, complete, cancelled;
	guint patience;
};

struct download {
	struct batch *batch;
	const char *name;
	GSocketConnection *connection;
	gulong cancel_handler;
	gboolean reading, finished;
	gsize received;
	char buffer[CHUNK];
};

/* ---- The mirrors: a thread for each ---- */

__attribute__((noinline)) void serve_file(struct mirror *mirror)
{
	char chunk[CHUNK];

	memset(chunk, 'f', sizeof chunk);
	for (unsigned i = 0; i < mirror->chunks; i++) {
		g_usleep(CHUNK_EVERY_MS * 1000);
		if (send(mirror->socket, chunk, sizeof chunk, MSG_NOSIGNAL) < 0)
			break;
	}
	close(mirror->socket);
}

static gpointer run_mirror(gpointer data)
{
	serve_file(data);
	return NULL;
}

/* ---- Downloads ---- */

static void free_if_unused(struct download *download)
{
	if (!download->finished || download->reading)
		return;
	g_object_unref(download->connection);
	g_free(download);
}

/* Ends a download, and the program with the last one. */
__attribute__((noinline)) void finish_download(struct download *download, const char *how)
{
	struct batch *batch = download->batch;

	if (download->finished)
		return;
	download->finished = TRUE;
	g_cancellable_disconnect(batch->cancellable, download->cancel_handler);
	printf("%s: %s, %u bytes\n", download->name, how, (unsigned)download->received);
	g_io_stream_close(G_IO_STREAM(download->connection), NULL, NULL);
	if (--batch->running == 0) {
		if (batch->patience != 0)
			g_source_remove(batch->patience);
		batch->patience = 0;
		g_main_loop_quit(batch->loop);
	}
}

__attribute__((noinline)) void on_cancelled(GCancellable *cancellable, struct download *download)
{
	(void)cancellable;
	download->batch->cancelled++;
	finish_download(download, "cancelled");
}

__attribute__((noinline)) void read_more(struct download *download);

__attribute__((noinline)) void on_read(GObject *stream, GAsyncResult *result, gpointer data)
{
	struct download *download = data;
	GError *error = NULL;
	gssize size = g_input_stream_read_finish(G_INPUT_STREAM(stream), result, &error);

	download->reading = FALSE;
	if (size > 0 && !download->finished) {
		download->received += (gsize)size;
		read_more(download);
		return;
	}
	if (size == 0) {
		download->batch->complete++;
		finish_download(download, "complete");
	} else if (error) {
		finish_download(download, error->message);
	}
	g_clear_error(&error);
	free_if_unused(download);
}

void read_more(struct download *download)
{
	GInputStream *in = g_io_stream_get_input_stream(G_IO_STREAM(download->connection));

	download->reading = TRUE;
	g_input_stream_read_async(in, download->buffer, sizeof download->buffer, G_PRIORITY_DEFAULT,
		download->batch->cancellable, on_read, download);
}

__attribute__((noinline)) gboolean start_download(struct batch *batch, const char *name, int fd)
{
	struct download *download = g_new0(struct download, 1);
	GSocket *socket = g_socket_new_from_fd(fd, NULL);

	if (!socket) {
		g_free(download);
		close(fd);
		return FALSE;
	}
	download->batch = batch;
	download->name = name;
	download->connection = g_socket_connection_factory_create_connection(socket);
	g_object_unref(socket);
	batch->running++;
	download->cancel_handler = g_cancellable_connect(batch->cancellable,
		G_CALLBACK(on_cancelled), download, NULL);
	read_more(download);
	return TRUE;
}

/* The user doesn't want to wait any longer. */
__attribute__((noinline)) gboolean on_out_of_patience(gpointer data)
{
	struct batch *batch = data;

	batch->patience = 0;
	g_cancellable_cancel(batch->cancellable);
	return G_SOURCE_REMOVE;
}

__attribute__((noinline)) gboolean connect_mirror(struct batch *batch, struct mirror *mirror)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
		fprintf(stderr, "mirrors: %s\n", strerror(errno));
		return FALSE;
	}
	mirror->socket = ends[0];
	mirror->thread = g_thread_new(mirror->name, run_mirror, mirror);
	return start_download(batch, mirror->name, ends[1]);
}

int main(int argc, char **argv)
{
	struct mirror mirrors[MIRRORS] = {
		{.name = "mirror-fr", .chunks = 3},
		{.name = "mirror-se", .chunks = 5},
		{.name = "mirror-nz", .chunks = 4},
	};
	struct batch batch = {0};

	if (argc != 2) {
		fprintf(stderr, "usage: mirrors broken|healthy\n");
		return 2;
	}
	if (strcmp(argv[1], "broken") == 0)
		mirrors[2].chunks = 30;
	batch.loop = g_main_loop_new(NULL, FALSE);
	batch.cancellable = g_cancellable_new();
	for (unsigned i = 0; i < MIRRORS; i++)
		if (!connect_mirror(&batch, &mirrors[i]))
			return 1;
	batch.patience = g_timeout_add(PATIENCE_MS, on_out_of_patience, &batch);
	g_main_loop_run(batch.loop);
	for (unsigned i = 0; i < MIRRORS; i++)
		g_thread_join(mirrors[i].thread);
	printf("%u complete, %u cancelled\n", batch.complete, batch.cancelled);
	g_object_unref(batch.cancellable);
	g_main_loop_unref(batch.loop);
	return 0;
}
