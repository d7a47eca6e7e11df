/* SPDX-License-Identifier: ISC */
/*
 * A loop of libuv answers a question by uv_try_write, and drops the rest that finds no room; with "fine" it
 * sends the rest by uv_write. It knows nothing of thrum. Where it hangs, SIGALRM ends it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <uv.h>

#include "patience.h"

#define SIZE 4000000

static uv_pipe_t pipe_end;
static uv_write_t rest;
static char bytes[SIZE];
static bool is_fine;
static int ends[2];

void send_all(void);
void send_all(void)
{
	uv_buf_t all = uv_buf_init(bytes, SIZE);
	int sent = uv_try_write((uv_stream_t *)&pipe_end, &all, 1);

	if (!is_fine || sent < 0)
		return;
	all = uv_buf_init(bytes + sent, (unsigned)(SIZE - sent));
	uv_write(&rest, (uv_stream_t *)&pipe_end, &all, 1, NULL);
}

static void allocate(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	static char room[16];

	(void)handle, (void)size;
	*buffer = uv_buf_init(room, sizeof room);
}

static void on_question(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)buffer;
	if (size < 0)
		uv_close((uv_handle_t *)stream, NULL);
	else
		send_all();
}

static void *ask(void *unused)
{
	static char room[SIZE];

	if (send(ends[1], "?", 1, 0) != 1 || recv(ends[1], room, SIZE, MSG_WAITALL) != SIZE)
		abort();
	shutdown(ends[1], SHUT_WR);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t client;

	(void)argv;
	is_fine = argc > 1;
	end_after(is_fine ? 60 : 8);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	uv_pipe_init(uv_default_loop(), &pipe_end, 0);
	uv_pipe_open(&pipe_end, ends[0]);
	uv_read_start((uv_stream_t *)&pipe_end, allocate, on_question);
	pthread_create(&client, NULL, ask, NULL);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	pthread_join(client, NULL);
	return 0;
}
