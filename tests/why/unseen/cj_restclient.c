/* SPDX-License-Identifier: ISC */
/*
 * After OpenSIPS/opensips, pull request #1026.
 *
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: rest_get ends with rest_cleanup, which closes the connection, so each request makes a connection of its own by
 *     rest_connect. In the good run there is one connection, which all requests share.
 *   culprit: connect|rest_connect
 *   victim: clock
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A SIP proxy that asks a web service, by HTTP over TCP, to whom each call is to be routed. */
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define CALLS 20
#define CONNECTIONS 32

/* The handle of the client, which may keep its connection. */
struct rest_handle {
	uv_tcp_t tcp;
	uv_connect_t connect;
	bool connected;
};

static uv_loop_t loop;
static struct sockaddr_in service;
static struct rest_handle *handle;
static uv_write_t write_request;
static uv_timer_t next_call, watch;
static char buffer[256];
static bool keeps;
static unsigned calls, connections, ticks;

/* The web service. It is told to end by a connection that sends "Q". */
static void *route_service(void *data)
{
	struct pollfd sockets[CONNECTIONS] = {{.fd = *(int *)data, .events = POLLIN}};
	nfds_t count = 1;
	bool goes_on = true;

	while (goes_on) {
		poll(sockets, count, -1);
		if ((sockets[0].revents & POLLIN) && count < CONNECTIONS) {
			sockets[count].fd = accept(sockets[0].fd, NULL, NULL);
			sockets[count].revents = 0;
			sockets[count++].events = POLLIN;
		}
		for (nfds_t i = 1; i < count; i++) {
			char question[64];
			ssize_t got;

			if (!sockets[i].revents)
				continue;
			got = read(sockets[i].fd, question, sizeof(question));
			if (got <= 0) {
				close(sockets[i].fd);
				sockets[i--] = sockets[--count];
				continue;
			}
			goes_on = goes_on && question[0] != 'Q';
			usleep(1000);
			if (write(sockets[i].fd, "sip:gateway2", 12) != 12)
				goes_on = false;
		}
	}
	for (nfds_t i = 0; i < count; i++)
		close(sockets[i].fd);
	return NULL;
}

static void rest_get(uv_timer_t *timer);

static void on_closed(uv_handle_t *tcp)
{
	free(tcp->data);
}

/* curl_easy_cleanup: frees the handle. */
static void rest_cleanup(void)
{
	handle->tcp.data = handle;
	uv_close((uv_handle_t *)&handle->tcp, on_closed);
	handle = NULL;
}

static void on_watch(uv_timer_t *timer)
{
	(void)timer;
	ticks++;
}

static void rest_done(void)
{
	uv_read_stop((uv_stream_t *)&handle->tcp);
	calls++;
	if (!keeps || calls == CALLS)
		rest_cleanup();
	if (calls < CALLS) {
		uv_timer_start(&next_call, rest_get, 6, 0);
	} else {
		uv_close((uv_handle_t *)&next_call, NULL);
		uv_close((uv_handle_t *)&watch, NULL);
	}
}

static void on_alloc(uv_handle_t *tcp, size_t size, uv_buf_t *buf)
{
	(void)tcp, (void)size;
	*buf = uv_buf_init(buffer, sizeof(buffer));
}

static void on_answer(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
	(void)stream, (void)buf;
	if (size)
		rest_done();
}

static void rest_send(void)
{
	uv_buf_t question = uv_buf_init("GET /route?to=4930", 18);

	uv_read_start((uv_stream_t *)&handle->tcp, on_alloc, on_answer);
	uv_write(&write_request, (uv_stream_t *)&handle->tcp, &question, 1, NULL);
}

static void on_connected(uv_connect_t *request, int status)
{
	(void)request;
	if (status)
		abort();
	handle->connected = true;
	connections++;
	rest_send();
}

static void rest_connect(void)
{
	handle = calloc(1, sizeof(*handle));
	uv_tcp_init(&loop, &handle->tcp);
	uv_tcp_connect(&handle->connect, &handle->tcp, (struct sockaddr *)&service, on_connected);
}

static void rest_get(uv_timer_t *timer)
{
	(void)timer;
	if (!handle)
		rest_connect();
	else
		rest_send();
}

static void stop_service(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char answer[16];

	if (connect(fd, (struct sockaddr *)&service, sizeof(service)) || write(fd, "Q", 1) != 1 ||
		read(fd, answer, sizeof(answer)) < 0)
		abort();
	close(fd);
}

int main(int argc, char **argv)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(service);
	pthread_t thread;

	if (argc < 2)
		return 2;
	keeps = !strcmp(argv[1], "healthy");
	service.sin_family = AF_INET;
	service.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&service, sizeof(service)) || listen(listener, 16) ||
		getsockname(listener, (struct sockaddr *)&service, &size))
		return 2;
	pthread_create(&thread, NULL, route_service, &listener);
	uv_loop_init(&loop);
	uv_timer_init(&loop, &next_call);
	uv_timer_init(&loop, &watch);
	uv_timer_start(&watch, on_watch, 20, 20);
	uv_timer_start(&next_call, rest_get, 6, 0);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	stop_service();
	pthread_join(thread, NULL);
	printf("%u calls, %u connections\n", calls, connections);
	return 0;
}
