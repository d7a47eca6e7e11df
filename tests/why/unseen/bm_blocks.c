/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The server stops reading (uv_read_stop) while too many blocks wait to be stored, and on_stored reads
 *     on when there are few; but for a duplicate block it returns before that. When the last of them are
 *     duplicates, nobody calls uv_read_start again: the rest is never read, and the client's receipt never
 *     comes.
 *   culprit: on_stored|on_data|uv_read_st|on_connection
 *   victim: on_answer|client
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Uploads blocks over a connection: the server stores them in the thread pool, and holds the sender back when it is slow. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define BLOCK 16384
#define BLOCKS 240
#define HIGH 8
#define LOW 3

struct job {
	uv_work_t work;
	struct server *server;
	char *data;
	size_t size;
	unsigned digest;
};

struct server {
	uv_tcp_t listener;
	uv_tcp_t connection;
	uv_write_t receipt;
	unsigned last;
	int pending;
	int stored;
	int duplicates;
	bool paused;
	bool ended;
	bool thorough;
};

struct client {
	uv_tcp_t connection;
	uv_connect_t connect;
	uv_write_t write;
	uv_shutdown_t shutdown;
	char block[BLOCK];
	char answer[32];
	int sent;
};

static struct server server;
static struct client client;
static uv_timer_t ticker;

static void on_data(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static void get_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	(void)handle;
	(void)size;
	*buffer = uv_buf_init(malloc(BLOCK), BLOCK);
}

/* ---- server ---- */

static void on_receipt(uv_write_t *write, int status)
{
	(void)status;
	uv_close((uv_handle_t *)write->handle, NULL);
	uv_close((uv_handle_t *)&server.listener, NULL);
}

static void send_receipt(void)
{
	uv_buf_t text = uv_buf_init((char *)"stored\n", 7);

	uv_write(&server.receipt, (uv_stream_t *)&server.connection, &text, 1, on_receipt);
}

static void store(uv_work_t *work)
{
	struct job *job = work->data;

	job->digest = 5381;
	for (size_t i = 0; i < job->size; i++)
		job->digest = job->digest * 33 + (unsigned char)job->data[i];
	uv_sleep(1);
}

static void on_stored(uv_work_t *work, int status)
{
	struct job *job = work->data;
	bool duplicate = job->digest == server.last;

	(void)status;
	server.pending--;
	server.last = job->digest;
	free(job->data);
	free(job);
	if (duplicate) {
		server.duplicates++;
		if (!server.thorough)
			return;
	} else {
		server.stored++;
	}
	if (server.paused && server.pending <= LOW) {
		server.paused = false;
		uv_read_start((uv_stream_t *)&server.connection, get_buffer, on_data);
	}
	if (server.ended && !server.pending)
		send_receipt();
}

static void on_data(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct job *job;

	if (size <= 0) {
		free(buffer->base);
		if (size == 0)
			return;
		uv_read_stop(stream);
		server.ended = true;
		if (!server.pending)
			send_receipt();
		return;
	}
	job = calloc(1, sizeof *job);
	job->work.data = job;
	job->data = buffer->base;
	job->size = (size_t)size;
	server.pending++;
	uv_queue_work(stream->loop, &job->work, store, on_stored);
	if (server.pending >= HIGH) {
		uv_read_stop(stream);
		server.paused = true;
	}
}

static void on_connection(uv_stream_t *listener, int status)
{
	if (status)
		exit(1);
	uv_tcp_init(listener->loop, &server.connection);
	uv_accept(listener, (uv_stream_t *)&server.connection);
	uv_read_start((uv_stream_t *)&server.connection, get_buffer, on_data);
}

/* ---- client ---- */

static void on_answer(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	if (size > 0)
		printf("client: %.*s", (int)size, buffer->base);
	free(buffer->base);
	if (size < 0) {
		uv_close((uv_handle_t *)stream, NULL);
		uv_close((uv_handle_t *)&ticker, NULL);
	}
}

static void on_written(uv_write_t *write, int status);

static void client_send(void)
{
	uv_buf_t buffer = uv_buf_init(client.block, BLOCK);

	if (client.sent == BLOCKS) {
		uv_shutdown(&client.shutdown, (uv_stream_t *)&client.connection, NULL);
		return;
	}
	memset(client.block, client.sent < BLOCKS / 4 ? client.sent : 0, BLOCK);
	client.sent++;
	uv_write(&client.write, (uv_stream_t *)&client.connection, &buffer, 1, on_written);
}

static void on_written(uv_write_t *write, int status)
{
	(void)write;
	if (status)
		exit(1);
	client_send();
}

static void on_connected(uv_connect_t *connect, int status)
{
	if (status)
		exit(1);
	uv_read_start(connect->handle, get_buffer, on_answer);
	client_send();
}

static void on_tick(uv_timer_t *timer)
{
	(void)timer;
	printf("%d sent, %d stored, %d duplicates\n", client.sent, server.stored,
		server.duplicates);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	struct sockaddr_in address;
	struct sockaddr_storage bound;
	int size = sizeof bound;

	if (argc < 2)
		return 2;
	server.thorough = !strcmp(argv[1], "healthy");
	uv_ip4_addr("127.0.0.1", 0, &address);
	uv_tcp_init(loop, &server.listener);
	uv_tcp_bind(&server.listener, (struct sockaddr *)&address, 0);
	if (uv_listen((uv_stream_t *)&server.listener, 8, on_connection))
		return 1;
	uv_tcp_getsockname(&server.listener, (struct sockaddr *)&bound, &size);
	uv_tcp_init(loop, &client.connection);
	uv_tcp_connect(&client.connect, &client.connection, (struct sockaddr *)&bound,
		on_connected);
	uv_timer_init(loop, &ticker);
	uv_timer_start(&ticker, on_tick, 40, 40);
	uv_run(loop, UV_RUN_DEFAULT);
	printf("%d stored, %d duplicates\n", server.stored, server.duplicates);
	return 0;
}
