/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_readable pauses the connection (pause_reading) when its answers exceed the high-water mark,
 *     but only on_writable resumes it; if flush_output gets rid of all at once, EPOLLOUT is never asked for,
 *     and the loop never reads the next request, which lies in the socket
 *   culprit: pause_reading|on_readable|flush_output|resume_reading|run_loop
 *   victim: client|fetch_blob
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A server of blobs on a local socket: one loop with epoll, which reads no more requests while answers pile up. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define HIGH_WATER 65536
#define LOW_WATER 16384

struct connection {
	int descriptor;
	uint32_t interest;
	bool paused;
	char *out; /* answers that aren't sent yet */
	size_t sent, size;
};

static int epoll, listener;
static unsigned connections, served;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t address_size;

static void set_interest(struct connection *connection, uint32_t interest)
{
	struct epoll_event event = {.events = interest, .data.ptr = connection};

	if (interest == connection->interest)
		return;
	connection->interest = interest;
	epoll_ctl(epoll, EPOLL_CTL_MOD, connection->descriptor, &event);
}

__attribute__((noinline)) void pause_reading(struct connection *connection)
{
	connection->paused = true;
	set_interest(connection, connection->interest & ~(uint32_t)EPOLLIN);
}

__attribute__((noinline)) void resume_reading(struct connection *connection)
{
	connection->paused = false;
	set_interest(connection, connection->interest | EPOLLIN);
}

/* Sends what it can, and asks to be told when there is room for the rest. */
__attribute__((noinline)) bool flush_output(struct connection *connection)
{
	while (connection->sent < connection->size) {
		ssize_t size = send(connection->descriptor, connection->out + connection->sent,
			connection->size - connection->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (size < 0) {
			set_interest(connection, connection->interest | EPOLLOUT);
			return errno == EAGAIN;
		}
		connection->sent += (size_t)size;
	}
	connection->sent = connection->size = 0;
	set_interest(connection, connection->interest & ~(uint32_t)EPOLLOUT);
	return true;
}

static void append_blob(struct connection *connection, uint32_t size)
{
	size_t end = connection->size;

	connection->out = realloc(connection->out, end + sizeof(size) + size);
	if (!connection->out)
		abort();
	memcpy(connection->out + end, &size, sizeof(size));
	memset(connection->out + end + sizeof(size), 'b', size);
	connection->size = end + sizeof(size) + size;
	served++;
}

/* Each request is the number of a blob, which is as long as its number says. */
__attribute__((noinline)) bool on_readable(struct connection *connection)
{
	uint32_t requests[16];
	ssize_t size = recv(connection->descriptor, requests, sizeof(requests), MSG_DONTWAIT);

	if (size < 0)
		return errno == EAGAIN || errno == EINTR;
	if (size == 0 || size % 4)
		return false;
	for (size_t i = 0; i < (size_t)size / 4; i++)
		append_blob(connection, requests[i]);
	if (connection->size - connection->sent > HIGH_WATER)
		pause_reading(connection);
	return flush_output(connection);
}

__attribute__((noinline)) bool on_writable(struct connection *connection)
{
	bool is_good = flush_output(connection);

	if (connection->paused && connection->size - connection->sent <= LOW_WATER)
		resume_reading(connection);
	return is_good;
}

static void accept_connection(void)
{
	struct connection *connection = calloc(1, sizeof(*connection));
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};

	if (!connection)
		abort();
	connection->descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	connection->interest = EPOLLIN;
	if (connection->descriptor < 0 ||
		epoll_ctl(epoll, EPOLL_CTL_ADD, connection->descriptor, &event))
		abort();
	connections++;
}

/* Runs until the last client has gone. */
__attribute__((noinline)) void run_loop(void)
{
	struct epoll_event events[8];
	bool is_good;

	do {
		int count = epoll_wait(epoll, events, 8, -1);

		for (int i = 0; i < count; i++) {
			struct connection *connection = events[i].data.ptr;

			if (!connection) {
				accept_connection();
				continue;
			}
			is_good = true;
			if (events[i].events & EPOLLOUT)
				is_good = on_writable(connection);
			if (is_good && events[i].events & EPOLLIN)
				is_good = on_readable(connection);
			if (!is_good) {
				close(connection->descriptor);
				free(connection->out);
				free(connection);
				connections--;
			}
		}
	} while (connections);
}

__attribute__((noinline)) void fetch_blob(int server, uint32_t number)
{
	static char blob[1 << 20];
	uint32_t size;

	if (send(server, &number, sizeof(number), MSG_NOSIGNAL) != sizeof(number) ||
		recv(server, &size, sizeof(size), MSG_WAITALL) != sizeof(size) ||
		size > sizeof(blob)) {
		perror("client");
		return;
	}
	if (size > 250000)
		usleep(180000); /* makes room for it on the disk */
	if (recv(server, blob, size, MSG_WAITALL) != (ssize_t)size)
		perror("client");
}

static uint32_t numbers[] = {200, 4000, 600000, 900, 30000, 700000, 50, 0};

static void *run_client(void *data)
{
	const uint32_t *number = data;
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	pthread_setname_np(pthread_self(), "client");
	if (server < 0 || connect(server, (struct sockaddr *)&address, address_size))
		abort();
	for (; *number; number++) {
		usleep(30000);
		fetch_blob(server, *number);
	}
	close(server);
	return NULL;
}

int main(int argc, char **argv)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
	pthread_t client;

	if (argc > 1 && !strcmp(argv[1], "broken"))
		numbers[4] = 90000;
	address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1);
	address_size += (socklen_t)snprintf(address.sun_path + 1, 64, "as-blobd-%d", (int)getpid());
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, address_size) ||
		listen(listener, 8) || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event))
		return 1;
	if (pthread_create(&client, NULL, run_client, numbers))
		return 1;
	run_loop();
	pthread_join(client, NULL);
	printf("%u blobs\n", served);
	return 0;
}
