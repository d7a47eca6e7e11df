/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow="thread resolve_name"
 *   truth: The first name server of the list is switched off. A name that isn't in the cache waits in ask_server (poll) for the whole 220 ms of that server's timeout before the second server is asked, which answers at once.
 *   culprit: ask_server|poll
 *   victim: run_nameserver
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A stub resolver with a cache and two name servers. A thread for each lookup, as in a proxy. */

#define LOOKUPS 12

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t cache[256];
static struct sockaddr_in servers[2];
static int alive_socket, dead_socket;

static int open_server(struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memset(address, 0, sizeof(*address));
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)address, sizeof(*address)) ||
		getsockname(fd, (struct sockaddr *)address, &size))
		exit(1);
	return fd;
}

static void *run_nameserver(void *unused)
{
	struct sockaddr_in from;
	uint32_t message[2];

	(void)unused;
	for (;;) {
		socklen_t size = sizeof(from);

		if (recvfrom(alive_socket, message, sizeof(message), 0, (struct sockaddr *)&from,
			    &size) != sizeof(message) ||
			message[0] == 0)
			return NULL;
		message[1] = 0x0a000000u + message[0];
		sendto(alive_socket, message, sizeof(message), 0, (struct sockaddr *)&from, size);
	}
}

/* Returns the address; 0 if the server doesn't answer in time. */
static uint32_t ask_server(const struct sockaddr_in *server, uint32_t name)
{
	uint32_t message[2] = {name, 0}, address = 0;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct pollfd wait = {fd, POLLIN, 0};

	sendto(fd, message, sizeof(message), 0, (const struct sockaddr *)server, sizeof(*server));
	if (poll(&wait, 1, 220) == 1 && recv(fd, message, sizeof(message), 0) == sizeof(message))
		address = message[1];
	close(fd);
	return address;
}

static void *resolve_name(void *data)
{
	uint32_t name = (uint32_t)(uintptr_t)data, address;

	pthread_mutex_lock(&cache_lock);
	address = cache[name];
	pthread_mutex_unlock(&cache_lock);
	for (int i = 0; i < 2 && !address; i++)
		address = ask_server(&servers[i], name);
	pthread_mutex_lock(&cache_lock);
	cache[name] = address;
	pthread_mutex_unlock(&cache_lock);
	return NULL;
}

int main(int argc, char **argv)
{
	/* Most names are asked for again and again. */
	static const uint32_t names[LOOKUPS] = {3, 3, 3, 8, 8, 3, 8, 3, 8, 8, 3, 8};
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	uint32_t stop[2] = {0, 0};
	pthread_t server, lookup;

	dead_socket = open_server(&servers[broken ? 0 : 1]);
	alive_socket = open_server(&servers[broken ? 1 : 0]);
	pthread_create(&server, NULL, run_nameserver, NULL);
	for (int i = 0; i < LOOKUPS; i++) {
		pthread_create(&lookup, NULL, resolve_name, (void *)(uintptr_t)names[i]);
		pthread_join(lookup, NULL);
		printf("name %u: %08x\n", names[i], cache[names[i]]);
	}
	sendto(dead_socket, stop, sizeof(stop), 0, (struct sockaddr *)&servers[broken ? 1 : 0],
		sizeof(servers[0]));
	pthread_join(server, NULL);
	return 0;
}
