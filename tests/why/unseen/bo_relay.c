/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: The relay watches its clients edge-triggered, but client_readable calls recv only once for each event. The
 *     rest of a longer upload stays in the socket, no further event comes, and no answer either.
 *   culprit: client_readable|relay_loop
 *   victim: uploader
 * case: healthy
 *   args: healthy
 *   run: kill 2000
 *   ask: why
 *   culprit: nothing
 */
/* A relay for sensors: each message has its length in front, and is answered with one byte. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFFER 2048

struct client {
	int fd;
	uint32_t head, need; /* bytes of the length, bytes of the message that are missing */
	unsigned messages;
};

static int drain;
static unsigned total;

/* Goes through what came, and answers each message that is complete. */
static void client_parse(struct client *client, const unsigned char *data, size_t size)
{
	static const char ok = 'k';

	while (size) {
		uint32_t part;

		if (client->head < 4) {
			client->need = client->need << 8 | *data++;
			client->head++;
			size--;
		} else {
			part = client->need < size ? client->need : (uint32_t)size;
			client->need -= part;
			data += part;
			size -= part;
		}
		if (client->head == 4 && !client->need) {
			client->head = 0;
			client->messages++;
			total++;
			if (send(client->fd, &ok, 1, MSG_NOSIGNAL) != 1)
				perror("send");
		}
	}
}

static void client_readable(struct client *client)
{
	unsigned char buffer[BUFFER];
	ssize_t size;

	do {
		size = recv(client->fd, buffer, sizeof buffer, 0);
		if (size > 0)
			client_parse(client, buffer, (size_t)size);
	} while (drain && size > 0);
	if (!size) {
		close(client->fd);
		free(client);
	}
}

static void relay_accept(int epoll, int listener)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	struct client *client;
	int fd;

	fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return;
	client = calloc(1, sizeof *client);
	client->fd = fd;
	event.data.ptr = client;
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void relay_loop(int listener)
{
	struct epoll_event event = {.events = EPOLLIN}, events[16];
	int epoll = epoll_create1(EPOLL_CLOEXEC), ready;

	event.data.ptr = NULL;
	epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
	for (;;) {
		ready = epoll_wait(epoll, events, 16, 500);
		if (!ready)
			printf("idle, %u messages so far\n", total);
		for (int i = 0; i < ready; i++)
			if (events[i].data.ptr)
				client_readable(events[i].data.ptr);
			else
				relay_accept(epoll, listener);
	}
}

static struct sockaddr_in address = {.sin_family = AF_INET};

static int dial(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&address, sizeof address)) {
		perror("connect");
		exit(1);
	}
	return fd;
}

static int exchange(int fd, uint32_t size)
{
	unsigned char *message = calloc(1, size + 4);
	uint32_t length = htonl(size);
	char answer;
	int good;

	memcpy(message, &length, 4);
	good = send(fd, message, size + 4, MSG_NOSIGNAL) == (ssize_t)size + 4 &&
		recv(fd, &answer, 1, 0) == 1;
	free(message);
	return good;
}

static void *sensor(void *data)
{
	int fd = dial();

	pthread_setname_np(pthread_self(), data);
	while (exchange(fd, 24))
		usleep(20000);
	return NULL;
}

static void *uploader(void *data)
{
	int fd = dial();

	pthread_setname_np(pthread_self(), data);
	for (uint32_t size = 300; exchange(fd, size); size = size < 8000 ? size * 2 : 300) {
		printf("uploaded %u bytes\n", size);
		fflush(stdout);
		usleep(30000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	socklen_t length = sizeof address;
	pthread_t thread;
	int listener;

	drain = argc > 1 && !strcmp(argv[1], "healthy");
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 8) ||
		getsockname(listener, (struct sockaddr *)&address, &length)) {
		perror("listen");
		return 1;
	}
	pthread_create(&thread, NULL, sensor, "sensor-north");
	pthread_create(&thread, NULL, sensor, "sensor-south");
	pthread_create(&thread, NULL, uploader, "uploader");
	relay_loop(listener);
	return 0;
}
