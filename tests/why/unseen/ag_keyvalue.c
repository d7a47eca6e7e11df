/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The connections are watched with EPOLLONESHOT. serve_connection() returns without watch_again() if it has read
 *     only the first part of a command. Nobody reads the second part, and client-2 waits for its answer.
 *   culprit: serve_connection
 *   victim: client-2|run_client|ask_server
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A key-value server: two workers share one epoll descriptor, and each connection is served by one of them at a time. */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define WORKERS 2
#define CLIENTS 3
#define KEYS 16

struct connection {
	int descriptor;
	size_t used;
	char input[256];
};

struct client {
	pthread_t thread;
	const char *name;
	struct sockaddr_in address;
	size_t cut; /* sends the last command in two parts; the first has so many bytes */
	bool satisfied;
};

static int epoll, listener, stop;
static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	char key[32], value[64];
} store[KEYS];

static void pause_ms(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* "set KEY VALUE" or "get KEY" */
static NOINLINE void run_command(const char *line, char *answer, size_t size)
{
	char key[32], value[64];
	size_t slot = 0;

	pthread_mutex_lock(&store_lock);
	snprintf(answer, size, "unknown\n");
	if (sscanf(line, "set %31s %63s", key, value) == 2) {
		while (slot < KEYS - 1 && *store[slot].key && strcmp(store[slot].key, key))
			slot++;
		strcpy(store[slot].key, key);
		strcpy(store[slot].value, value);
		snprintf(answer, size, "ok\n");
	} else if (sscanf(line, "get %31s", key) == 1) {
		for (slot = 0; slot < KEYS; slot++)
			if (!strcmp(store[slot].key, key))
				snprintf(answer, size, "%s\n", store[slot].value);
	}
	pthread_mutex_unlock(&store_lock);
}

static NOINLINE void watch_again(struct connection *connection)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT,
		.data.ptr = connection};

	if (epoll_ctl(epoll, EPOLL_CTL_MOD, connection->descriptor, &event))
		perror("epoll_ctl");
}

static NOINLINE void close_connection(struct connection *connection)
{
	close(connection->descriptor);
	free(connection);
}

static NOINLINE void serve_connection(struct connection *connection)
{
	size_t space = sizeof(connection->input) - connection->used;
	ssize_t got = recv(connection->descriptor, connection->input + connection->used, space,
		MSG_DONTWAIT);
	char answer[96], *end;

	if (got <= 0 && !(got < 0 && errno == EAGAIN)) {
		close_connection(connection);
		return;
	}
	if (got > 0)
		connection->used += (size_t)got;
	end = memchr(connection->input, '\n', connection->used);
	if (!end)
		return; /* the rest of the command will come */
	while (end) {
		*end++ = '\0';
		run_command(connection->input, answer, sizeof(answer));
		if (send(connection->descriptor, answer, strlen(answer), MSG_NOSIGNAL) < 0)
			perror("send");
		connection->used -= (size_t)(end - connection->input);
		memmove(connection->input, end, connection->used);
		end = memchr(connection->input, '\n', connection->used);
	}
	watch_again(connection);
}

static NOINLINE void accept_connection(void)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT};
	struct connection *connection;
	int descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (descriptor < 0)
		return; /* the other worker has been faster */
	connection = calloc(1, sizeof(*connection));
	if (!connection)
		abort();
	connection->descriptor = descriptor;
	event.data.ptr = connection;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event))
		close_connection(connection);
}

static void *run_worker(void *data)
{
	struct epoll_event event;
	char name[16];

	snprintf(name, sizeof(name), "worker-%d", (int)(size_t)data);
	pthread_setname_np(pthread_self(), name);
	for (;;) {
		if (epoll_wait(epoll, &event, 1, -1) != 1)
			continue;
		if (event.data.ptr == &stop)
			return NULL;
		if (event.data.ptr == &listener)
			accept_connection();
		else
			serve_connection(event.data.ptr);
	}
}

static NOINLINE bool ask_server(int descriptor, const char *command, size_t cut,
	const char *expected)
{
	char answer[64] = "";
	size_t length = strlen(command), used = 0;

	if (cut) {
		if (send(descriptor, command, cut, MSG_NOSIGNAL) < 0)
			return false;
		pause_ms(200);
	}
	if (send(descriptor, command + cut, length - cut, MSG_NOSIGNAL) < 0)
		return false;
	while (used < sizeof(answer) - 1 && !strchr(answer, '\n')) {
		ssize_t got = recv(descriptor, answer + used, sizeof(answer) - 1 - used, 0);

		if (got <= 0)
			return false;
		used += (size_t)got;
	}
	return !strcmp(answer, expected);
}

static void *run_client(void *data)
{
	struct client *client = data;
	int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	char command[96], expected[64];

	pthread_setname_np(pthread_self(), client->name);
	if (connect(descriptor, (struct sockaddr *)&client->address, sizeof(client->address)))
		return NULL;
	setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	snprintf(command, sizeof(command), "set %s likes-tea\n", client->name);
	client->satisfied = ask_server(descriptor, command, 0, "ok\n");
	pause_ms(100);
	snprintf(command, sizeof(command), "set %s likes-coffee\n", client->name);
	client->satisfied &= ask_server(descriptor, command, client->cut, "ok\n");
	snprintf(command, sizeof(command), "get %s\n", client->name);
	snprintf(expected, sizeof(expected), "likes-coffee\n");
	client->satisfied &= ask_server(descriptor, command, 0, expected);
	close(descriptor);
	return NULL;
}

static int listen_and_watch(struct sockaddr_in *address)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = &listener};
	socklen_t size = sizeof(*address);

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	stop = eventfd(0, EFD_CLOEXEC);
	if (listener < 0 || epoll < 0 || stop < 0 ||
		bind(listener, (struct sockaddr *)address, size) || listen(listener, 8) ||
		getsockname(listener, (struct sockaddr *)address, &size) ||
		epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event))
		return -1;
	event.data.ptr = &stop;
	return epoll_ctl(epoll, EPOLL_CTL_ADD, stop, &event);
}

int main(int argc, char **argv)
{
	static const char *const names[CLIENTS] = {"client-1", "client-2", "client-3"};
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct client clients[CLIENTS] = {0};
	pthread_t workers[WORKERS];
	int satisfied = 0;

	if (listen_and_watch(&address))
		return EXIT_FAILURE;
	for (size_t i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, run_worker, (void *)(i + 1));
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = (struct client){.name = names[i],
			.address = address,
			.cut = broken && i == 1 ? 9 : 0};
		pthread_create(&clients[i].thread, NULL, run_client, &clients[i]);
	}
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(clients[i].thread, NULL);
		satisfied += clients[i].satisfied;
	}
	if (eventfd_write(stop, 1))
		return EXIT_FAILURE;
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	printf("%d of %d clients satisfied\n", satisfied, CLIENTS);
	return satisfied == CLIENTS ? EXIT_SUCCESS : EXIT_FAILURE;
}
