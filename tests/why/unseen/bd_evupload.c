/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the store watches its clients edge-triggered (EV_ET), but on_upload_readable reads only once, at
 *     most 4096 bytes, for each event. The rest of an upload of 9000 bytes stays in the socket; no new edge
 *     comes, as the client "camera" has sent all and waits for the acknowledgement.
 *   culprit: on_upload_readable
 *   victim: camera|upload_file|main|event_base
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A store that takes uploads: a header with the size, the bytes, then the store acknowledges. */
#include <errno.h>
#include <event2/event.h>
#include <event2/util.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS 3
#define READ_SIZE 4096

struct client {
	const char *name;
	const uint32_t *sizes; /* of its files; 0 ends them */
	unsigned pause_ms;
	int socket;
	pthread_t thread;
};

struct session {
	struct event *readable;
	struct client *client;
	int socket;
	uint32_t size; /* of the file that comes now */
	uint32_t have; /* bytes of it, with the header */
	unsigned files;
};

static struct event_base *base;
static struct session sessions[CLIENTS];
static unsigned open_sessions;
static bool until_empty;

static const uint32_t thermometer_files[] = {120, 130, 110, 140, 120, 125, 130, 120, 0};
static const uint32_t scale_files[] = {700, 2500, 600, 3900, 800, 0};
static const uint32_t camera_files[] = {3000, 2800, 3500, 9000, 3100, 2900, 0};

static struct client clients[CLIENTS] = {
	{.name = "thermometer", .sizes = thermometer_files, .pause_ms = 12},
	{.name = "scale", .sizes = scale_files, .pause_ms = 25},
	{.name = "camera", .sizes = camera_files, .pause_ms = 18},
};

/* ---- clients: threads that block ---- */

static bool upload_file(int socket, uint32_t size)
{
	char *message = calloc(1, sizeof(size) + size);
	char answer = 0;
	ssize_t sent;

	memcpy(message, &size, sizeof(size));
	sent = send(socket, message, sizeof(size) + size, MSG_NOSIGNAL);
	free(message);
	if (sent != (ssize_t)(sizeof(size) + size))
		return false;
	return recv(socket, &answer, 1, 0) == 1 && answer == '+';
}

static void *client_run(void *data)
{
	struct client *client = data;

	pthread_setname_np(pthread_self(), client->name);
	for (const uint32_t *size = client->sizes; *size; size++) {
		usleep(client->pause_ms * 1000);
		if (!upload_file(client->socket, *size)) {
			fprintf(stderr, "%s: upload failed\n", client->name);
			break;
		}
	}
	close(client->socket);
	return NULL;
}

/* ---- the store ---- */

static void session_close(struct session *session)
{
	event_free(session->readable);
	session->readable = NULL;
	close(session->socket);
	if (--open_sessions == 0)
		event_base_loopbreak(base);
}

static void session_acknowledge(struct session *session)
{
	session->files++;
	session->have = 0;
	session->size = 0;
	if (send(session->socket, "+", 1, MSG_NOSIGNAL) != 1)
		fprintf(stderr, "store: %s is gone\n", session->client->name);
}

/* A client sends its next file only after the acknowledgement, so a read never has parts of two. */
static void session_consume(struct session *session, const char *bytes, size_t count)
{
	if (session->have == 0 && count >= sizeof(session->size))
		memcpy(&session->size, bytes, sizeof(session->size));
	session->have += (uint32_t)count;
	if (session->size && session->have == session->size + sizeof(session->size))
		session_acknowledge(session);
}

static void on_upload_readable(evutil_socket_t socket, short what, void *data)
{
	struct session *session = data;
	char bytes[READ_SIZE];
	ssize_t got;

	(void)what;
	do {
		got = recv(socket, bytes, sizeof(bytes), 0);
		if (got > 0)
			session_consume(session, bytes, (size_t)got);
	} while (until_empty && got > 0);
	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
		session_close(session);
}

static int session_open(struct session *session, struct client *client)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -1;
	client->socket = ends[1];
	session->client = client;
	session->socket = ends[0];
	evutil_make_socket_nonblocking(session->socket);
	session->readable = event_new(base, session->socket, EV_READ | EV_PERSIST | EV_ET,
		on_upload_readable, session);
	open_sessions++;
	return event_add(session->readable, NULL);
}

static void on_statistics(evutil_socket_t socket, short what, void *data)
{
	unsigned files = 0;

	(void)socket;
	(void)what;
	(void)data;
	for (int i = 0; i < CLIENTS; i++)
		files += sessions[i].files;
	printf("%u files, %u sessions\n", files, open_sessions);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const struct timeval interval = {0, 120000};
	struct event *statistics;

	if (argc < 2)
		return 2;
	until_empty = !strcmp(argv[1], "healthy");
	base = event_base_new();
	for (int i = 0; i < CLIENTS; i++)
		if (session_open(&sessions[i], &clients[i]))
			return 1;
	statistics = event_new(base, -1, EV_PERSIST, on_statistics, NULL);
	event_add(statistics, &interval);
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i].thread, NULL, client_run, &clients[i]);
	event_base_dispatch(base);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i].thread, NULL);
	event_free(statistics);
	event_base_free(base);
	return sessions[2].files == 6 ? 0 : 1;
}
