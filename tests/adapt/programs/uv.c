/* SPDX-License-Identifier: ISC */
/*
 * Uses libuv in most ways, and prints what it sees. The output is the same with and without thrum.
 * It knows nothing of thrum.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

static uv_loop_t *loop;
static uv_tcp_t server, peer, client;
static uv_async_t wake;
static uv_timer_t tick;
static uv_process_t child;
static char buffer[1024];
static bool is_woken;
static char text[16]; /* as it came from the client */
static int connection;

static void closed(uv_handle_t *handle)
{
	printf("closed %s\n", uv_handle_type_name(uv_handle_get_type(handle)));
}

/* ---- Processes, work, names ------------------------------------------------------------------ */

static void got_address(uv_getaddrinfo_t *req, int status, struct addrinfo *addresses)
{
	(void)req;
	printf("getaddrinfo: %d\n", status);
	uv_freeaddrinfo(addresses);
}

static void got_random(uv_random_t *req, int status, void *bytes, size_t size)
{
	static uv_getaddrinfo_t name;

	(void)req, (void)bytes;
	printf("random: %d, %zu bytes\n", status, size);
	uv_getaddrinfo(loop, &name, got_address, "127.0.0.1", NULL, NULL);
}

static void send_wake(uv_work_t *req)
{
	(void)req;
	uv_async_send(&wake);
}

static void work_done(uv_work_t *req, int status)
{
	static uv_random_t random;

	printf("work: %d, data %s\n", status, (char *)req->data);
	uv_random(loop, &random, buffer, 16, 0, got_random);
}

static void woken(uv_async_t *handle)
{
	is_woken = true;
	uv_close((uv_handle_t *)handle, NULL);
}

static void exited(uv_process_t *process, int64_t status, int signal)
{
	static char data[] = "kept";
	static uv_work_t work = {.data = data};

	printf("exited: %d, signal %d\n", (int)status, signal);
	uv_close((uv_handle_t *)process, closed);
	uv_queue_work(loop, &work, send_wake, work_done);
}

static void spawn(void)
{
	char shell[] = "sh", option[] = "-c", command[] = "exit 3";
	char *arguments[] = {shell, option, command, NULL};
	uv_process_options_t options = {.file = "/bin/sh", .args = arguments, .exit_cb = exited};
	uv_process_options_t wrong = {.file = "/no/such/program", .args = arguments};
	static uv_process_t nothing;

	printf("spawn: %s\n", uv_strerror(uv_spawn(loop, &nothing, &wrong)));
	uv_close((uv_handle_t *)&nothing, closed);
	printf("spawn: %d\n", uv_spawn(loop, &child, &options));
}

/* ---- A server and its client ---------------------------------------------------------------- */

static void allocate(uv_handle_t *handle, size_t size, uv_buf_t *to)
{
	(void)handle, (void)size;
	*to = uv_buf_init(buffer, sizeof buffer);
}

static void peer_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *from)
{
	if (size > 0) {
		strncat(text, from->base, (size_t)size);
		return;
	}
	/* Only here it is sure that all of it happened. */
	printf("connection: %d, read %s: %s\n", connection, text, uv_err_name((int)size));
	uv_close((uv_handle_t *)stream, closed);
	uv_close((uv_handle_t *)&server, closed);
	uv_close((uv_handle_t *)&client, NULL);
	spawn();
}

static void connected_to(uv_stream_t *stream, int status)
{
	connection = status;
	uv_tcp_init(loop, &peer);
	uv_accept(stream, (uv_stream_t *)&peer);
	uv_read_start((uv_stream_t *)&peer, allocate, peer_read);
}

static void shut_down(uv_shutdown_t *req, int status)
{
	printf("shutdown: %d\n", status);
	free(req);
}

static void written(uv_write_t *req, int status)
{
	uv_shutdown_t *end = malloc(sizeof *end);

	printf("written: %d\n", status);
	uv_shutdown(end, req->handle, shut_down);
	free(req);
}

static void connected(uv_connect_t *req, int status)
{
	uv_write_t *first = malloc(sizeof *first), *last = malloc(sizeof *last);
	static char hello[] = "hello";
	uv_buf_t words = uv_buf_init(hello, 5);

	printf("connected: %d\n", status);
	uv_write(first, req->handle, &words, 1, NULL);
	uv_write(last, req->handle, &words, 1, written);
}

static void serve(void)
{
	static uv_connect_t req;
	struct sockaddr_in address;
	int size = sizeof address;

	uv_ip4_addr("127.0.0.1", 0, &address);
	uv_tcp_init(loop, &server);
	uv_tcp_bind(&server, (struct sockaddr *)&address, 0);
	printf("listen: %d\n", uv_listen((uv_stream_t *)&server, 5, connected_to));
	uv_tcp_getsockname(&server, (struct sockaddr *)&address, &size);
	uv_tcp_init(loop, &client);
	uv_tcp_connect(&req, &client, (struct sockaddr *)&address, connected);
}

/* ---- Files and a timer ---------------------------------------------------------------------- */

static void opened(uv_fs_t *req)
{
	printf("open %s: %s\n", req->path, uv_err_name((int)req->result));
	uv_fs_req_cleanup(req);
	serve();
}

static void looked(uv_fs_t *req)
{
	printf("stat %s: %d\n", req->path, (int)req->result);
	uv_fs_req_cleanup(req);
	/* The same request again, from its own callback. */
	uv_fs_open(loop, req, "/no/such/file", 0, 0, opened);
}

static void timer_closed(uv_handle_t *handle)
{
	static uv_fs_t req;

	closed(handle);
	uv_fs_stat(loop, &req, "/", looked);
}

static void ticked(uv_timer_t *timer)
{
	static int times;

	printf("tick %d\n", ++times);
	if (times < 3)
		return;
	uv_timer_stop(timer);
	uv_close((uv_handle_t *)timer, timer_closed);
}

int main(void)
{
	uv_fs_t req;

	loop = uv_default_loop();
	memset(&tick, 0xa5, sizeof tick); /* as fresh memory may be */
	printf("stat: %d\n", uv_fs_stat(loop, &req, "/", NULL));
	uv_fs_req_cleanup(&req);
	uv_async_init(loop, &wake, woken);
	uv_timer_init(loop, &tick);
	uv_timer_start(&tick, ticked, 1, 1);
	printf("run: %d\n", uv_run(loop, UV_RUN_DEFAULT));
	printf("woken: %d\n", is_woken);
	printf("close: %d\n", uv_loop_close(loop));
	return 4;
}
