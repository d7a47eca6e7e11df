/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: reply_list in the store process counts the four bytes of the header in the length that it announces,
 *     so the client thread "lister" waits in receive_all for four more bytes that the store never sends.
 *   culprit: lister|receive_reply|receive_all|reply_list
 *   victim: main\b|pthread_join
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A store of blobs: a process answers get, stat and list over sockets to the threads of its parent. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLIENTS 3
#define ASKS 20

struct client {
	const char *name;
	char kind;
	int fd;
	pthread_t thread;
	long bytes;
};

static struct client clients[CLIENTS] = {
	{.name = "getter", .kind = 'G'},
	{.name = "stater", .kind = 'S'},
	{.name = "lister", .kind = 'L'},
};
static bool plain_length;

static void send_all(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size) {
		ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);

		if (sent <= 0)
			return;
		at += sent;
		size -= (size_t)sent;
	}
}

static bool receive_all(int fd, void *data, size_t size)
{
	char *at = data;

	while (size) {
		ssize_t got = recv(fd, at, size, 0);

		if (got <= 0)
			return false;
		at += got;
		size -= (size_t)got;
	}
	return true;
}

/* ---- The store ---- */

static void reply(int fd, uint32_t length, const char *body, size_t size)
{
	send_all(fd, &length, sizeof length);
	send_all(fd, body, size);
}

static void reply_get(int fd)
{
	char blob[300];

	memset(blob, 'b', sizeof blob);
	reply(fd, sizeof blob, blob, sizeof blob);
}

static void reply_stat(int fd)
{
	static const char text[] = "size=300 mode=0644";

	reply(fd, sizeof text, text, sizeof text);
}

static void reply_list(int fd)
{
	char names[200];
	uint32_t length = 0;

	for (int i = 0; i < 8; i++)
		length += (uint32_t)snprintf(names + length, sizeof names - length, "blob-%d\n", i);
	reply(fd, plain_length ? length : length + (uint32_t)sizeof length, names, length);
}

/* Returns false at the end of the client's requests. */
static bool serve_one(int fd)
{
	char kind;

	if (recv(fd, &kind, 1, 0) != 1)
		return false;
	if (kind == 'G')
		reply_get(fd);
	else if (kind == 'S')
		reply_stat(fd);
	else
		reply_list(fd);
	return true;
}

static void serve(const int *fds)
{
	struct pollfd watch[CLIENTS];
	int open = CLIENTS;

	for (int i = 0; i < CLIENTS; i++)
		watch[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	while (open > 0 && poll(watch, CLIENTS, -1) > 0) {
		for (int i = 0; i < CLIENTS; i++) {
			if (watch[i].fd >= 0 && watch[i].revents && !serve_one(watch[i].fd)) {
				watch[i].fd = -1;
				open--;
			}
		}
	}
}

/* ---- The clients ---- */

static long receive_reply(int fd)
{
	char body[512];
	uint32_t length;

	if (!receive_all(fd, &length, sizeof length) || length > sizeof body)
		return -1;
	return receive_all(fd, body, length) ? (long)length : -1;
}

static void *ask(void *data)
{
	struct client *self = data;

	pthread_setname_np(pthread_self(), self->name);
	for (int i = 0; i < ASKS; i++) {
		long got;

		send_all(self->fd, &self->kind, 1);
		got = receive_reply(self->fd);
		if (got < 0)
			break;
		self->bytes += got;
		usleep(3000);
	}
	shutdown(self->fd, SHUT_WR);
	return NULL;
}

int main(int argc, char **argv)
{
	int served[CLIENTS];
	pid_t store;

	plain_length = argc > 1 && strcmp(argv[1], "healthy") == 0;
	for (int i = 0; i < CLIENTS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) {
			perror("socketpair");
			return 1;
		}
		clients[i].fd = ends[0];
		served[i] = ends[1];
	}
	store = fork();
	if (store == 0) {
		for (int i = 0; i < CLIENTS; i++)
			close(clients[i].fd);
		serve(served);
		_exit(0);
	}
	for (int i = 0; i < CLIENTS; i++) {
		close(served[i]);
		pthread_create(&clients[i].thread, NULL, ask, &clients[i]);
	}
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(clients[i].thread, NULL);
		printf("%s: %ld bytes\n", clients[i].name, clients[i].bytes);
	}
	waitpid(store, NULL, 0);
	return 0;
}
