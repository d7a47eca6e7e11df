/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: unbound issue #356 ("deadlock when listening tcp"): the connection that takes the last place gets the
 *     timeout 0 (on_accept). The minimum is applied only the first time; when it has sent a query, start_listening
 *     watches it with the real 0, that is without a timer. Idle clients keep such connections, so after a while
 *     they hold all four places, and the listener (evconnlistener_disable in on_accept) is never enabled again.
 *     "dig" is connected by the kernel, and waits for an answer for ever.
 *   culprit: start_listening|on_accept|evconnlistener_disable|listener
 *   victim: ask|dig
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* A resolver that answers over TCP. It serves few connections at a time, and closes those that are idle. */
#include <arpa/inet.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <event2/thread.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INCOMING_NUM_TCP 4
#define TIMEOUT_MS 250
#define TIMEOUT_MINIMUM_MS 80
#define STUBS 16
#define QUERIES 40

struct connection {
	struct event *event;
	int fd;
	int timeout_ms;
};

static struct event_base *base;
static struct evconnlistener *listener;
static struct sockaddr_in address;
static int connections;
static bool cap;
static atomic_int answered;
static atomic_bool over;

/* ---- server ---- */

static void close_connection(struct connection *connection)
{
	event_free(connection->event);
	close(connection->fd);
	free(connection);
	if (connections-- == INCOMING_NUM_TCP)
		evconnlistener_enable(listener);
}

static void start_listening(struct connection *connection, int timeout_ms)
{
	struct timeval timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000};

	event_del(connection->event);
	event_add(connection->event, timeout_ms ? &timeout : NULL);
}

static void on_query(evutil_socket_t fd, short what, void *data)
{
	struct connection *connection = data;
	char query[64];
	ssize_t size;

	if (what & EV_TIMEOUT) {
		close_connection(connection);
		return;
	}
	size = read(fd, query, sizeof(query));
	if (size <= 0 || write(fd, "192.0.2.1\n", 10) != 10) {
		close_connection(connection);
		return;
	}
	start_listening(connection, connection->timeout_ms);
}

static void setup_tcp_handler(struct connection *connection)
{
	int timeout_ms = connection->timeout_ms;

	if (timeout_ms < TIMEOUT_MINIMUM_MS)
		timeout_ms = TIMEOUT_MINIMUM_MS;
	start_listening(connection, timeout_ms);
}

static void on_accept(struct evconnlistener *from, evutil_socket_t fd, struct sockaddr *peer,
	int size, void *data)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	(void)peer, (void)size, (void)data;
	if (!connection)
		exit(1);
	connections++;
	connection->fd = fd;
	connection->timeout_ms = TIMEOUT_MS;
	if (connections == INCOMING_NUM_TCP)
		connection->timeout_ms = cap ? TIMEOUT_MINIMUM_MS : 0;
	connection->event = event_new(base, fd, EV_READ | EV_PERSIST, on_query, connection);
	setup_tcp_handler(connection);
	if (connections == INCOMING_NUM_TCP)
		evconnlistener_disable(from);
}

static void on_statistics(evutil_socket_t fd, short what, void *data)
{
	(void)fd, (void)what, (void)data;
	printf("%d connections, %d answers\n", connections, atomic_load(&answered));
	fflush(stdout);
}

/* ---- clients ---- */

static int open_query(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
		write(fd, "www\n", 4) != 4) {
		perror("query");
		exit(1);
	}
	return fd;
}

/* Stub resolvers ask once, and keep the connection for later. */
static void *stubs(void *data)
{
	struct pollfd wait = {.events = POLLIN};
	int kept[STUBS];
	int i;

	(void)data;
	for (i = 0; i < STUBS; i++) {
		usleep(60000);
		kept[i] = open_query();
		wait.fd = kept[i];
		if (poll(&wait, 1, 60) != 1) {
			close(kept[i]);
			kept[i] = -1;
		}
	}
	while (!over)
		usleep(50000);
	for (i = 0; i < STUBS; i++)
		if (kept[i] >= 0)
			close(kept[i]);
	return NULL;
}

static void ask(void)
{
	char answer[32];
	int fd = open_query();

	if (read(fd, answer, sizeof(answer)) <= 0)
		exit(1);
	close(fd);
	answered++;
}

static void *dig(void *data)
{
	int i;

	(void)data;
	for (i = 0; i < QUERIES; i++) {
		ask();
		usleep(25000);
	}
	over = true;
	event_base_loopexit(base, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	struct timeval often = {0, 200000};
	struct event *statistics;
	socklen_t size = sizeof(address);
	pthread_t threads[2];

	cap = argc > 1 && !strcmp(argv[1], "healthy");
	evthread_use_pthreads();
	base = event_base_new();
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = evconnlistener_new_bind(base, on_accept, NULL,
		LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 64, (struct sockaddr *)&address,
		sizeof(address));
	if (!listener ||
		getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&address, &size))
		return 1;
	statistics = event_new(base, -1, EV_PERSIST, on_statistics, NULL);
	event_add(statistics, &often);
	if (pthread_create(&threads[0], NULL, stubs, NULL) ||
		pthread_create(&threads[1], NULL, dig, NULL))
		return 1;
	pthread_setname_np(threads[0], "stubs");
	pthread_setname_np(threads[1], "dig");
	event_base_dispatch(base);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("%d answers\n", answered);
	return 0;
}
