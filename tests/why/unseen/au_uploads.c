/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: upload_abort of upload 21 forgets to give back its reference to the connection, so connection 2
 *     is never closed, and the drain waits for it for ever
 *   culprit: upload 21|upload_abort
 *   victim: connection 2|drain
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* An upload server on libuv: it stores what it gets and ends when all connections are closed. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <unistd.h>
#include <uv.h>

#define CONNECTIONS 4

struct server {
	uv_loop_t loop;
	uv_timer_t statistics;
	int open, stored, aborted;
	thrum_task drain;
};

struct connection {
	uv_pipe_t pipe;
	struct server *server;
	int number, uploads, references;
	struct upload *upload; /* the one that comes in now */
	thrum_task task;
	char buffer[256];
};

struct upload {
	uv_timer_t disk;
	struct connection *connection;
	int number;
	size_t size;
	thrum_task task;
};

static bool abort_unrefs;

static void on_connection_closed(uv_handle_t *handle)
{
	struct connection *connection = handle->data;
	struct server *server = connection->server;

	thrum_task_resolve(connection->task);
	free(connection);
	if (--server->open == 0) {
		thrum_task_resolve(server->drain);
		uv_close((uv_handle_t *)&server->statistics, NULL);
	}
}

/* A connection lives until the peer has ended it and all of its uploads are stored. */
static void connection_unref(struct connection *connection)
{
	if (--connection->references == 0)
		uv_close((uv_handle_t *)&connection->pipe, on_connection_closed);
}

static void on_upload_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void upload_begin(struct connection *connection)
{
	struct upload *upload = calloc(1, sizeof(*upload));

	upload->connection = connection;
	upload->number = connection->number * 10 + connection->uploads++;
	uv_timer_init(&connection->server->loop, &upload->disk);
	upload->disk.data = upload;
	connection->references++;
	connection->upload = upload;
	upload->task = thrum_task_createf(THRUM_KIND_TASK, "upload %d", upload->number);
	thrum_task_should_resolve(upload->task);
}

/* The disk has it. */
static void upload_stored(uv_timer_t *timer)
{
	struct upload *upload = timer->data;
	struct connection *connection = upload->connection;

	THRUM_RUN (upload->task) {
		connection->server->stored++;
		thrum_task_resolve(upload->task);
		uv_close((uv_handle_t *)&upload->disk, on_upload_closed);
		connection_unref(connection);
	}
}

static void upload_end(struct upload *upload)
{
	upload->connection->upload = NULL;
	uv_timer_start(&upload->disk, upload_stored, 4 + upload->size % 13, 0);
}

/* The peer doesn't want it any more. */
static void upload_abort(struct upload *upload)
{
	struct connection *connection = upload->connection;

	THRUM_RUN (upload->task) {
		connection->upload = NULL;
		connection->server->aborted++;
		thrum_task_cancel(upload->task);
		uv_close((uv_handle_t *)&upload->disk, on_upload_closed);
		if (abort_unrefs)
			connection_unref(connection);
	}
}

/* The protocol: B begins an upload, D is data, E ends it, A aborts it. */
static void on_byte(struct connection *connection, char byte)
{
	switch (byte) {
	case 'B': upload_begin(connection); break;
	case 'D': connection->upload->size++; break;
	case 'E': upload_end(connection->upload); break;
	case 'A': upload_abort(connection->upload); break;
	}
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	struct connection *connection = handle->data;

	(void)suggested;
	*buffer = uv_buf_init(connection->buffer, sizeof(connection->buffer));
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct connection *connection = stream->data;

	if (size < 0) {
		uv_read_stop(stream);
		connection_unref(connection);
		return;
	}
	for (ssize_t i = 0; i < size; i++)
		on_byte(connection, buffer->base[i]);
}

static void connection_open(struct server *server, int number, int descriptor)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	connection->server = server;
	connection->number = number;
	connection->references = 1;
	uv_pipe_init(&server->loop, &connection->pipe, 0);
	connection->pipe.data = connection;
	uv_pipe_open(&connection->pipe, descriptor);
	uv_read_start((uv_stream_t *)&connection->pipe, on_alloc, on_read);
	connection->task = thrum_task_createf(THRUM_KIND_HANDLE, "connection %d", number);
	thrum_task_wait(server->drain, connection->task);
	server->open++;
}

/* All the peers: what each of them sends, a byte each 2 ms. */
static void *peers(void *data)
{
	static const char *const scripts[CONNECTIONS] = {
		"BDDDE.BDE.BDDE",
		"BDE.BDDDDE.BDDDDE.BDDE",
		"BDDE.BDDDA.BDDDE",
		"BDDE.BDDE",
	};
	const int *descriptors = data;

	for (int step = 0; step < 32; step++) {
		for (int i = 0; i < CONNECTIONS; i++) {
			int length = (int)strlen(scripts[i]);

			if (step < length && write(descriptors[i], &scripts[i][step], 1) != 1)
				return NULL;
			if (step == length)
				close(descriptors[i]);
		}
		usleep(2000);
	}
	return NULL;
}

static void on_statistics(uv_timer_t *timer)
{
	struct server *server = timer->data;

	if (getenv("UPLOADS_VERBOSE"))
		fprintf(stderr, "%d open, %d stored\n", server->open, server->stored);
}

int main(int argc, char **argv)
{
	static struct server server;
	int ends[2], descriptors[CONNECTIONS];
	pthread_t thread;

	if (argc != 2)
		return 2;
	abort_unrefs = strcmp(argv[1], "broken") != 0;
	thrum_start(NULL);
	uv_loop_init(&server.loop);
	uv_timer_init(&server.loop, &server.statistics);
	server.statistics.data = &server;
	uv_timer_start(&server.statistics, on_statistics, 100, 100);
	server.drain = thrum_task_create(THRUM_KIND_JOIN, "drain");
	thrum_task_should_resolve(server.drain);
	for (int i = 0; i < CONNECTIONS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		descriptors[i] = ends[1];
		connection_open(&server, i, ends[0]);
	}
	pthread_create(&thread, NULL, peers, descriptors);
	uv_run(&server.loop, UV_RUN_DEFAULT);
	thrum_stop();
	pthread_join(thread, NULL);
	uv_loop_close(&server.loop);
	printf("%d stored, %d aborted\n", server.stored, server.aborted);
	return 0;
}
