/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_connection_lost connects anew but forgets the calls in flight. It should have sent them again.
 *   culprit: on_connection_lost|open_connection
 *   victim: store_get|refresh_prices
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

struct call {
	char key;
	char value;
	bool done;
	pthread_cond_t answered;
	struct call *next;
};

static uv_loop_t loop;
static uv_async_t submitted;
static uv_tcp_t *connection;
static uv_connect_t connecting;
static bool connected, broken;
static atomic_int running = 2;
static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;
static struct call *to_send, *in_flight;
static struct sockaddr_in store_address;

static void open_connection(void);

static void append(struct call **list, struct call *call)
{
	while (*list)
		list = &(*list)->next;
	call->next = NULL;
	*list = call;
}

static void flush_calls(void)
{
	struct call *call;
	uv_buf_t buffer;

	pthread_mutex_lock(&calls_lock);
	while (connected && (call = to_send)) {
		to_send = call->next;
		append(&in_flight, call);
		buffer = uv_buf_init(&call->key, 1);
		uv_try_write((uv_stream_t *)connection, &buffer, 1);
	}
	pthread_mutex_unlock(&calls_lock);
}

static void on_submitted(uv_async_t *async)
{
	if (running == 0) {
		uv_close((uv_handle_t *)async, NULL);
		uv_close((uv_handle_t *)connection, (uv_close_cb)free);
		return;
	}
	flush_calls();
}

static void on_connection_lost(uv_handle_t *handle)
{
	struct call *call;

	free(handle);
	pthread_mutex_lock(&calls_lock);
	while (!broken && (call = in_flight)) {
		in_flight = call->next;
		append(&to_send, call);
	}
	in_flight = NULL;
	pthread_mutex_unlock(&calls_lock);
	open_connection();
}

static void allocate(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	static char space[256];

	(void)handle, (void)size;
	*buffer = uv_buf_init(space, sizeof(space));
}

static void on_server_data(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
	if (count < 0) {
		connected = false;
		uv_close((uv_handle_t *)stream, on_connection_lost);
		return;
	}
	pthread_mutex_lock(&calls_lock);
	for (ssize_t i = 0; i < count && in_flight; i++) {
		struct call *call = in_flight;

		in_flight = call->next;
		call->value = buffer->base[i];
		call->done = true;
		pthread_cond_signal(&call->answered);
	}
	pthread_mutex_unlock(&calls_lock);
}

static void on_connected(uv_connect_t *request, int status)
{
	if (status < 0)
		abort();
	connected = true;
	uv_read_start(request->handle, allocate, on_server_data);
	flush_calls();
}

static void open_connection(void)
{
	connection = malloc(sizeof(*connection));
	uv_tcp_init(&loop, connection);
	uv_tcp_connect(&connecting, connection, (struct sockaddr *)&store_address, on_connected);
}

static char store_get(char key)
{
	struct call call = {.key = key, .answered = PTHREAD_COND_INITIALIZER};

	pthread_mutex_lock(&calls_lock);
	append(&to_send, &call);
	uv_async_send(&submitted);
	while (!call.done)
		pthread_cond_wait(&call.answered, &calls_lock);
	pthread_mutex_unlock(&calls_lock);
	return call.value;
}

static void *refresh_prices(void *data)
{
	for (int i = 0; i < 60; i++) {
		if (store_get('a' + i % 26) != 'A' + i % 26)
			abort();
		usleep(1500);
	}
	if (--running == 0)
		uv_async_send(&submitted);
	return data;
}

/* The store closes a connection after 25 answers, to spread its clients over the cluster. */
static void *run_store(void *data)
{
	int listener = (int)(long)data;

	for (;;) {
		int peer = accept(listener, NULL, NULL), served = 0;
		char byte;

		if (peer < 0)
			return NULL;
		while (read(peer, &byte, 1) == 1) {
			if (++served > 25)
				break;
			byte -= 'a' - 'A';
			if (write(peer, &byte, 1) != 1)
				break;
		}
		close(peer);
	}
}

int main(int argc, char **argv)
{
	pthread_t store, refreshers[2];
	socklen_t length = sizeof(store_address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	broken = argc > 1 && !strcmp(argv[1], "broken");
	uv_ip4_addr("127.0.0.1", 0, &store_address);
	if (bind(listener, (struct sockaddr *)&store_address, length) || listen(listener, 4))
		return 1;
	getsockname(listener, (struct sockaddr *)&store_address, &length);
	uv_loop_init(&loop);
	uv_async_init(&loop, &submitted, on_submitted);
	open_connection();
	pthread_create(&store, NULL, run_store, (void *)(long)listener);
	for (int i = 0; i < 2; i++)
		pthread_create(&refreshers[i], NULL, refresh_prices, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	for (int i = 0; i < 2; i++)
		pthread_join(refreshers[i], NULL);
	shutdown(listener, SHUT_RDWR);
	pthread_join(store, NULL);
	return 0;
}
