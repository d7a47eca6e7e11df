/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The server serves one client at a time, and reads from the idle client that came first. It accepts
 *     nobody meanwhile: the queue of its listening socket is full, and the other clients wait in connect.
 *   culprit: server|serve_client|idle
 *   victim: client-
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A small control server on a Unix socket, and its clients, as threads of a test program. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CLIENTS 5

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static int listener;
static atomic_int served;
static bool broken;

static void serve_client(int fd)
{
	char line[32];
	ssize_t n;

	while ((n = read(fd, line, sizeof line)) > 0)
		if (write(fd, line, (size_t)n) < 0)
			break;
	close(fd);
}

static void *run_server(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "server");
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			return NULL;
		serve_client(fd);
	}
}

static int dial(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address))
		exit(1);
	return fd;
}

static void *run_client(void *number)
{
	char line[32], name[16];

	snprintf(name, sizeof name, "client-%d", *(int *)number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < 20; i++) {
		int fd = dial();

		if (write(fd, name, sizeof name) < 0 || read(fd, line, sizeof line) <= 0)
			exit(1);
		close(fd);
		usleep(1000);
	}
	served++;
	return NULL;
}

static void *run_idle(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "idle");
	usleep(10000);
	int fd = dial();

	while (served < CLIENTS)
		usleep(broken ? 30000 : 1000);
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t server, clients[CLIENTS], idle;
	int numbers[CLIENTS];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	snprintf(address.sun_path, sizeof address.sun_path, "/tmp/dd-backlog-%d", getpid());
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1))
		return 1;
	pthread_create(&server, NULL, run_server, NULL);
	if (broken)
		pthread_create(&idle, NULL, run_idle, NULL);
	for (int i = 0; i < CLIENTS; i++) {
		numbers[i] = i;
		pthread_create(&clients[i], NULL, run_client, &numbers[i]);
	}
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	if (broken)
		pthread_join(idle, NULL);
	unlink(address.sun_path);
	puts("done");
	return 0;
}
