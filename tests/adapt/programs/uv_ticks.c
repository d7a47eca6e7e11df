/* SPDX-License-Identifier: ISC */
/*
 * A loop does some work, and then runs nothing but a timer, until SIGKILL ends it. With the argument "server"
 * it listens as well. Nothing tells whether it should do more: a program may be idle. It knows nothing
 * of thrum.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <uv.h>

#define PIECES 12
#define TICKS 75 /* of 20 ms */

static uv_timer_t timer;
static uv_tcp_t listener;
static uv_work_t piece;
static int done, ticks;

void tick(uv_timer_t *handle);
void tick(uv_timer_t *handle)
{
	(void)handle;
	if (++ticks == TICKS)
		raise(SIGKILL);
}

static void work(uv_work_t *request)
{
	(void)request;
}

void work_is_done(uv_work_t *request, int status);
void work_is_done(uv_work_t *request, int status)
{
	(void)status;
	if (++done < PIECES)
		uv_queue_work(uv_default_loop(), request, work, work_is_done);
}

void on_client(uv_stream_t *stream, int status);
void on_client(uv_stream_t *stream, int status)
{
	(void)stream;
	(void)status;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	if (argc > 1 && strcmp(argv[1], "server") == 0 &&
		(uv_tcp_init(uv_default_loop(), &listener) ||
			uv_tcp_bind(&listener, (const struct sockaddr *)(const void *)&address,
				0) ||
			uv_listen((uv_stream_t *)&listener, 8, on_client)))
		return 1;
	uv_queue_work(uv_default_loop(), &piece, work, work_is_done);
	uv_timer_init(uv_default_loop(), &timer);
	uv_timer_start(&timer, tick, 20, 20);
	return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
