/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: The sockets are watched edge-triggered, but on_readable reads only once per event. The first 256 bytes
 *     of petra's long post are read; the rest stays in the socket, no new edge comes, and she never gets a reply.
 *   culprit: on_readable|run_board|EPOLLET|edge
 *   victim: petra
 * case: healthy
 *   args: healthy
 *   run: kill 2000
 *   ask: why
 *   culprit: nothing
 */

/* A message board: users post lines, and each post is answered with its number. */
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

#define USERS 4
#define POST_MAX 2048

struct session {
	int fd;
	size_t used;
	char post[POST_MAX];
};

struct user {
	const char *name;
	int fd;
	size_t length; /* of posts */
	unsigned pause_ms;
	pthread_t thread;
};

static struct session sessions[USERS];
static struct user users[USERS] = {
	{.name = "mina", .length = 40, .pause_ms = 20},
	{.name = "otto", .length = 80, .pause_ms = 35},
	{.name = "petra", .length = 900, .pause_ms = 50},
	{.name = "quinn", .length = 120, .pause_ms = 25},
};
static bool broken;
static unsigned posts;

static void reply(struct session *session)
{
	char line[32];
	int size = snprintf(line, sizeof line, "posted %u\n", ++posts);

	if (write(session->fd, line, (size_t)size) != size)
		perror("reply");
	session->used = 0;
}

/* Takes what has come, and answers a complete post. */
static void on_readable(struct session *session)
{
	char chunk[256];
	ssize_t size;

	do {
		size = read(session->fd, chunk, sizeof chunk);
		if (size <= 0) {
			if (size < 0 && errno != EAGAIN)
				perror("read");
			return;
		}
		if (session->used + (size_t)size > sizeof session->post)
			session->used = 0;
		memcpy(session->post + session->used, chunk, (size_t)size);
		session->used += (size_t)size;
		if (chunk[size - 1] == '\n')
			reply(session);
	} while (!broken);
}

static void *run_board(void *data)
{
	struct epoll_event events[USERS];
	int poller = epoll_create1(EPOLL_CLOEXEC);

	(void)data;
	for (int i = 0; i < USERS; i++) {
		struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = &sessions[i]};

		fcntl(sessions[i].fd, F_SETFL, O_NONBLOCK);
		epoll_ctl(poller, EPOLL_CTL_ADD, sessions[i].fd, &event);
	}
	for (;;) {
		int count = epoll_wait(poller, events, USERS, -1);

		for (int i = 0; i < count; i++)
			on_readable(events[i].data.ptr);
	}
	return NULL;
}

static void *run_user(void *data)
{
	struct user *user = data;
	char *post = malloc(user->length);
	char answer[32];
	ssize_t size;

	memset(post, 'a', user->length);
	post[user->length - 1] = '\n';
	for (unsigned round = 0;; round++) {
		usleep(user->pause_ms * 1000);
		if (write(user->fd, post, user->length) < 0)
			break;
		size = read(user->fd, answer, sizeof answer);
		if (size <= 0)
			break;
		if (round % 20 == 0)
			printf("%s: %.*s", user->name, (int)size, answer);
	}
	free(post);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t board;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	setlinebuf(stdout);
	for (int i = 0; i < USERS; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			return 1;
		sessions[i].fd = pair[0];
		users[i].fd = pair[1];
	}
	pthread_create(&board, NULL, run_board, NULL);
	pthread_setname_np(board, "board");
	for (int i = 0; i < USERS; i++) {
		pthread_create(&users[i].thread, NULL, run_user, &users[i]);
		pthread_setname_np(users[i].thread, users[i].name);
	}
	for (int i = 0; i < USERS; i++)
		pthread_join(users[i].thread, NULL);
	return 0;
}
