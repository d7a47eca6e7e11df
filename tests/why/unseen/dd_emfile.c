/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The server leaks the connections whose clients ask for a status. It is at its limit of descriptors, so
 *     accept fails with EMFILE, and it tries again after a pause for ever; the clients wait for their answers.
 *   culprit: EMFILE|descriptors|serve_status|accept
 *   victim: client
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A status server on a Unix socket, and its clients. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static int listener;
static bool broken;
static atomic_bool finished;

static void serve_status(int fd)
{
	if (write(fd, "fine", 4) != 4)
		perror("write");
	if (!broken)
		close(fd);
}

static void *run_server(void *unused)
{
	char line[8];

	(void)unused;
	pthread_setname_np(pthread_self(), "server");
	while (!finished) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0) {
			usleep(10000);
			continue;
		}
		if (read(fd, line, sizeof line) <= 0)
			close(fd);
		else
			serve_status(fd);
	}
	return NULL;
}

static void *run_client(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "client");
	for (int i = 0; i < 100; i++) {
		char line[8];
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		if (fd < 0) { /* it has the same limit */
			usleep(1000);
			i--;
			continue;
		}
		if (connect(fd, (struct sockaddr *)&address, sizeof address) ||
			write(fd, "?", 1) != 1 || read(fd, line, sizeof line) != 4)
			return NULL;
		close(fd);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t server, client;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){40, 40});
	snprintf(address.sun_path, sizeof address.sun_path, "/tmp/dd-emfile-%d", getpid());
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 16))
		return 1;
	pthread_create(&server, NULL, run_server, NULL);
	pthread_create(&client, NULL, run_client, NULL);
	pthread_join(client, NULL);
	finished = true;
	close(socket(AF_UNIX, SOCK_STREAM, 0));
	int last = socket(AF_UNIX, SOCK_STREAM, 0);

	if (connect(last, (struct sockaddr *)&address, sizeof address))
		return 1;
	close(last);
	pthread_join(server, NULL);
	unlink(address.sun_path);
	puts("done");
	return 0;
}
