/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: Several clients that ask for the same page share one fetch and stand in the list
 *     page->asking. The origin closes the connection for page 6 without an answer. on_origin_data then
 *     calls page_fail, which answers the first asker with an error and forgets the rest of the list. The
 *     three other clients wait for an answer for ever. The fix answers all of the list, as page_done does.
 *   culprit: page_fail|on_origin_data
 *   victim: ask_page|visit|join|client
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A web cache on libuv. Four clients and the origin are threads that block. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

enum {
	CLIENTS = 4,
	PAGES = 10,
	SECRET_PAGE = 6, /* the origin hangs up */
	ANSWER = 8
};

struct asker {
	char input[ANSWER];
	uv_tcp_t tcp;
	uv_write_t write;
	struct asker *next; /* in the list of the page */
};

static struct page {
	char input[ANSWER], body[ANSWER];
	bool is_loaded;
	struct asker *asking, **end;
	uv_tcp_t origin;
	uv_connect_t connect;
	uv_write_t write;
} pages[PAGES + 1];

static uv_loop_t *loop;
static uv_tcp_t listener;
static struct sockaddr_in cache_address, origin_address;
static pthread_barrier_t together;
static bool broken;

/* The data of a stream begins with its input. */
static void give_input(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	(void)size;
	*buffer = uv_buf_init(handle->data, ANSWER);
}

static void answer(struct asker *asker, const char *body)
{
	uv_buf_t buffer = uv_buf_init((char *)(uintptr_t)body, ANSWER);

	uv_write(&asker->write, (uv_stream_t *)&asker->tcp, &buffer, 1, NULL);
}

static void __attribute__((noinline)) page_done(struct page *page)
{
	page->is_loaded = true;
	for (struct asker *asker = page->asking; asker; asker = asker->next)
		answer(asker, page->body);
	page->asking = NULL;
}

static void __attribute__((noinline)) page_fail(struct page *page)
{
	for (struct asker *asker = page->asking; asker; asker = asker->next) {
		answer(asker, "err 502");
		if (broken)
			break;
	}
	page->asking = NULL;
}

static void on_origin_data(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct page *page = stream->data;

	if (size == 0)
		return;
	uv_close((uv_handle_t *)stream, NULL);
	if (size == ANSWER) {
		memcpy(page->body, buffer->base, ANSWER);
		page_done(page);
	} else {
		page_fail(page);
	}
}

static void on_origin_connected(uv_connect_t *connect, int status)
{
	struct page *page = connect->handle->data;
	uv_buf_t buffer = uv_buf_init(page->input, 1);

	if (status < 0)
		exit(1);
	page->input[0] = (char)(page - pages);
	uv_write(&page->write, connect->handle, &buffer, 1, NULL);
	uv_read_start(connect->handle, give_input, on_origin_data);
}

static void fetch(struct page *page)
{
	uv_tcp_init(loop, &page->origin);
	page->origin.data = page;
	uv_tcp_connect(&page->connect, &page->origin, (struct sockaddr *)&origin_address,
		on_origin_connected);
}

static void free_asker(uv_handle_t *handle)
{
	static int left;

	free(handle->data);
	if (++left == CLIENTS)
		uv_close((uv_handle_t *)&listener, NULL);
}

static void on_question(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct asker *asker = stream->data;
	struct page *page;

	if (size < 0)
		uv_close((uv_handle_t *)stream, free_asker);
	if (size <= 0)
		return;
	page = &pages[(int)buffer->base[0]];
	if (page->is_loaded) {
		answer(asker, page->body);
		return;
	}
	if (!page->asking) {
		page->end = &page->asking;
		fetch(page);
	}
	asker->next = NULL;
	*page->end = asker;
	page->end = &asker->next;
}

static void on_client(uv_stream_t *server, int status)
{
	struct asker *asker = calloc(1, sizeof(*asker));

	if (status < 0 || !asker)
		exit(1);
	uv_tcp_init(loop, &asker->tcp);
	asker->tcp.data = asker;
	uv_accept(server, (uv_stream_t *)&asker->tcp);
	uv_read_start((uv_stream_t *)&asker->tcp, give_input, on_question);
}

static void *serve_origin(void *data)
{
	int door = *(int *)data;

	for (int i = 0; i < PAGES; i++) {
		int client = accept(door, NULL, NULL);
		char body[ANSWER] = "page", number;

		if (read(client, &number, 1) != 1)
			exit(1);
		usleep(number == SECRET_PAGE ? 120000 : 50000);
		if (number != SECRET_PAGE && write(client, body, ANSWER) != ANSWER)
			exit(1);
		close(client);
	}
	close(door);
	return NULL;
}

static void __attribute__((noinline)) ask_page(int cache, int number)
{
	char question = (char)number, body[ANSWER];

	if (write(cache, &question, 1) != 1 || read(cache, body, ANSWER) != ANSWER)
		exit(1);
}

static void *visit(void *data)
{
	int cache = socket(AF_INET, SOCK_STREAM, 0);

	(void)data;
	if (connect(cache, (struct sockaddr *)&cache_address, sizeof(cache_address)))
		exit(1);
	for (int number = 1; number <= PAGES; number++) {
		pthread_barrier_wait(&together);
		ask_page(cache, number);
		usleep(30000);
	}
	close(cache);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t clients[CLIENTS], origin;
	int door = socket(AF_INET, SOCK_STREAM, 0), size = sizeof(cache_address);
	socklen_t length = sizeof(origin_address);

	broken = argc > 1 && !strcmp(argv[1], "broken");
	loop = uv_default_loop();
	uv_ip4_addr("127.0.0.1", 0, &origin_address);
	cache_address = origin_address;
	if (bind(door, (struct sockaddr *)&origin_address, length) || listen(door, 4) ||
		getsockname(door, (struct sockaddr *)&origin_address, &length))
		return 1;
	uv_tcp_init(loop, &listener);
	uv_tcp_bind(&listener, (struct sockaddr *)&cache_address, 0);
	uv_listen((uv_stream_t *)&listener, CLIENTS, on_client);
	uv_tcp_getsockname(&listener, (struct sockaddr *)&cache_address, &size);
	pthread_barrier_init(&together, NULL, CLIENTS);
	pthread_create(&origin, NULL, serve_origin, &door);
	pthread_setname_np(origin, "origin");
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i], NULL, visit, NULL);
	uv_run(loop, UV_RUN_DEFAULT);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	pthread_join(origin, NULL);
	return uv_loop_close(loop);
}
