/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: conn_readable reads one buffer from an edge-triggered socket and goes back to epoll_wait. If a client
 *     sends more than that in one go, the rest stays in the socket, and no event comes for it: the bot never gets its PONG.
 *   culprit: conn_readable
 *   victim: bot|alice|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A little IRC server: one epoll loop for all connections. Clients are threads at the other ends of socket pairs. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	LINE = 512,
	CLIENTS = 3
};

struct conn {
	int fd;
	char nick[16];
	char in[LINE * 2];
	size_t used;
	unsigned messages;
};

static bool careful;
static struct conn conns[CLIENTS];
static int ends[CLIENTS];
static int epoll;
static int open_conns;

static void reply(struct conn *conn, const char *text)
{
	if (send(conn->fd, text, strlen(text), MSG_NOSIGNAL) < 0 && errno != EPIPE)
		perror("send");
}

static void handle_line(struct conn *conn, char *line)
{
	char text[LINE + 32];

	if (!strncmp(line, "NICK ", 5)) {
		snprintf(conn->nick, sizeof(conn->nick), "%.15s", line + 5);
		snprintf(text, sizeof(text), ":irc 001 %s\n", conn->nick);
		reply(conn, text);
	} else if (!strncmp(line, "PING ", 5)) {
		snprintf(text, sizeof(text), "PONG %.64s\n", line + 5);
		reply(conn, text);
	} else if (!strncmp(line, "PRIVMSG ", 8)) {
		conn->messages++;
	}
}

static void handle_input(struct conn *conn)
{
	char *start = conn->in, *end;

	while ((end = memchr(start, '\n', conn->in + conn->used - start))) {
		*end = '\0';
		handle_line(conn, start);
		start = end + 1;
	}
	conn->used -= start - conn->in;
	memmove(conn->in, start, conn->used);
}

static void conn_close(struct conn *conn)
{
	printf("%s quits after %u messages\n", conn->nick, conn->messages);
	close(conn->fd);
	open_conns--;
}

static void conn_readable(struct conn *conn)
{
	ssize_t got;

	do {
		got = read(conn->fd, conn->in + conn->used, LINE);
		if (got == 0) {
			conn_close(conn);
			return;
		}
		if (got < 0)
			return;
		conn->used += got;
		handle_input(conn);
	} while (careful);
}

static void serve(void)
{
	struct epoll_event events[8];

	while (open_conns > 0) {
		int count = epoll_wait(epoll, events, 8, -1);

		for (int i = 0; i < count; i++)
			conn_readable(events[i].data.ptr);
	}
}

static void expect(int fd, const char *word)
{
	char text[256];
	ssize_t got = read(fd, text, sizeof(text) - 1);

	if (got <= 0)
		return;
	text[got] = '\0';
	if (!strstr(text, word))
		fprintf(stderr, "expected %s, got %s", word, text);
}

/* People type a line now and then. */
static void *person(void *data)
{
	int fd = *(int *)data;

	dprintf(fd, "NICK %s\n", data == &ends[0] ? "alice" : "bob");
	expect(fd, "001");
	for (int i = 0; i < 45; i++) {
		usleep(50000);
		dprintf(fd, "PRIVMSG #c :line %d\nPING %d\n", i, i);
		expect(fd, "PONG");
	}
	close(fd);
	return NULL;
}

/* The bot pastes its news at once, and then asks whether all has arrived. */
static void *bot(void *data)
{
	int fd = *(int *)data;
	char paste[2048];
	int length = 0;

	dprintf(fd, "NICK newsbot\n");
	expect(fd, "001");
	usleep(100000);
	for (int i = 0; i < 25; i++)
		length += sprintf(paste + length,
			"PRIVMSG #news :headline number %d of this hour\n", i);
	length += sprintf(paste + length, "PING done\n");
	if (write(fd, paste, length) != length)
		perror("write");
	expect(fd, "PONG");
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[CLIENTS];

	careful = argc > 1 && !strcmp(argv[1], "healthy");
	epoll = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < CLIENTS; i++) {
		int pair[2];
		struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET,
			.data.ptr = &conns[i]};

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
			return 1;
		conns[i].fd = pair[0];
		ends[i] = pair[1];
		fcntl(pair[0], F_SETFL, O_NONBLOCK);
		epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event);
		open_conns++;
	}
	for (int i = 0; i < CLIENTS; i++) {
		pthread_create(&threads[i], NULL, i == 2 ? bot : person, &ends[i]);
		pthread_setname_np(threads[i], i == 2 ? "newsbot" : i ? "bob" : "alice");
	}
	serve();
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
