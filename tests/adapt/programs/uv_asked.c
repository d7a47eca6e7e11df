/* SPDX-License-Identifier: ISC */
/*
 * A loop that asks stores for a thread, and is killed after a while unless it ends, by the argument:
 *   refused  a query whose connection is refused is dropped, and its thread waits for ever
 *   retried  such a query goes to another store
 *   ship     the thread gets lines from the loop, and has it ship each; the store for the last one is down
 *   kept     the main thread counts pages; an empty page doesn't give back its connection
 *   given    it does
 *   taken    the main thread takes pages, and waits for more, as all are there
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "patience.h"

enum {
	QUERIES = 12,
	SLOTS = 2,
	PAGES = 24
};

static uv_loop_t loop;
static uv_async_t asked;
static struct sockaddr_in stores[2]; /* the second one is down */
static const char *story;

static bool is_story(const char *name)
{
	return strcmp(story, name) == 0;
}

static void give_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	static char space[256];

	(void)handle, (void)size;
	*buffer = uv_buf_init(space, sizeof space);
}

/* ---- The store ----------------------------------------------------------------------------- */

/* Each eighth page is empty. */
static void *serve(void *data)
{
	int peer = (int)(intptr_t)data;
	char text[8];
	ssize_t size;

	while ((size = read(peer, text, sizeof text)) > 0) {
		usleep(4000);
		if (write(peer, text[0] % 8 == 5 ? "no" : "page", text[0] % 8 == 5 ? 2 : 4) < 0)
			break;
	}
	close(peer);
	return NULL;
}

static void *run_store(void *data)
{
	int listener = (int)(intptr_t)data, peer;
	pthread_t thread;

	while ((peer = accept(listener, NULL, NULL)) >= 0)
		pthread_create(&thread, NULL, serve, (void *)(intptr_t)peer);
	return NULL;
}

/* ---- Queries and lines ---------------------------------------------------------------------- */

struct query {
	uv_tcp_t tcp;
	uv_connect_t connect;
	uv_write_t write;
};

static sem_t answered;
static int begun;

static void begin_query(int store);

static void on_answer(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)stream, (void)size, (void)buffer;
	if (!is_story("ship"))
		sem_post(&answered);
}

static void on_connected(uv_connect_t *connect, int status)
{
	struct query *query = connect->data;
	uv_buf_t buffer = uv_buf_init((char *)"q", 1);

	if (status == 0) {
		uv_write(&query->write, connect->handle, &buffer, 1, NULL);
		uv_read_start(connect->handle, give_buffer, on_answer);
		return;
	}
	uv_close((uv_handle_t *)connect->handle, NULL);
	if (is_story("retried"))
		begin_query(0);
}

static void begin_query(int store)
{
	struct query *query = calloc(1, sizeof *query);

	uv_tcp_init(&loop, &query->tcp);
	query->connect.data = query;
	uv_tcp_connect(&query->connect, &query->tcp, (struct sockaddr *)&stores[store],
		on_connected);
}

static void on_asked(uv_async_t *async)
{
	(void)async;
	begin_query(++begun == (is_story("retried") ? QUERIES / 2 : QUERIES));
}

static void *ask_queries(void *unused)
{
	for (int i = 0; i < QUERIES; i++) {
		uv_async_send(&asked);
		sem_wait(&answered);
	}
	return unused;
}

static void on_line(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)stream, (void)size, (void)buffer;
	sem_post(&answered);
}

/* Writes lines, and no more. */
static void *write_lines(void *data)
{
	int fd = (int)(intptr_t)data;

	for (int i = 0; i < QUERIES; i++) {
		usleep(5000);
		if (write(fd, "line", 4) != 4)
			abort();
	}
	return NULL;
}

static void *ship_lines(void *unused)
{
	for (;;) {
		sem_wait(&answered);
		uv_async_send(&asked);
	}
	return unused;
}

static void start_lines(void)
{
	static uv_pipe_t lines;
	int ends[2];
	pthread_t thread;

	if (uv_socketpair(SOCK_STREAM, 0, ends, UV_NONBLOCK_PIPE, 0))
		abort();
	uv_pipe_init(&loop, &lines, 0);
	uv_pipe_open(&lines, ends[0]);
	uv_read_start((uv_stream_t *)&lines, give_buffer, on_line);
	pthread_create(&thread, NULL, write_lines, (void *)(intptr_t)ends[1]);
	pthread_create(&thread, NULL, ship_lines, NULL);
}

/* ---- Pages ---------------------------------------------------------------------------------- */

static struct connection {
	struct query query;
	char page;
	int left; /* taken: pages of this connection */
} connections[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int pages, ready;

static void ask_page(struct connection *connection)
{
	uv_buf_t buffer = uv_buf_init(&connection->page, 1);

	if (pages == PAGES || (is_story("taken") && connection->left-- == 0))
		return;
	connection->page = (char)pages++;
	uv_write(&connection->query.write, (uv_stream_t *)&connection->query.tcp, &buffer, 1, NULL);
}

static void on_page(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)buffer;
	pthread_mutex_lock(&lock);
	ready++;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	if (size < 4 && is_story("kept"))
		return;
	ask_page(stream->data);
}

static void on_store(uv_connect_t *connect, int status)
{
	if (status < 0)
		abort();
	uv_read_start(connect->handle, give_buffer, on_page);
	ask_page(connect->data);
}

static void start_pages(void)
{
	for (int i = 0; i < SLOTS; i++) {
		struct connection *connection = &connections[i];

		connection->left = 8 * (i + 1);
		uv_tcp_init(&loop, &connection->query.tcp);
		connection->query.tcp.data = connection->query.connect.data = connection;
		uv_tcp_connect(&connection->query.connect, &connection->query.tcp,
			(struct sockaddr *)&stores[0], on_store);
	}
}

static void count_pages(void)
{
	pthread_mutex_lock(&lock);
	while (ready < PAGES)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void take_pages(void)
{
	for (;;) {
		pthread_mutex_lock(&lock);
		while (ready == 0)
			pthread_cond_wait(&changed, &lock);
		ready--;
		pthread_mutex_unlock(&lock);
	}
}

/* ---- The program --------------------------------------------------------------------------- */

static void kill_later(void)
{
	struct sigevent killed = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
	struct itimerspec after = {.it_value = {.tv_sec = patience(2)}};
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &killed, &timer) == 0)
		timer_settime(timer, 0, &after, NULL);
}

static void *run_loop(void *unused)
{
	uv_run(&loop, UV_RUN_DEFAULT);
	return unused;
}

int main(int argc, char **argv)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof stores[0];
	pthread_t thread, asker;

	story = argc > 1 ? argv[1] : "retried";
	kill_later();
	listen(listener, 8);
	getsockname(listener, (struct sockaddr *)&stores[0], &size);
	uv_ip4_addr("127.0.0.1", 1, &stores[1]);
	sem_init(&answered, 0, 0);
	uv_loop_init(&loop);
	uv_async_init(&loop, &asked, on_asked);
	pthread_create(&thread, NULL, run_store, (void *)(intptr_t)listener);
	if (is_story("kept") || is_story("given") || is_story("taken")) {
		start_pages();
		pthread_create(&thread, NULL, run_loop, NULL);
		(is_story("taken") ? take_pages : count_pages)();
		return 0;
	}
	if (is_story("ship"))
		start_lines();
	else
		pthread_create(&asker, NULL, ask_queries, NULL);
	pthread_create(&thread, NULL, run_loop, NULL);
	pthread_join(is_story("ship") ? thread : asker, NULL);
	return 0;
}
