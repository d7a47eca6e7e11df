/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_client_line disables reading from the client while its query is at the backend;
 *     on_backend_line returns early for an error and forgets bufferevent_enable, so the gate never reads the
 *     client's next line, and the client waits for the answer
 *   culprit: on_backend_line|client_pause|on_client_line
 *   victim: client_main|thread .?client|backend
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A gate between clients and a database that takes one query of each client at a time. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define QUERIES 40

static struct event_base *base;
static struct bufferevent *client;
static struct bufferevent *backend;
static struct event *stats_timer;
static bool resume_after_error;
static unsigned answered;
static unsigned errors;
static unsigned pauses;
static unsigned ticks;

static int read_line(int socket, char *line, size_t size)
{
	size_t length = 0;
	char byte;

	while (length + 1 < size) {
		if (read(socket, &byte, 1) != 1)
			return -1;
		if (byte == '\n')
			break;
		line[length++] = byte;
	}
	line[length] = 0;
	return (int)length;
}

/* Answers each query; every tenth names a table that doesn't exist. */
static void *backend_main(void *data)
{
	int socket = *(int *)data;
	char line[64];

	while (read_line(socket, line, sizeof(line)) >= 0) {
		bool is_bad = strstr(line, "missing") != NULL;
		const char *answer = is_bad ? "ERROR no such table\n" : "ROW 1\n";

		usleep(1500);
		if (write(socket, answer, strlen(answer)) < 0)
			break;
	}
	close(socket);
	return NULL;
}

static void *client_main(void *data)
{
	int socket = *(int *)data;
	char line[64];

	for (int i = 0; i < QUERIES; i++) {
		const char *table = i % 10 == 9 ? "missing" : "items";
		int length = snprintf(line, sizeof(line), "select %s %d\n", table, i);

		if (write(socket, line, (size_t)length) != length)
			break;
		if (read_line(socket, line, sizeof(line)) < 0)
			break;
	}
	close(socket);
	return NULL;
}

/* Until the answer comes nothing more is read: so a client can't fill the memory. */
__attribute__((noinline)) static void client_pause(void)
{
	bufferevent_disable(client, EV_READ);
	pauses++;
}

static void forward_line(struct bufferevent *to, const char *line)
{
	evbuffer_add_printf(bufferevent_get_output(to), "%s\n", line);
}

static void on_client_line(struct bufferevent *from, void *data)
{
	char *line = evbuffer_readln(bufferevent_get_input(from), NULL, EVBUFFER_EOL_LF);

	(void)data;
	if (!line)
		return;
	client_pause();
	forward_line(backend, line);
	free(line);
}

static void on_backend_line(struct bufferevent *from, void *data)
{
	char *line = evbuffer_readln(bufferevent_get_input(from), NULL, EVBUFFER_EOL_LF);

	(void)data;
	if (!line)
		return;
	forward_line(client, line);
	if (!strncmp(line, "ERROR", 5)) {
		errors++;
		free(line);
		if (resume_after_error)
			bufferevent_enable(client, EV_READ);
		return;
	}
	free(line);
	answered++;
	bufferevent_enable(client, EV_READ);
}

static void on_event(struct bufferevent *from, short events, void *data)
{
	(void)from;
	(void)data;
	if (events & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		event_base_loopbreak(base);
}

static void on_stats(evutil_socket_t socket, short events, void *data)
{
	(void)socket;
	(void)events;
	(void)data;
	ticks++;
}

int main(int argc, char **argv)
{
	struct timeval interval = {0, 100000};
	pthread_t threads[2];
	int front[2];
	int back[2];

	resume_after_error = argc < 2 || strcmp(argv[1], "broken") != 0;
	evthread_use_pthreads();
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, front) || socketpair(AF_UNIX, SOCK_STREAM, 0, back))
		return 1;
	base = event_base_new();
	evutil_make_socket_nonblocking(front[0]);
	evutil_make_socket_nonblocking(back[0]);
	client = bufferevent_socket_new(base, front[0], BEV_OPT_CLOSE_ON_FREE);
	backend = bufferevent_socket_new(base, back[0], BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(client, on_client_line, NULL, on_event, NULL);
	bufferevent_setcb(backend, on_backend_line, NULL, on_event, NULL);
	bufferevent_enable(client, EV_READ);
	bufferevent_enable(backend, EV_READ);
	stats_timer = event_new(base, -1, EV_PERSIST, on_stats, NULL);
	event_add(stats_timer, &interval);
	pthread_create(&threads[0], NULL, backend_main, &back[1]);
	pthread_setname_np(threads[0], "backend");
	pthread_create(&threads[1], NULL, client_main, &front[1]);
	pthread_setname_np(threads[1], "client");
	event_base_dispatch(base);
	bufferevent_free(client);
	bufferevent_free(backend);
	event_free(stats_timer);
	event_base_free(base);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("%u answered, %u errors, %u pauses\n", answered, errors, pauses);
	return 0;
}
