/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 2500
 *   ask: why
 *   truth: on_query keeps the clients' addresses in a table by the client's own query id. Two clients that use the
 *     same id at a time overwrite each other's entry, so the first answer goes to the wrong one, who drops it, and the
 *     second one to nobody. Both wait for ever.
 *   culprit: on_query|on_reply|pending|forwarder
 *   victim: resolve_name|client_main
 * case: healthy
 *   args: healthy
 *   run: live 2500
 *   ask: why
 *   culprit: nothing
 */
/* A small DNS forwarder: clients ask it over UDP, and it asks a server upstream. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define IDS 256
#define CLIENTS 3

struct packet {
	uint16_t id;
	uint16_t is_answer;
	char name[28];
};

struct pending {
	bool used;
	uint16_t id; /* the client's */
	struct sockaddr_in client;
};

static bool fixed;
static struct pending pending[IDS];
static unsigned next_id;
static struct sockaddr_in forwarder_address, upstream_address;
static int forwarder_socket, upstream_socket, query_socket;
static unsigned forwarded, answered;
static pthread_barrier_t power_on; /* the hosts of a room boot together */

static int udp_socket(struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);
	int s = socket(AF_INET, SOCK_DGRAM, 0);

	memset(address, 0, sizeof(*address));
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(s, (struct sockaddr *)address, sizeof(*address)) ||
		getsockname(s, (struct sockaddr *)address, &size))
		perror("bind");
	return s;
}

static void on_query(void)
{
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	struct packet packet;
	unsigned slot;

	if (recvfrom(forwarder_socket, &packet, sizeof(packet), 0, (struct sockaddr *)&from,
		    &size) < 0)
		return;
	slot = fixed ? next_id++ % IDS : packet.id % IDS;
	pending[slot].used = true;
	pending[slot].id = packet.id;
	pending[slot].client = from;
	packet.id = (uint16_t)slot;
	forwarded++;
	sendto(query_socket, &packet, sizeof(packet), 0, (struct sockaddr *)&upstream_address,
		sizeof(upstream_address));
}

static void on_reply(void)
{
	struct packet packet;
	struct pending *entry;

	if (recv(query_socket, &packet, sizeof(packet), 0) < 0)
		return;
	entry = &pending[packet.id % IDS];
	if (!entry->used)
		return; /* late, or a duplicate */
	entry->used = false;
	packet.id = entry->id;
	answered++;
	sendto(forwarder_socket, &packet, sizeof(packet), 0, (struct sockaddr *)&entry->client,
		sizeof(entry->client));
}

static void *forwarder(void *data)
{
	struct epoll_event event = {.events = EPOLLIN}, events[4];
	int epoll = epoll_create1(0);

	(void)data;
	pthread_setname_np(pthread_self(), "forwarder");
	event.data.fd = forwarder_socket;
	epoll_ctl(epoll, EPOLL_CTL_ADD, forwarder_socket, &event);
	event.data.fd = query_socket;
	epoll_ctl(epoll, EPOLL_CTL_ADD, query_socket, &event);
	for (;;) {
		int count = epoll_wait(epoll, events, 4, 500);

		if (count == 0)
			printf("forwarder: %u forwarded, %u answered\n", forwarded, answered);
		for (int i = 0; i < count; i++) {
			if (events[i].data.fd == forwarder_socket)
				on_query();
			else
				on_reply();
		}
	}
	return NULL;
}

/* Stands for the provider's server, some milliseconds away. */
static void *upstream(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "upstream");
	for (;;) {
		struct sockaddr_in from;
		socklen_t size = sizeof(from);
		struct packet packet;

		if (recvfrom(upstream_socket, &packet, sizeof(packet), 0, (struct sockaddr *)&from,
			    &size) < 0)
			break;
		usleep(15000);
		packet.is_answer = 1;
		sendto(upstream_socket, &packet, sizeof(packet), 0, (struct sockaddr *)&from, size);
	}
	return NULL;
}

static void resolve_name(int s, uint16_t id, int client)
{
	struct packet packet = {.id = id}, answer;

	snprintf(packet.name, sizeof(packet.name), "host%u.client%d", id, client);
	sendto(s, &packet, sizeof(packet), 0, (struct sockaddr *)&forwarder_address,
		sizeof(forwarder_address));
	do {
		if (recv(s, &answer, sizeof(answer), 0) < 0)
			return;
	} while (answer.id != id || strcmp(answer.name, packet.name));
}

static void *client_main(void *data)
{
	int client = (int)(intptr_t)data;
	struct sockaddr_in own;
	int s = udp_socket(&own);
	char name[16];

	snprintf(name, sizeof(name), "client %d", client);
	pthread_setname_np(pthread_self(), name);
	pthread_barrier_wait(&power_on);
	/* the last one has been up for longer than the others */
	for (uint16_t id = client == CLIENTS - 1 ? 100 : 1;; id++) {
		resolve_name(s, id, client);
		usleep(10000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_in query_address;
	pthread_t thread;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	setvbuf(stdout, NULL, _IOLBF, 0);
	forwarder_socket = udp_socket(&forwarder_address);
	upstream_socket = udp_socket(&upstream_address);
	query_socket = udp_socket(&query_address);
	pthread_barrier_init(&power_on, NULL, CLIENTS);
	pthread_create(&thread, NULL, upstream, NULL);
	pthread_create(&thread, NULL, forwarder, NULL);
	for (intptr_t i = 0; i < CLIENTS; i++)
		pthread_create(&thread, NULL, client_main, (void *)i);
	for (;;) {
		sleep(1);
		printf("main: still here, %u queries\n",
			__atomic_load_n(&forwarded, __ATOMIC_RELAXED));
	}
}
