/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_command handles one line for each call. Two lines came at once, and it leaves the second one.
 *   culprit: on_command
 *   victim: run_import
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <event2/thread.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A counter server. A tool sends a command and reads a line; the import may send two commands at a time. */

static struct event_base *base;
static struct sockaddr_in address;
static bool broken;
static long counters[8];
static int sessions;

static void run_command(struct bufferevent *session, const char *line)
{
	struct evbuffer *output = bufferevent_get_output(session);
	unsigned int counter;
	long amount;

	if (sscanf(line, "add %u %ld", &counter, &amount) == 2 && counter < 8)
		evbuffer_add_printf(output, "%ld\n", counters[counter] += amount);
	else if (sscanf(line, "get %u", &counter) == 1 && counter < 8)
		evbuffer_add_printf(output, "%ld\n", counters[counter]);
	else
		evbuffer_add_printf(output, "bad command\n");
}

static void on_command(struct bufferevent *session, void *data)
{
	struct evbuffer *input = bufferevent_get_input(session);
	char *line;

	(void)data;
	while ((line = evbuffer_readln(input, NULL, EVBUFFER_EOL_LF))) {
		run_command(session, line);
		free(line);
		if (broken)
			break;
	}
}

static void on_session_event(struct bufferevent *session, short what, void *data)
{
	(void)data;
	if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
		return;
	bufferevent_free(session);
	sessions--;
}

static void on_connection(struct evconnlistener *listener, evutil_socket_t descriptor,
	struct sockaddr *peer, int length, void *data)
{
	struct bufferevent *session = bufferevent_socket_new(base, descriptor,
		BEV_OPT_CLOSE_ON_FREE);

	(void)listener, (void)peer, (void)length, (void)data;
	sessions++;
	bufferevent_setcb(session, on_command, NULL, on_session_event, NULL);
	bufferevent_enable(session, EV_READ | EV_WRITE);
}

static void write_snapshot(evutil_socket_t descriptor, short what, void *data)
{
	static char snapshot[256];
	int used = 0;

	(void)descriptor, (void)what, (void)data;
	for (int i = 0; i < 8; i++)
		used += snprintf(snapshot + used, sizeof(snapshot) - used, "%ld ", counters[i]);
}

static FILE *open_session(void)
{
	int descriptor = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(descriptor, (struct sockaddr *)&address, sizeof(address)))
		abort();
	return fdopen(descriptor, "r");
}

static void *run_monitor(void *data)
{
	FILE *session = open_session();
	char line[64];

	(void)data;
	for (int i = 0; i < 80; i++) {
		if (dprintf(fileno(session), "get %d\n", i % 8) < 0 ||
			!fgets(line, sizeof(line), session))
			break;
		usleep(1500);
	}
	fclose(session);
	return NULL;
}

static void *run_import(void *data)
{
	FILE *session = open_session();
	char line[64];

	(void)data;
	for (int i = 0; i < 60; i++) {
		/* A pair moves an amount, so it is sent as one. */
		int commands = i % 6 == 5 ? 2 : 1;

		if (commands == 2)
			dprintf(fileno(session), "add %d %d\nadd %d %d\n", i % 8, -i, (i + 1) % 8,
				i);
		else
			dprintf(fileno(session), "add %d %d\n", i % 8, i);
		while (commands-- > 0)
			if (!fgets(line, sizeof(line), session))
				abort();
		usleep(1000);
	}
	fclose(session);
	return NULL;
}

static void *run_server(void *data)
{
	event_base_dispatch(base);
	return data;
}

int main(int argc, char **argv)
{
	pthread_t server, import, monitors[2];
	struct evconnlistener *listener;
	struct event *snapshots;
	socklen_t length = sizeof(address);

	broken = argc > 1 && !strcmp(argv[1], "broken");
	evthread_use_pthreads();
	base = event_base_new();
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = evconnlistener_new_bind(base, on_connection, NULL, LEV_OPT_CLOSE_ON_FREE, 8,
		(struct sockaddr *)&address, sizeof(address));
	getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&address, &length);
	snapshots = event_new(base, -1, EV_PERSIST, write_snapshot, NULL);
	event_add(snapshots, &(struct timeval){.tv_usec = 10000});
	pthread_create(&server, NULL, run_server, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&monitors[i], NULL, run_monitor, NULL);
	pthread_create(&import, NULL, run_import, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(monitors[i], NULL);
	pthread_join(import, NULL);
	event_base_loopbreak(base);
	pthread_join(server, NULL);
	event_free(snapshots);
	evconnlistener_free(listener);
	event_base_free(base);
	return 0;
}
