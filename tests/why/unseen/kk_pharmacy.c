/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: open_door accepts one client per edge of its edge-triggered socket; the others stay in its queue.
 *   culprit: open_door|let_in|edge-triggered socket
 *   victim: fetch_medicine
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* This pharmacy serves clients over a Unix socket. Its loop uses epoll, edge-triggered. */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CLIENTS 5
#define VISITS 12

struct visitor {
	int socket;
	size_t had;
	char order[64];
};

static bool broken;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t address_size;
static int counter;
static int poller;
static unsigned int served;
static pthread_barrier_t morning;

static void watch(int fd, struct visitor *visitor)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = visitor};

	if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) < 0)
		abort();
}

static bool let_in(void)
{
	struct visitor *visitor;
	int socket = accept4(counter, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (socket < 0)
		return false;
	visitor = calloc(1, sizeof(*visitor));
	if (!visitor)
		abort();
	visitor->socket = socket;
	watch(socket, visitor);
	return true;
}

static void open_door(void)
{
	if (broken) {
		let_in();
		return;
	}
	while (let_in())
		;
}

static void leave(struct visitor *visitor)
{
	close(visitor->socket);
	free(visitor);
}

static void serve_visitor(struct visitor *visitor)
{
	for (;;) {
		size_t room = sizeof(visitor->order) - 1 - visitor->had;
		ssize_t got = read(visitor->socket, visitor->order + visitor->had, room);
		char reply[96];
		int length;

		if (got < 0 && errno == EAGAIN)
			return;
		if (got <= 0) {
			leave(visitor);
			return;
		}
		visitor->had += (size_t)got;
		visitor->order[visitor->had] = '\0';
		if (!strchr(visitor->order, '\n'))
			continue;
		visitor->had = 0;
		served++;
		length = snprintf(reply, sizeof(reply), "%u packets of %s", served % 3 + 1,
			visitor->order);
		if (write(visitor->socket, reply, (size_t)length) != length)
			perror("reply");
	}
}

static void *run_pharmacy(void *unused)
{
	pthread_barrier_wait(&morning);
	watch(counter, NULL);
	while (served < CLIENTS * VISITS) {
		struct epoll_event events[8];
		int n = epoll_wait(poller, events, 8, -1);

		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr)
				serve_visitor(events[i].data.ptr);
			else
				open_door();
		}
	}
	return unused;
}

static void fetch_medicine(int socket, const char *medicine)
{
	char reply[96];
	ssize_t got = -1;

	if (write(socket, medicine, strlen(medicine)) > 0)
		got = read(socket, reply, sizeof(reply));
	if (got <= 0)
		fprintf(stderr, "no medicine\n");
}

static void *run_client(void *data)
{
	unsigned int *number = data;
	int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char medicine[32];

	snprintf(medicine, sizeof(medicine), "medicine %u\n", *number);
	if (connect(socket_fd, (struct sockaddr *)&address, address_size) < 0)
		perror("connect");
	pthread_barrier_wait(&morning);
	for (unsigned int visit = 0; visit < VISITS; visit++) {
		fetch_medicine(socket_fd, medicine);
		usleep(3000 * (*number + 1));
	}
	close(socket_fd);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t pharmacy, clients[CLIENTS];
	unsigned int numbers[CLIENTS];
	int length;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "pharmacy-%d",
		(int)getpid());
	address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
	counter = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	poller = epoll_create1(EPOLL_CLOEXEC);
	if (bind(counter, (struct sockaddr *)&address, address_size) < 0 || listen(counter, 16) < 0)
		return 1;
	pthread_barrier_init(&morning, NULL, CLIENTS + 1);
	pthread_create(&pharmacy, NULL, run_pharmacy, NULL);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		numbers[i] = i;
		pthread_create(&clients[i], NULL, run_client, &numbers[i]);
	}
	for (unsigned int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	pthread_join(pharmacy, NULL);
	printf("%u served\n", served);
	return 0;
}
