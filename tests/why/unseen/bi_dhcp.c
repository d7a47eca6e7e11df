/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: before an offer the server probes the address for 400 ms. All probes share the timer
 *     probe_timer, and on_discover sets it anew each time. As the clients ask again every 30 ms, it is
 *     always put off, so on_probe_timeout never runs, and nobody gets an offer.
 *   culprit: on_probe_timeout|probe_timer|start_probe
 *   victim: on_retry
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */
/* A DHCP server with libevent, and some clients in the same loop that ask for an address again and again. */
#include <arpa/inet.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS 4
#define PROBES 16

struct message {
	char kind; /* D: discover, O: offer */
	int client, address;
};

struct client {
	int number, socket, address, tries, leases;
	struct event *retry, *answer;
};

struct probe {
	int client, address;
	bool used;
	struct sockaddr_in from;
};

static const struct timeval probe_time = {0, 400000}, retry_time = {0, 30000},
			    lease_time = {0, 300000};
static struct event_base *base;
static struct event *probe_timer;
static struct probe probes[PROBES];
static struct sockaddr_in server_address;
static int server, next_address = 10, offers;
static bool restart_timer;

static int open_socket(struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	memset(address, 0, sizeof(*address));
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (s < 0 || bind(s, (struct sockaddr *)address, sizeof(*address)) ||
		getsockname(s, (struct sockaddr *)address, &size))
		return -1;
	return s;
}

/* Nobody answered the probe: the addresses are free. */
static void on_probe_timeout(evutil_socket_t s, short what, void *data)
{
	(void)s;
	(void)what;
	(void)data;
	for (int i = 0; i < PROBES; i++)
		if (probes[i].used) {
			struct message offer = {'O', probes[i].client, probes[i].address};

			probes[i].used = false;
			offers++;
			sendto(server, &offer, sizeof(offer), 0, (struct sockaddr *)&probes[i].from,
				sizeof(probes[i].from));
		}
}

static void start_probe(int client, const struct sockaddr_in *from)
{
	struct probe *probe = NULL;

	for (int i = 0; i < PROBES; i++) {
		if (probes[i].used && probes[i].client == client) {
			probe = &probes[i];
			break;
		}
		if (!probes[i].used && !probe)
			probe = &probes[i];
	}
	if (!probe)
		return;
	if (!probe->used)
		probe->address = next_address++ % 200;
	probe->used = true;
	probe->client = client;
	probe->from = *from;
	if (restart_timer || !event_pending(probe_timer, EV_TIMEOUT, NULL))
		event_add(probe_timer, &probe_time);
}

static void on_discover(evutil_socket_t s, short what, void *data)
{
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	struct message message;

	(void)what;
	(void)data;
	while (recvfrom(s, &message, sizeof(message), 0, (struct sockaddr *)&from, &size) ==
		sizeof(message))
		if (message.kind == 'D')
			start_probe(message.client, &from);
}

static void send_discover(struct client *client)
{
	struct message discover = {'D', client->number, 0};

	client->tries++;
	sendto(client->socket, &discover, sizeof(discover), 0, (struct sockaddr *)&server_address,
		sizeof(server_address));
	event_add(client->retry, &retry_time);
}

/* No offer came, or the lease is over. */
static void on_retry(evutil_socket_t s, short what, void *data)
{
	struct client *client = data;

	(void)s;
	(void)what;
	client->address = 0;
	send_discover(client);
}

static void on_offer(evutil_socket_t s, short what, void *data)
{
	struct client *client = data;
	struct message message;

	(void)what;
	while (recv(s, &message, sizeof(message), 0) == sizeof(message)) {
		if (client->address)
			continue;
		client->address = message.address;
		client->leases++;
		event_add(client->retry, &lease_time);
	}
}

static void on_report(evutil_socket_t s, short what, void *data)
{
	struct client *clients = data;

	(void)s;
	(void)what;
	printf("%d offers, client 1: %d tries, %d leases\n", offers, clients->tries,
		clients->leases);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static struct client clients[CLIENTS];
	const struct timeval report_time = {0, 300000};
	struct sockaddr_in own;

	restart_timer = argc > 1 && !strcmp(argv[1], "broken");
	base = event_base_new();
	server = open_socket(&server_address);
	if (!base || server < 0)
		return 1;
	probe_timer = event_new(base, -1, 0, on_probe_timeout, NULL);
	event_add(event_new(base, server, EV_READ | EV_PERSIST, on_discover, NULL), NULL);
	event_add(event_new(base, -1, EV_PERSIST, on_report, clients), &report_time);
	for (int i = 0; i < CLIENTS; i++) {
		struct timeval begin = {0, 1000 + i * 7000};

		clients[i].number = i + 1;
		clients[i].socket = open_socket(&own);
		if (clients[i].socket < 0)
			return 1;
		clients[i].retry = event_new(base, -1, 0, on_retry, &clients[i]);
		clients[i].answer = event_new(base, clients[i].socket, EV_READ | EV_PERSIST,
			on_offer, &clients[i]);
		event_add(clients[i].answer, NULL);
		event_add(clients[i].retry, &begin);
	}
	return event_base_dispatch(base);
}
