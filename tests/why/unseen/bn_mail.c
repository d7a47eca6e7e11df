/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: the sockets are watched edge-triggered, but session_readable reads only once, into a buffer of 4 KiB. The rest of a long
 *     message stays in the socket and gives no further event, so the server waits for its end, and the client for the reply.
 *   culprit: session_readable|serve_sessions|EPOLLET|epoll
 *   victim: newsletter|mail_client|read_reply
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A mail drop: a process with an epoll loop takes messages from client processes, each ended by a line with a dot. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CLIENTS = 4,
	MAX_MESSAGE = 64 * 1024
};

struct session {
	int socket, number, messages;
	size_t length;
	char text[MAX_MESSAGE];
};

struct client {
	const char *name;
	size_t size; /* of a message */
	int count;
	useconds_t pause;
};

static bool broken;
static int poller, open_sessions;

static const struct client clients[CLIENTS] = {
	{"alerts", 200, 60, 20000},
	{"newsletter", 30000, 3, 50000},
	{"cron", 900, 20, 40000},
	{"webform", 1500, 30, 25000},
};

static void session_close(struct session *session)
{
	close(session->socket);
	printf("session %d: %d messages\n", session->number, session->messages);
	free(session);
	open_sessions--;
}

/* Returns whether the session goes on. */
static bool session_take(struct session *session)
{
	if (session->length < 3 || memcmp(session->text + session->length - 3, "\n.\n", 3) != 0)
		return true;
	session->messages++;
	session->length = 0;
	return write(session->socket, "250 ok\n", 7) == 7;
}

static void session_readable(struct session *session)
{
	ssize_t count;

	do {
		size_t room = MAX_MESSAGE - session->length;

		count = read(session->socket, session->text + session->length,
			room < 4096 ? room : 4096);
		if (count == 0 || (count < 0 && errno != EAGAIN)) {
			session_close(session);
			return;
		}
		if (count < 0)
			break;
		session->length += (size_t)count;
		if (!session_take(session)) {
			session_close(session);
			return;
		}
	} while (!broken);
}

static void session_open(int socket, int number)
{
	struct session *session = calloc(1, sizeof(*session));
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = session};

	session->socket = socket;
	session->number = number;
	fcntl(socket, F_SETFL, O_NONBLOCK);
	epoll_ctl(poller, EPOLL_CTL_ADD, socket, &event);
	open_sessions++;
}

static void serve_sessions(int timer)
{
	struct epoll_event events[8];
	unsigned long expired, ticks = 0;

	while (open_sessions > 0) {
		int count = epoll_wait(poller, events, 8, -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.ptr)
				session_readable(events[i].data.ptr);
			else if (read(timer, &expired, sizeof(expired)) == sizeof(expired))
				ticks += expired;
		}
	}
	printf("%lu ticks\n", ticks);
}

static void read_reply(int socket)
{
	char reply[16];
	size_t have = 0;

	while (have == 0 || reply[have - 1] != '\n') {
		ssize_t count = read(socket, reply + have, sizeof(reply) - have);

		if (count <= 0)
			exit(1);
		have += (size_t)count;
	}
}

static void mail_client(const struct client *client, int socket)
{
	char *message = malloc(client->size);

	prctl(PR_SET_NAME, client->name);
	memset(message, 'x', client->size);
	memcpy(message + client->size - 3, "\n.\n", 3);
	for (int i = 0; i < client->count; i++) {
		size_t sent = 0;

		while (sent < client->size) {
			ssize_t count = write(socket, message + sent, client->size - sent);

			if (count <= 0)
				exit(1);
			sent += (size_t)count;
		}
		read_reply(socket);
		usleep(client->pause);
	}
	exit(0);
}

int main(int argc, char **argv)
{
	struct itimerspec interval = {{0, 100000000}, {0, 100000000}};
	struct epoll_event event = {.events = EPOLLIN};
	int sockets[CLIENTS], ends[2], timer;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	for (int i = 0; i < CLIENTS; i++) {
		pid_t child;

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
			return 1;
		child = fork();
		if (child < 0)
			return 1;
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (int j = 0; j < i; j++)
				close(sockets[j]);
			close(ends[0]);
			mail_client(&clients[i], ends[1]);
		}
		close(ends[1]);
		sockets[i] = ends[0];
	}
	poller = epoll_create1(EPOLL_CLOEXEC);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	timerfd_settime(timer, 0, &interval, NULL);
	epoll_ctl(poller, EPOLL_CTL_ADD, timer, &event);
	for (int i = 0; i < CLIENTS; i++)
		session_open(sockets[i], i);
	serve_sessions(timer);
	while (wait(NULL) > 0)
		continue;
	return 0;
}
