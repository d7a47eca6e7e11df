/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_upstream_connected does not give back its slot when a mirror refuses. Then no request gets one.
 *   culprit: on_upstream_connected
 *   victim: run_client|on_client_read|on_client
 *   clue: on_upstream_connected began none like
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

enum {
	SLOTS = 2,
	CLIENTS = 3,
	REQUESTS = 40
};

struct fetch {
	uv_tcp_t client;
	uv_tcp_t upstream;
	uv_connect_t connect;
	uv_write_t write;
	struct fetch *next;
	char line[32];
	size_t length;
};

static struct {
	int busy;
	struct fetch *queue;
	struct fetch **queue_end;
	struct sockaddr_in mirrors[2]; /* the second one is down */
} upstream;

static uv_loop_t loop;
static uv_tcp_t gateway;
static uv_async_t quit;
static struct sockaddr_in gateway_address;
static bool broken;
static atomic_int clients_left = CLIENTS;

static void start_fetch(struct fetch *fetch);

static void allocate(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	static char space[512];

	(void)handle, (void)size;
	*buffer = uv_buf_init(space, sizeof(space));
}

static void release_slot(void)
{
	struct fetch *next = upstream.queue;

	upstream.busy--;
	if (!next)
		return;
	upstream.queue = next->next;
	if (!upstream.queue)
		upstream.queue_end = &upstream.queue;
	start_fetch(next);
}

static void answer(struct fetch *fetch, const char *text)
{
	uv_buf_t buffer = uv_buf_init((char *)text, strlen(text));

	uv_try_write((uv_stream_t *)&fetch->client, &buffer, 1);
}

static void on_upstream_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
	struct fetch *fetch = stream->data;

	(void)buffer;
	uv_close((uv_handle_t *)stream, NULL);
	answer(fetch, count > 0 ? "200\n" : "502\n");
	release_slot();
}

static void on_upstream_connected(uv_connect_t *connect, int status)
{
	struct fetch *fetch = connect->data;
	uv_buf_t buffer = uv_buf_init(fetch->line, fetch->length);

	if (status < 0) {
		uv_close((uv_handle_t *)&fetch->upstream, NULL);
		answer(fetch, "503\n");
		if (!broken)
			release_slot();
		return;
	}
	uv_write(&fetch->write, connect->handle, &buffer, 1, NULL);
	uv_read_start(connect->handle, allocate, on_upstream_read);
}

static void start_fetch(struct fetch *fetch)
{
	upstream.busy++;
	uv_tcp_init(&loop, &fetch->upstream);
	fetch->upstream.data = fetch->connect.data = fetch;
	uv_tcp_connect(&fetch->connect, &fetch->upstream,
		(struct sockaddr *)&upstream.mirrors[fetch->line[0] == 'o'], on_upstream_connected);
}

static void on_client_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
	struct fetch *fetch = stream->data;

	if (count < 0) {
		uv_close((uv_handle_t *)stream, NULL);
		return;
	}
	fetch->length = (size_t)count < sizeof(fetch->line) ? (size_t)count : sizeof(fetch->line);
	memcpy(fetch->line, buffer->base, fetch->length);
	if (upstream.busy < SLOTS) {
		start_fetch(fetch);
		return;
	}
	fetch->next = NULL;
	*upstream.queue_end = fetch;
	upstream.queue_end = &fetch->next;
}

static void on_client(uv_stream_t *server, int status)
{
	struct fetch *fetch = calloc(1, sizeof(*fetch));

	(void)status;
	uv_tcp_init(&loop, &fetch->client);
	fetch->client.data = fetch;
	uv_accept(server, (uv_stream_t *)&fetch->client);
	uv_read_start((uv_stream_t *)&fetch->client, allocate, on_client_read);
}

/* The mirror serves one line for each connection. */
static void *run_mirror(void *data)
{
	int peer, listener = (int)(long)data;
	char line[32];
	ssize_t count;

	while ((peer = accept(listener, NULL, NULL)) >= 0) {
		count = read(peer, line, sizeof(line));
		if (count > 0 && write(peer, line, count) < 0)
			perror("mirror");
		close(peer);
	}
	return NULL;
}

static void *run_client(void *data)
{
	int number = (int)(long)data, descriptor = socket(AF_INET, SOCK_STREAM, 0);
	char reply[8];

	if (connect(descriptor, (struct sockaddr *)&gateway_address, sizeof(gateway_address)))
		abort();
	for (int i = 0; i < REQUESTS; i++) {
		const char *line = number == 0 && i % 10 == 4 ? "old/index\n" : "new/index\n";

		if (write(descriptor, line, strlen(line)) < 0 ||
			read(descriptor, reply, sizeof(reply)) <= 0)
			break;
		usleep(2000);
	}
	close(descriptor);
	if (--clients_left == 0)
		uv_async_send(&quit);
	return NULL;
}

static void on_quit(uv_async_t *async)
{
	uv_close((uv_handle_t *)async, NULL);
	uv_close((uv_handle_t *)&gateway, NULL);
}

int main(int argc, char **argv)
{
	pthread_t mirror, clients[CLIENTS];
	int listener = socket(AF_INET, SOCK_STREAM, 0), length = sizeof(gateway_address);

	broken = argc > 1 && !strcmp(argv[1], "broken");
	upstream.queue_end = &upstream.queue;
	listen(listener, 8);
	getsockname(listener, (struct sockaddr *)&upstream.mirrors[0], (socklen_t *)&length);
	uv_ip4_addr("127.0.0.1", 1, &upstream.mirrors[1]);
	uv_ip4_addr("127.0.0.1", 0, &gateway_address);
	uv_loop_init(&loop);
	uv_async_init(&loop, &quit, on_quit);
	uv_tcp_init(&loop, &gateway);
	uv_tcp_bind(&gateway, (struct sockaddr *)&gateway_address, 0);
	uv_tcp_getsockname(&gateway, (struct sockaddr *)&gateway_address, &length);
	uv_listen((uv_stream_t *)&gateway, 16, on_client);
	pthread_create(&mirror, NULL, run_mirror, (void *)(long)listener);
	for (long i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i], NULL, run_client, (void *)i);
	uv_run(&loop, UV_RUN_DEFAULT);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	shutdown(listener, SHUT_RDWR);
	pthread_join(mirror, NULL);
	return 0;
}
