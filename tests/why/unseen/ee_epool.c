/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1600
 *   ask: why
 *   truth: When a query times out, on_timeout gives the client an error but doesn't give the connection back to the
 *     pool (put_connection), so each time-out leaks one. After three of them the pool is empty, no release comes any
 *     more, and the queries that wait in the queue (wait_for_connection) are never begun.
 *   culprit: on_timeout|put_connection|take_connection|time.?out
 *   victim: app-\d|run_query|query
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A database proxy on libevent: three connections, an application of two threads. The database is a thread, too. */
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS 3
#define APPS 2
#define QUERIES 8

struct connection {
	int ends[2];
	bool busy;
	struct event *answer, *timeout;
	int client;
	pthread_t thread;
	char answered;
};

static struct event_base *base;
static struct connection connections[CONNECTIONS];
static int apps[APPS][2], waiting[16], waiting_count;
static struct event *requests[APPS], *report;
static int open_apps = APPS;
static bool broken;

static struct connection *take_connection(void)
{
	for (int i = 0; i < CONNECTIONS; i++)
		if (!connections[i].busy) {
			connections[i].busy = true;
			return &connections[i];
		}
	return NULL;
}

static void begin_query(int client)
{
	struct connection *connection = take_connection();
	struct timeval limit = {0, 20000};

	if (!connection) {
		waiting[waiting_count++] = client; /* wait_for_connection */
		return;
	}
	connection->client = client;
	if (write(connection->ends[0], "Q", 1) != 1)
		abort();
	event_add(connection->answer, &limit);
}

static void put_connection(struct connection *connection)
{
	connection->busy = false;
	if (waiting_count) {
		int client = waiting[0];

		memmove(waiting, waiting + 1, sizeof(int) * (size_t)--waiting_count);
		begin_query(client);
	}
}

static void reply(int client, const char *text)
{
	if (write(apps[client][0], text, 1) != 1)
		abort();
}

static void on_timeout(struct connection *connection)
{
	reply(connection->client, "E");
	if (!broken)
		put_connection(connection);
}

static void on_answer(evutil_socket_t descriptor, short what, void *data)
{
	struct connection *connection = data;
	char byte;

	if (what & EV_TIMEOUT) {
		on_timeout(connection);
		return;
	}
	if (read(descriptor, &byte, 1) != 1)
		return;
	reply(connection->client, "R");
	put_connection(connection);
}

static void on_report(evutil_socket_t descriptor, short what, void *data)
{
	(void)descriptor;
	(void)what;
	(void)data;
}

static void on_request(evutil_socket_t descriptor, short what, void *data)
{
	char byte;

	(void)what;
	if (read(descriptor, &byte, 1) == 1) {
		begin_query((int)(long)data);
		return;
	}
	event_del(requests[(long)data]);
	if (--open_apps == 0)
		event_base_loopbreak(base);
}

static void *run_query(void *data)
{
	int socket = apps[(long)data][1];
	char name[16], byte;

	snprintf(name, sizeof(name), "app-%ld", (long)data);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < QUERIES; i++) {
		if (write(socket, "q", 1) != 1 || read(socket, &byte, 1) != 1)
			break;
		usleep(5000);
	}
	shutdown(socket, SHUT_RDWR);
	return NULL;
}

static void *run_database(void *data)
{
	struct connection *connection = data;
	static int number;
	char byte;

	pthread_setname_np(pthread_self(), "database");
	while (read(connection->ends[1], &byte, 1) == 1) {
		int query = __atomic_add_fetch(&number, 1, __ATOMIC_RELAXED);

		if (query % 4 == 0)
			continue; /* a query that is lost */
		usleep(2000);
		if (write(connection->ends[1], "A", 1) != 1)
			break;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct timeval often = {0, 60000};
	pthread_t threads[APPS];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	base = event_base_new();
	for (int i = 0; i < CONNECTIONS; i++) {
		socketpair(AF_UNIX, SOCK_STREAM, 0, connections[i].ends);
		connections[i].answer = event_new(base, connections[i].ends[0], EV_READ, on_answer,
			&connections[i]);
		pthread_create(&connections[i].thread, NULL, run_database, &connections[i]);
	}
	for (long i = 0; i < APPS; i++) {
		socketpair(AF_UNIX, SOCK_STREAM, 0, apps[i]);
		requests[i] = event_new(base, apps[i][0], EV_READ | EV_PERSIST, on_request,
			(void *)i);
		event_add(requests[i], NULL);
	}
	report = event_new(base, -1, EV_PERSIST, on_report, NULL);
	event_add(report, &often);
	for (long i = 0; i < APPS; i++)
		pthread_create(&threads[i], NULL, run_query, (void *)i);
	event_base_dispatch(base);
	for (int i = 0; i < APPS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < CONNECTIONS; i++)
		shutdown(connections[i].ends[0], SHUT_RDWR);
	for (int i = 0; i < CONNECTIONS; i++)
		pthread_join(connections[i].thread, NULL);
	puts("all queries were answered");
	return 0;
}
