/* SPDX-License-Identifier: ISC */
/*
 * A descriptor that libuv watches for a program (uv_poll_t), until the callback stops the watch; with
 * "fine" it starts anew. It knows nothing of thrum. Where it hangs, SIGALRM ends it. A child was started
 * before, so libuv has a handler for its end.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <uv.h>

#include "patience.h"

static uv_poll_t poll_handle;
static uv_async_t wake;
static bool is_fine;
static int ends[2];

void on_readable(uv_poll_t *handle, int status, int events);
void on_readable(uv_poll_t *handle, int status, int events)
{
	char byte;

	(void)status, (void)events;
	if (recv(ends[0], &byte, 1, MSG_DONTWAIT) != 1) {
		uv_close((uv_handle_t *)handle, NULL);
		uv_close((uv_handle_t *)&wake, NULL);
		return;
	}
	if (send(ends[0], "!", 1, 0) != 1)
		abort();
	if (byte != 'x')
		return;
	uv_poll_stop(handle);
	if (is_fine)
		uv_poll_start(handle, UV_READABLE, on_readable);
}

static void on_ended(uv_process_t *handle, int64_t status, int number)
{
	(void)status, (void)number;
	uv_close((uv_handle_t *)handle, NULL);
}

static void run_child(void)
{
	static uv_process_t child;
	char *line[] = {(char[]){"true"}, NULL};
	uv_process_options_t options = {.file = *line, .args = line, .exit_cb = on_ended};

	if (uv_spawn(uv_default_loop(), &child, &options) != 0)
		abort();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

static void *ask(void *unused)
{
	char byte;

	for (const char *bytes = "aaxaa"; *bytes; bytes++)
		if (send(ends[1], bytes, 1, 0) != 1 || recv(ends[1], &byte, 1, 0) != 1)
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
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return 1;
	run_child();
	uv_async_init(uv_default_loop(), &wake, NULL);
	uv_poll_init(uv_default_loop(), &poll_handle, ends[0]);
	uv_poll_start(&poll_handle, UV_READABLE, on_readable);
	pthread_create(&client, NULL, ask, NULL);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	pthread_join(client, NULL);
	return 0;
}
