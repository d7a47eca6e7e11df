/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: The gateway accepts at most four connections at a time, and on_accept stops listening at the
 *     fourth. close_meter counts a connection down and listens again. A connection that is idle for too
 *     long is freed by drop_idle, which doesn't count it down. After four idle probes the count stays at
 *     four, the listener stays off, and the later meters get no answer.
 *   culprit: drop_idle|pause_listening|listener.*(disabled|stopped|off\b)
 *   victim: run_meter|report|meter \d
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A gateway takes the readings of electricity meters. Meters and a port scanner are threads. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <event2/thread.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	MAX_OPEN = 4,
	METERS = 6,
	PROBES = 4,
	EARLY = 3,
	IDLE_MS = 250
};

static struct {
	struct event_base *base;
	struct evconnlistener *listener;
	struct event *finished, *status;
	struct sockaddr_in address;
	int open, readings, idle;
} gate;

static bool broken;

static void pause_listening(void)
{
	evconnlistener_disable(gate.listener);
}

static void resume_listening(void)
{
	evconnlistener_enable(gate.listener);
}

static void count_down(void)
{
	if (gate.open-- == MAX_OPEN)
		resume_listening();
}

static void close_meter(struct bufferevent *meter)
{
	bufferevent_free(meter);
	count_down();
}

/* It said nothing for a while. */
static void drop_idle(struct bufferevent *meter)
{
	gate.idle++;
	bufferevent_free(meter);
	if (!broken)
		count_down();
}

static void on_reading(struct bufferevent *meter, void *data)
{
	char *line;

	(void)data;
	while ((line = evbuffer_readln(bufferevent_get_input(meter), NULL, EVBUFFER_EOL_LF))) {
		gate.readings++;
		evbuffer_add_printf(bufferevent_get_output(meter), "stored %s\n", line);
		free(line);
	}
}

static void on_end(struct bufferevent *meter, short what, void *data)
{
	(void)data;
	if (what & BEV_EVENT_TIMEOUT)
		drop_idle(meter);
	else
		close_meter(meter);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t socket,
	struct sockaddr *address, int size, void *data)
{
	struct timeval limit = {0, IDLE_MS * 1000};
	struct bufferevent *meter = bufferevent_socket_new(gate.base, socket,
		BEV_OPT_CLOSE_ON_FREE);

	(void)listener, (void)address, (void)size, (void)data;
	bufferevent_setcb(meter, on_reading, NULL, on_end, NULL);
	bufferevent_set_timeouts(meter, &limit, NULL);
	bufferevent_enable(meter, EV_READ | EV_WRITE);
	if (++gate.open == MAX_OPEN)
		pause_listening();
}

static void show_status(evutil_socket_t socket, short what, void *data)
{
	(void)socket, (void)what, (void)data;
	printf("%d open, %d readings, %d idle\n", gate.open, gate.readings, gate.idle);
}

static void on_finished(evutil_socket_t socket, short what, void *data)
{
	(void)socket, (void)what, (void)data;
	event_base_loopbreak(gate.base);
}

static int dial(void)
{
	int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(connection, (struct sockaddr *)&gate.address, sizeof gate.address))
		exit(2);
	return connection;
}

static void report(int connection, int meter, int reading)
{
	char line[64];
	int size = snprintf(line, sizeof line, "meter %d reads %d\n", meter, reading);

	if (write(connection, line, size) != size || read(connection, line, sizeof line) <= 0)
		printf("meter %d: no answer\n", meter);
}

static void *run_meter(void *data)
{
	int meter = *(int *)data, connection = dial();

	for (int i = 0; i < 3; i++) {
		report(connection, meter, meter * 100 + i);
		usleep(10000);
	}
	close(connection);
	return NULL;
}

/* Looks what is behind the port, and says nothing. */
static void *run_probe(void *data)
{
	char byte;
	int connection = dial();

	(void)data;
	while (read(connection, &byte, 1) > 0)
		continue;
	close(connection);
	return NULL;
}

static void run_and_wait(void *(*body)(void *), int from, int to)
{
	static int numbers[METERS + PROBES];
	pthread_t thread;

	for (int i = from; i < to; i++) {
		numbers[i] = i + 1;
		pthread_create(&thread, NULL, body, &numbers[i]);
		pthread_join(thread, NULL);
	}
}

static void *run_street(void *data)
{
	(void)data;
	run_and_wait(run_meter, 0, EARLY);
	run_and_wait(run_probe, 0, PROBES);
	run_and_wait(run_meter, EARLY, METERS);
	event_active(gate.finished, 0, 0);
	return NULL;
}

int main(int argc, char **argv)
{
	struct timeval second = {1, 0};
	socklen_t size = sizeof gate.address;
	pthread_t street;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	signal(SIGPIPE, SIG_IGN);
	evthread_use_pthreads();
	gate.base = event_base_new();
	gate.address = (struct sockaddr_in){.sin_family = AF_INET,
		.sin_addr = {htonl(INADDR_LOOPBACK)}};
	gate.listener = evconnlistener_new_bind(gate.base, on_accept, NULL,
		LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 16, (struct sockaddr *)&gate.address,
		size);
	if (!gate.listener)
		return 2;
	getsockname(evconnlistener_get_fd(gate.listener), (struct sockaddr *)&gate.address, &size);
	gate.finished = event_new(gate.base, -1, 0, on_finished, NULL);
	gate.status = event_new(gate.base, -1, EV_PERSIST, show_status, NULL);
	event_add(gate.status, &second);
	pthread_create(&street, NULL, run_street, NULL);
	event_base_dispatch(gate.base);
	pthread_join(street, NULL);
	event_free(gate.status);
	event_free(gate.finished);
	evconnlistener_free(gate.listener);
	event_base_free(gate.base);
	printf("%d readings, %d idle\n", gate.readings, gate.idle);
	return 0;
}
