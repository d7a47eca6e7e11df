/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_status handles a reply 304 without a body and returns without giving the agent's socket back.
 *          After two such replies both sockets of the agent are lost, and the queued fetches never start.
 *   culprit: on_status
 *   victim: fetch_pages
 *   clue: read on_status began none like “write .*8 other such runs began one
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

/* A front end fetches pages from its origin through an agent that keeps two sockets alive. */
enum {
	SOCKETS = 2,
	PAGES = 14
};

struct agent_socket {
	uv_tcp_t tcp;
	uv_connect_t connect;
	uv_write_t write;
	char question[32];
	int page;
	bool busy, open;
};

struct origin_client {
	uv_tcp_t tcp;
	uv_timer_t think;
	uv_write_t write;
	char answer[64];
	int page;
};

static uv_loop_t io;
static uv_async_t submitted, quit;
static uv_tcp_t origin;
static struct sockaddr_in origin_address;
static struct agent_socket sockets[SOCKETS];
static int queue[PAGES], queue_head, queue_tail;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t page_done = PTHREAD_COND_INITIALIZER;
static int pages_done;
static bool healthy;

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	static char space[4096];

	(void)handle, (void)size;
	*buf = uv_buf_init(space, sizeof space);
}

/* The origin answers after a few milliseconds. */
static void send_answer(uv_timer_t *timer)
{
	struct origin_client *client = timer->data;
	uv_buf_t buf;

	snprintf(client->answer, sizeof client->answer,
		client->page % 5 == 4 ? "304\n" : "200\nbody of page\n");
	buf = uv_buf_init(client->answer, strlen(client->answer));
	uv_write(&client->write, (uv_stream_t *)&client->tcp, &buf, 1, NULL);
}

static void on_question(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
	struct origin_client *client = stream->data;

	if (size <= 0)
		return;
	buf->base[size] = 0;
	client->page = atoi(buf->base + 4);
	uv_timer_start(&client->think, send_answer, 4, 0);
}

static void on_client(uv_stream_t *server, int status)
{
	struct origin_client *client = calloc(1, sizeof *client);

	(void)status;
	uv_tcp_init(server->loop, &client->tcp);
	uv_timer_init(server->loop, &client->think);
	client->tcp.data = client->think.data = client;
	uv_accept(server, (uv_stream_t *)&client->tcp);
	uv_read_start((uv_stream_t *)&client->tcp, on_alloc, on_question);
}

static void on_status(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf);

static void ask(struct agent_socket *socket)
{
	uv_buf_t buf;

	snprintf(socket->question, sizeof socket->question, "GET %d\n", socket->page);
	buf = uv_buf_init(socket->question, strlen(socket->question));
	uv_read_start((uv_stream_t *)&socket->tcp, on_alloc, on_status);
	uv_write(&socket->write, (uv_stream_t *)&socket->tcp, &buf, 1, NULL);
}

static void on_connected(uv_connect_t *request, int status)
{
	if (status == 0)
		ask(request->data);
}

static void start_next(uv_async_t *unused)
{
	(void)unused;
	for (int i = 0; i < SOCKETS; i++) {
		struct agent_socket *socket = &sockets[i];
		int page = -1;

		pthread_mutex_lock(&lock);
		if (!socket->busy && queue_head < queue_tail)
			page = queue[queue_head++];
		pthread_mutex_unlock(&lock);
		if (page < 0)
			continue;
		socket->busy = true;
		socket->page = page;
		if (socket->open) {
			ask(socket);
			continue;
		}
		socket->open = true;
		uv_tcp_init(&io, &socket->tcp);
		socket->tcp.data = socket->connect.data = socket;
		uv_tcp_connect(&socket->connect, &socket->tcp, (void *)&origin_address,
			on_connected);
	}
}

static void on_status(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
	struct agent_socket *socket = stream->data;

	if (size < 4)
		return;
	pthread_mutex_lock(&lock);
	pages_done++;
	pthread_cond_signal(&page_done);
	pthread_mutex_unlock(&lock);
	if (memcmp(buf->base, "304", 3) == 0 && !healthy)
		return; /* no body follows: the copy in the cache is still good */
	socket->busy = false;
	start_next(NULL);
}

static void on_quit(uv_async_t *async)
{
	uv_stop(async->loop);
}

static void *run_io(void *unused)
{
	(void)unused;
	uv_run(&io, UV_RUN_DEFAULT);
	return NULL;
}

static void fetch_pages(void)
{
	pthread_mutex_lock(&lock);
	for (int page = 0; page < PAGES; page++)
		queue[queue_tail++] = page;
	uv_async_send(&submitted);
	while (pages_done < PAGES)
		pthread_cond_wait(&page_done, &lock);
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	int length = sizeof origin_address;
	pthread_t thread;

	healthy = argc > 1 && strcmp(argv[1], "healthy") == 0;
	uv_loop_init(&io);
	uv_async_init(&io, &submitted, start_next);
	uv_async_init(&io, &quit, on_quit);
	uv_tcp_init(&io, &origin);
	uv_ip4_addr("127.0.0.1", 0, &origin_address);
	uv_tcp_bind(&origin, (struct sockaddr *)&origin_address, 0);
	uv_listen((uv_stream_t *)&origin, 16, on_client);
	uv_tcp_getsockname(&origin, (struct sockaddr *)&origin_address, &length);
	pthread_create(&thread, NULL, run_io, NULL);
	fetch_pages();
	uv_async_send(&quit);
	pthread_join(thread, NULL);
	printf("%d pages\n", pages_done);
	return 0;
}
