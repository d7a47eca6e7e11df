/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The stub's event is added for one datagram only. When on_reply gets a second answer to an old
 *     query, it ignores it and returns without adding its event again, so the true answer stays in the
 *     socket unread.
 *   culprit: on_reply
 *   victim: send_query|resolve
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <arpa/inet.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct packet {
	uint16_t id;
	char name[30];
	uint32_t address;
};

struct stub {
	struct event_base *base;
	struct event *readable;
	int fd;
	uint16_t id;
	unsigned next;
	bool patient; /* waits again after an answer that it doesn't want */
};

struct server {
	struct event *readable, *beat;
	int fd;
	unsigned served, beats;
};

static const char *const names[] = {
	"mail.example.org",
	"www.example.org",
	"ldap.example.org",
	"git.example.org",
	"ntp.example.org",
	"cache.example.org",
	"build.example.org",
	"wiki.example.org",
};
#define NAMES (sizeof(names) / sizeof(*names))

/* Answers each query. A query for ldap is answered twice, as by a network with two paths. */
static void serve_query(evutil_socket_t fd, short events, void *data)
{
	struct server *server = data;
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	struct packet packet;

	(void)events;
	if (recvfrom(fd, &packet, sizeof(packet), 0, (struct sockaddr *)&from, &size) !=
		sizeof(packet))
		return;
	server->served++;
	packet.address = htonl(0x0a000000 + packet.id);
	sendto(fd, &packet, sizeof(packet), 0, (struct sockaddr *)&from, size);
	if (!strncmp(packet.name, "ldap", 4))
		sendto(fd, &packet, sizeof(packet), 0, (struct sockaddr *)&from, size);
}

static void beat_server(evutil_socket_t fd, short events, void *data)
{
	struct server *server = data;

	(void)fd;
	(void)events;
	server->beats++;
}

static void send_query(struct stub *stub)
{
	struct packet packet = {.id = ++stub->id};

	snprintf(packet.name, sizeof(packet.name), "%s", names[stub->next]);
	if (send(stub->fd, &packet, sizeof(packet), 0) < 0)
		perror("send");
	event_add(stub->readable, NULL);
}

static void on_reply(evutil_socket_t fd, short events, void *data)
{
	struct stub *stub = data;
	struct packet packet;
	char text[INET_ADDRSTRLEN];

	(void)events;
	if (recv(fd, &packet, sizeof(packet), 0) != sizeof(packet))
		return;
	if (packet.id != stub->id) {
		fprintf(stderr, "ignoring a late answer for %s\n", packet.name);
		if (stub->patient)
			event_add(stub->readable, NULL);
		return;
	}
	printf("%s has address %s\n", packet.name,
		inet_ntop(AF_INET, &packet.address, text, sizeof(text)));
	if (++stub->next < NAMES)
		send_query(stub);
	else
		event_base_loopbreak(stub->base);
}

static int open_socket(struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	memset(address, 0, sizeof(*address));
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)address, size))
		return -1;
	getsockname(fd, (struct sockaddr *)address, &size);
	evutil_make_socket_nonblocking(fd);
	return fd;
}

int main(int argc, char **argv)
{
	struct event_base *base = event_base_new();
	struct timeval period = {.tv_usec = 20000};
	struct sockaddr_in server_address, stub_address;
	struct server server = {0};
	struct stub stub = {.base = base};

	stub.patient = argc > 1 && !strcmp(argv[1], "healthy");
	server.fd = open_socket(&server_address);
	stub.fd = open_socket(&stub_address);
	if (server.fd < 0 || stub.fd < 0)
		return 1;
	if (connect(stub.fd, (struct sockaddr *)&server_address, sizeof(server_address)))
		return 1;
	server.readable = event_new(base, server.fd, EV_READ | EV_PERSIST, serve_query, &server);
	server.beat = event_new(base, -1, EV_PERSIST, beat_server, &server);
	event_add(server.readable, NULL);
	event_add(server.beat, &period);
	stub.readable = event_new(base, stub.fd, EV_READ, on_reply, &stub);
	send_query(&stub);
	event_base_dispatch(base);
	fprintf(stderr, "%u queries served\n", server.served);
	event_free(stub.readable);
	event_free(server.readable);
	event_free(server.beat);
	event_base_free(base);
	close(stub.fd);
	close(server.fd);
	return 0;
}
