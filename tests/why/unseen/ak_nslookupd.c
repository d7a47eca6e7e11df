/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: one name is in a zone that has expired, so the thread ns-primary fetches the zone in refresh_zone before it
 *     answers, which blocks it for 600 ms. The lookup runs into its timeout and asks ns-secondary, as do all others
 *     after it.
 *   culprit: refresh_zone
 *   victim: on_query_timeout|ns-secondary|on_answer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* nslookupd looks up names by datagrams with libevent: at the primary server, and after a timeout at the secondary. */

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS 200

struct packet {
	uint32_t id, address;
	char name[56];
};

struct server {
	const char *name;
	int client_fd, fd;
	pthread_t thread;
	struct event *readable;
	bool expired[3]; /* a zone's copy is too old */
	unsigned answers;
};

static const char *const names[] = {"loom.weave.example", "warp.weave.example",
	"madder.dye.example", "weft.weave.example", "woad.dye.example", "shed.weave.example"};
static const char *const zones[] = {"weave.example", "dye.example", "spin.example"};

#define NAMES (sizeof names / sizeof names[0])
#define ZONES (sizeof zones / sizeof zones[0])

static struct event_base *base;
static struct event *query_timeout, *pause_ended;
static struct server primary = {.name = "ns-primary"}, secondary = {.name = "ns-secondary"};
static struct server *preferred = &primary;
static unsigned current, timeouts;
static int transfer_fds[2];

static void pause_ms(long ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

/* The servers */

/* The zones' master gives the whole zone in pieces, slowly. */
static void *run_master(void *data)
{
	char piece[128], zone[64];
	int fd = *(int *)data;

	pthread_setname_np(pthread_self(), "ns-master");
	for (;;) {
		if (read(fd, zone, sizeof zone) <= 0)
			return NULL;
		memset(piece, 'z', sizeof piece);
		for (int i = 0; i < 3; i++) {
			pause_ms(200);
			piece[0] = i < 2 ? '+' : '.';
			if (write(fd, piece, sizeof piece) < 0)
				return NULL;
		}
	}
}

__attribute__((noinline)) int refresh_zone(struct server *server, unsigned zone)
{
	char piece[128] = "";
	int pieces = 0;

	if (write(transfer_fds[0], zones[zone], strlen(zones[zone]) + 1) < 0)
		return -1;
	while (piece[0] != '.') {
		if (read(transfer_fds[0], piece, sizeof piece) <= 0)
			return -1;
		pieces++;
	}
	server->expired[zone] = false;
	return pieces;
}

static unsigned zone_of(const char *name)
{
	const char *dot = strchr(name, '.');

	for (unsigned i = 0; dot && i < ZONES; i++)
		if (!strcmp(dot + 1, zones[i]))
			return i;
	return 0;
}

__attribute__((noinline)) void answer_query(struct server *server, struct packet *packet)
{
	unsigned zone = zone_of(packet->name);

	if (server->expired[zone] && refresh_zone(server, zone) < 0)
		return;
	packet->address = 0x7f000000u | zone << 8 | packet->id;
	if (send(server->fd, packet, sizeof *packet, MSG_NOSIGNAL) > 0)
		server->answers++;
}

static void *run_server(void *data)
{
	struct server *server = data;
	struct packet packet;

	pthread_setname_np(pthread_self(), server->name);
	while (recv(server->fd, &packet, sizeof packet, 0) == sizeof packet && packet.name[0])
		answer_query(server, &packet);
	return NULL;
}

/* The client */

__attribute__((noinline)) void send_query(void)
{
	const struct timeval timeout = {0, TIMEOUT_MS * 1000};
	struct packet packet = {.id = current};

	snprintf(packet.name, sizeof packet.name, "%s", names[current]);
	if (send(preferred->client_fd, &packet, sizeof packet, MSG_NOSIGNAL) < 0)
		perror("nslookupd: send");
	event_add(query_timeout, &timeout);
}

void on_answer(evutil_socket_t fd, short events, void *data)
{
	const struct timeval pause = {0, 20000};
	struct packet packet;

	(void)events;
	(void)data;
	if (recv(fd, &packet, sizeof packet, 0) != sizeof packet || packet.id != current)
		return; /* late */
	event_del(query_timeout);
	printf("%s has address %#x\n", packet.name, packet.address);
	if (++current < NAMES)
		event_add(pause_ended, &pause);
	else
		event_base_loopbreak(base);
}

void on_query_timeout(evutil_socket_t fd, short events, void *data)
{
	(void)fd;
	(void)events;
	(void)data;
	fprintf(stderr, "nslookupd: %s: no answer from %s\n", names[current], preferred->name);
	timeouts++;
	preferred = preferred == &primary ? &secondary : &primary;
	send_query();
}

void on_pause_ended(evutil_socket_t fd, short events, void *data)
{
	(void)fd;
	(void)events;
	(void)data;
	send_query();
}

static int start_server(struct server *server)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	server->client_fd = ends[0];
	server->fd = ends[1];
	evutil_make_socket_nonblocking(ends[0]);
	server->readable = event_new(base, ends[0], EV_READ | EV_PERSIST, on_answer, server);
	event_add(server->readable, NULL);
	return pthread_create(&server->thread, NULL, run_server, server);
}

static void stop_server(struct server *server)
{
	const struct packet goodbye = {0};

	if (send(server->client_fd, &goodbye, sizeof goodbye, MSG_NOSIGNAL) < 0)
		perror("nslookupd: send");
	pthread_join(server->thread, NULL);
	event_free(server->readable);
	close(server->client_fd);
	close(server->fd);
}

int main(int argc, char **argv)
{
	pthread_t master;

	primary.expired[1] = argc > 1 && !strcmp(argv[1], "broken");
	base = event_base_new();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, transfer_fds) < 0)
		return 1;
	pthread_create(&master, NULL, run_master, &transfer_fds[1]);
	query_timeout = event_new(base, -1, 0, on_query_timeout, NULL);
	pause_ended = event_new(base, -1, 0, on_pause_ended, NULL);
	if (start_server(&primary) || start_server(&secondary))
		return 1;

	send_query();
	event_base_dispatch(base);

	stop_server(&primary);
	stop_server(&secondary);
	shutdown(transfer_fds[0], SHUT_RDWR);
	pthread_join(master, NULL);
	printf("%u names, %u timeouts; %u answers by the primary, %u by the secondary\n", current,
		timeouts, primary.answers, secondary.answers);
	event_free(query_timeout);
	event_free(pause_ended);
	event_base_free(base);
	return 0;
}
