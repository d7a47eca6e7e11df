/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The server watches its connections edge-triggered (EPOLLET), but on_readable reads only once for each event. It reads the first 1,024 bytes of a SET of 3,000; no edge comes for the rest, so it waits in epoll_wait with unread bytes in the socket, and the loader waits for its answer.
 *   culprit: kv-server|serve_loop|on_readable
 *   victim: loader|load_photos|dashboard|show_numbers
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A key-value server with one thread and epoll, and two clients: one reads small values, one stores
 * large ones.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct connection {
	int socket;
	size_t have;
	char buffer[8192];
};

static bool broken;
static int listener, stop_event;
static struct sockaddr_un address;
static socklen_t address_size;
static unsigned stored, served;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Answers all requests that are complete. A request is "GET key\n" or "SET key size\n" and the value. */
static void answer_requests(struct connection *connection)
{
	for (;;) {
		char *end = memchr(connection->buffer, '\n', connection->have);
		char answer[32];
		size_t size, value = 0;
		int length;

		if (!end)
			return;
		size = (size_t)(end - connection->buffer) + 1;
		*end = '\0';
		if (sscanf(connection->buffer, "SET %*s %zu", &value) == 1) {
			if (connection->have < size + value) {
				*end = '\n';
				return; /* the rest is to come */
			}
			stored++;
			length = snprintf(answer, sizeof(answer), "STORED %u\n", stored);
		} else {
			served++;
			length = snprintf(answer, sizeof(answer), "VALUE %u\n", served);
		}
		size += value;
		connection->have -= size;
		memmove(connection->buffer, connection->buffer + size, connection->have);
		if (write(connection->socket, answer, (size_t)length) != length)
			return;
	}
}

/* Returns false at the end of the connection. */
static bool on_readable(struct connection *connection)
{
	ssize_t got;

	do {
		size_t room = sizeof(connection->buffer) - connection->have;

		got = read(connection->socket, connection->buffer + connection->have,
			room < 1024 ? room : 1024);
		if (got == 0)
			return false;
		if (got < 0)
			return errno == EAGAIN || errno == EINTR;
		connection->have += (size_t)got;
		answer_requests(connection);
	} while (!broken);
	return true;
}

static void watch(int epoll, int descriptor, unsigned events, void *data)
{
	struct epoll_event event = {.events = events, .data.ptr = data};

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event))
		fail("epoll_ctl");
}

static void *serve_loop(void *data)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;

	(void)data;
	pthread_setname_np(pthread_self(), "kv-server");
	watch(epoll, listener, EPOLLIN, &listener);
	watch(epoll, stop_event, EPOLLIN, &stop_event);
	for (;;) {
		if (epoll_wait(epoll, &event, 1, -1) != 1)
			continue;
		if (event.data.ptr == &stop_event)
			break;
		if (event.data.ptr == &listener) {
			struct connection *connection = calloc(1, sizeof(*connection));

			connection->socket = accept4(listener, NULL, NULL,
				SOCK_NONBLOCK | SOCK_CLOEXEC);
			watch(epoll, connection->socket, EPOLLIN | EPOLLET, connection);
		} else if (!on_readable(event.data.ptr)) {
			struct connection *connection = event.data.ptr;

			close(connection->socket);
			free(connection);
		}
	}
	close(epoll);
	return NULL;
}

static int dial(void)
{
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (client < 0 || connect(client, (struct sockaddr *)&address, address_size))
		fail("connect");
	return client;
}

/* Sends a request in one piece and waits for the line of the answer. */
static void ask(int client, const char *request, size_t size)
{
	char answer[32];
	ssize_t got;

	if (write(client, request, size) != (ssize_t)size)
		fail("write");
	got = read(client, answer, sizeof(answer));
	if (got <= 0)
		fail("read");
}

static void *show_numbers(void *data)
{
	int client = dial();

	pthread_setname_np(pthread_self(), "dashboard");
	for (int i = 0; i < 20; i++) {
		ask(client, "GET visitors\n", 13);
		usleep(5000);
	}
	close(client);
	return data;
}

static void *load_photos(void *data)
{
	static const int sizes[] = {300, 120, 700, 80, 450, 3000, 200, 2600, 90};
	int client = dial();
	char request[4096];

	pthread_setname_np(pthread_self(), "loader");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int head = snprintf(request, sizeof(request), "SET photo%zu %d\n", i, sizes[i]);

		memset(request + head, 'x', (size_t)sizes[i]);
		ask(client, request, (size_t)(head + sizes[i]));
		usleep(3000);
	}
	close(client);
	return data;
}

int main(int argc, char **argv)
{
	pthread_t server, dashboard, loader;
	int name;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	address.sun_family = AF_UNIX;
	/* An abstract name leaves no file behind. */
	name = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "kvedge-%d", getpid());
	address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)name);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	stop_event = eventfd(0, EFD_CLOEXEC);
	if (listener < 0 || stop_event < 0 ||
		bind(listener, (struct sockaddr *)&address, address_size) || listen(listener, 8))
		fail("listen");
	pthread_create(&server, NULL, serve_loop, NULL);
	pthread_create(&dashboard, NULL, show_numbers, NULL);
	pthread_create(&loader, NULL, load_photos, NULL);
	pthread_join(dashboard, NULL);
	pthread_join(loader, NULL);
	eventfd_write(stop_event, 1);
	pthread_join(server, NULL);
	printf("%u stored, %u served\n", stored, served);
	return 0;
}
