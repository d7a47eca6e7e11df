/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the sockets are in epoll with EPOLLONESHOT and must be armed again after each event. When a line has come
 *     only in part, serve_client keeps it (keep_partial) and returns without arming the socket, so the rest of
 *     user-bob's line is never read, and he waits in await_answer for ever.
 *   culprit: serve_client|keep_partial
 *   victim: user-bob|await_answer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* chatgate: two threads serve the lines of chat users from one epoll; a timer finds users that are idle. */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define GATES 2
#define USERS 3

struct client {
	int fd;
	char line[256];
	size_t length;
	unsigned lines;
};

struct user {
	const char *name;
	const char *const *lines; /* “|” in a line: typed in two parts */
	pthread_t thread;
	int fd;
};

static const char *const ann_lines[] = {"join #weaving\n", "hello\n", "how wide is yours?\n",
	"bye\n", NULL};
static const char *const bob_broken[] = {"join #weaving\n", "hi ann\n", "mine has eight|shafts\n",
	"bye\n", NULL};
static const char *const bob_healthy[] = {"join #weaving\n", "hi ann\n", "mine has eight shafts\n",
	"bye\n", NULL};
static const char *const cy_lines[] = {"join #dyeing\n", "anybody here?\n", "bye\n", NULL};

static struct client clients[USERS];
static struct user users[USERS] = {
	{.name = "user-ann", .lines = ann_lines},
	{.name = "user-bob", .lines = bob_healthy},
	{.name = "user-cy", .lines = cy_lines},
};
static int epoll_fd, stop_fd, sweep_fd;
static unsigned sweeps;
static pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned total_lines, open_clients = USERS;

static void pause_ms(long ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&left, NULL);
}

/* The gates */

__attribute__((noinline)) void arm_client(struct client *client)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT,
		.data.ptr = client};

	if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, client->fd, &event) < 0)
		perror("chatgate: epoll_ctl");
}

__attribute__((noinline)) void answer_line(struct client *client, size_t length)
{
	char answer[64];
	int size;

	client->lines++;
	size = snprintf(answer, sizeof answer, "%u: %zu bytes said\n", client->lines, length);
	if (write(client->fd, answer, (size_t)size) != size)
		perror("chatgate: write");
	client->length -= length;
	memmove(client->line, client->line + length, client->length);
}

__attribute__((noinline)) void keep_partial(struct client *client)
{
	if (client->length == sizeof client->line) /* too long: forget its beginning */
		client->length = 0;
}

static void drop_client(struct client *client)
{
	bool last;

	epoll_ctl(epoll_fd, EPOLL_CTL_DEL, client->fd, NULL);
	close(client->fd);
	pthread_mutex_lock(&stats_lock);
	total_lines += client->lines;
	last = !--open_clients;
	pthread_mutex_unlock(&stats_lock);
	if (last && eventfd_write(stop_fd, 1) < 0)
		perror("chatgate: eventfd");
}

__attribute__((noinline)) void serve_client(struct client *client)
{
	char *end;
	ssize_t got;

	got = recv(client->fd, client->line + client->length, sizeof client->line - client->length,
		MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
		arm_client(client);
		return;
	}
	if (got <= 0) {
		drop_client(client);
		return;
	}
	client->length += (size_t)got;
	end = memchr(client->line, '\n', client->length);
	if (!end) {
		keep_partial(client);
		return;
	}
	while (end) {
		answer_line(client, (size_t)(end - client->line) + 1);
		end = memchr(client->line, '\n', client->length);
	}
	arm_client(client);
}

__attribute__((noinline)) void sweep_idle(void)
{
	uint64_t expired;

	if (read(sweep_fd, &expired, sizeof expired) == sizeof expired)
		__atomic_add_fetch(&sweeps, (unsigned)expired, __ATOMIC_RELAXED);
}

static void *run_gate(void *data)
{
	struct epoll_event event;
	char name[16];

	snprintf(name, sizeof name, "gate-%ld", (long)data);
	pthread_setname_np(pthread_self(), name);
	for (;;) {
		if (epoll_wait(epoll_fd, &event, 1, -1) != 1)
			continue;
		if (event.data.ptr == &stop_fd)
			return NULL;
		if (event.data.ptr == &sweep_fd)
			sweep_idle();
		else
			serve_client(event.data.ptr);
	}
}

static void watch(int fd, uint32_t events, void *data)
{
	struct epoll_event event = {.events = events, .data.ptr = data};

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
		perror("chatgate: epoll_ctl");
		exit(1);
	}
}

/* The users */

__attribute__((noinline)) void say(int fd, const char *line)
{
	const char *pause = strchr(line, '|');
	size_t first = pause ? (size_t)(pause - line) : strlen(line);

	if (write(fd, line, first) != (ssize_t)first)
		exit(2);
	if (pause) {
		pause_ms(220);
		if (write(fd, pause + 1, strlen(pause + 1)) < 0)
			exit(2);
	}
}

__attribute__((noinline)) void await_answer(int fd)
{
	char character = 0;

	while (character != '\n')
		if (read(fd, &character, 1) != 1)
			exit(2);
}

static void *run_user(void *data)
{
	struct user *user = data;

	pthread_setname_np(pthread_self(), user->name);
	for (const char *const *line = user->lines; *line; line++) {
		pause_ms(60);
		say(user->fd, *line);
		await_answer(user->fd);
	}
	close(user->fd);
	return NULL;
}

int main(int argc, char **argv)
{
	const struct itimerspec period = {{0, 150 * 1000000}, {0, 150 * 1000000}};
	pthread_t gates[GATES];

	if (argc > 1 && !strcmp(argv[1], "broken"))
		users[1].lines = bob_broken;
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	stop_fd = eventfd(0, EFD_CLOEXEC);
	sweep_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	timerfd_settime(sweep_fd, 0, &period, NULL);
	watch(stop_fd, EPOLLIN, &stop_fd);
	watch(sweep_fd, EPOLLIN, &sweep_fd);
	for (int i = 0; i < USERS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
			perror("chatgate: socketpair");
			return 1;
		}
		clients[i].fd = ends[0];
		users[i].fd = ends[1];
		watch(ends[0], EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, &clients[i]);
	}
	for (long i = 0; i < GATES; i++)
		pthread_create(&gates[i], NULL, run_gate, (void *)i);
	for (int i = 0; i < USERS; i++)
		pthread_create(&users[i].thread, NULL, run_user, &users[i]);
	for (int i = 0; i < USERS; i++)
		pthread_join(users[i].thread, NULL);
	for (int i = 0; i < GATES; i++)
		pthread_join(gates[i], NULL);
	printf("%u lines\n", total_lines);
	return 0;
}
