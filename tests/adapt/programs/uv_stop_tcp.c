/* SPDX-License-Identifier: ISC */
/*
 * A loop has both ends of a TCP connection: it stops reading what it writes there itself. With the argument
 * "hang" nothing starts it again; with "timer" a timer does.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "patience.h"

#define SIZE (32 << 20) /* more than the connection's buffers hold */
#define LONG 1000       /* ms; longer than data may be left */

static uv_loop_t loop;
static uv_tcp_t listener, server, client;
static uv_timer_t later;
static char room[65536], block[SIZE];
static size_t received;
static int goes_on;

static void make_room(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	(void)handle, (void)size;
	*buffer = uv_buf_init(room, sizeof room);
}

static void take(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static void go_on(uv_timer_t *timer)
{
	(void)timer;
	uv_read_start((uv_stream_t *)&server, make_room, take);
}

static void take(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)buffer;
	if (size < 0)
		exit(EXIT_FAILURE);
	if (received == 0) {
		uv_read_stop(stream);
		if (goes_on)
			uv_timer_start(&later, go_on, LONG, 0);
	}
	received += (size_t)size;
	if (received == SIZE)
		uv_stop(&loop);
}

static void on_connection(uv_stream_t *stream, int status)
{
	uv_tcp_init(&loop, &server);
	if (status != 0 || uv_accept(stream, (uv_stream_t *)&server) != 0)
		exit(EXIT_FAILURE);
	go_on(NULL);
}

static void give_block(uv_connect_t *connect, int status)
{
	static uv_write_t request;
	uv_buf_t buffer = uv_buf_init(block, SIZE);

	if (status != 0)
		exit(EXIT_FAILURE);
	uv_write(&request, connect->handle, &buffer, 1, NULL);
}

int main(int argc, char **argv)
{
	static uv_connect_t connect;
	struct sockaddr_in address;
	int size = sizeof address;

	goes_on = argc > 1 && strcmp(argv[1], "timer") == 0;
	uv_loop_init(&loop);
	uv_timer_init(&loop, &later);
	uv_ip4_addr("127.0.0.1", 0, &address);
	uv_tcp_init(&loop, &listener);
	if (uv_tcp_bind(&listener, (struct sockaddr *)&address, 0) != 0 ||
		uv_listen((uv_stream_t *)&listener, 8, on_connection) != 0 ||
		uv_tcp_getsockname(&listener, (struct sockaddr *)&address, &size) != 0)
		return EXIT_FAILURE;
	uv_tcp_init(&loop, &client);
	uv_tcp_connect(&connect, &client, (struct sockaddr *)&address, give_block);
	if (!goes_on)
		end_after(2);
	uv_run(&loop, UV_RUN_DEFAULT);
	printf("%zu bytes\n", received);
	return EXIT_SUCCESS;
}
