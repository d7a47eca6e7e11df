/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The two threads "replica-a" and "replica-b" each send their whole snapshot over the pair of sockets before
 *     they read the other's: both buffers are full, and both wait in send.
 *   culprit: replica-[ab]|send_snapshot
 *   victim: \bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Two replicas exchange snapshots. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct replica {
	const char *name;
	int socket;
	size_t size;
	bool first;
};

static void send_snapshot(struct replica *replica, size_t size)
{
	static char data[4096];

	for (size_t sent = 0; sent < size;) {
		ssize_t n = send(replica->socket, data, sizeof data, 0);

		if (n <= 0)
			exit(1);
		sent += (size_t)n;
	}
}

static void receive_snapshot(struct replica *replica, size_t size)
{
	char data[4096];

	for (size_t got = 0; got < size;) {
		ssize_t n = recv(replica->socket, data, sizeof data, 0);

		if (n <= 0)
			exit(1);
		got += (size_t)n;
	}
}

static void *run_replica(void *data)
{
	struct replica *replica = data;

	pthread_setname_np(pthread_self(), replica->name);
	for (int round = 0; round < 5; round++) {
		size_t size = round == 4 ? replica->size : 16384;

		if (replica->first)
			send_snapshot(replica, size);
		receive_snapshot(replica, size);
		if (!replica->first)
			send_snapshot(replica, size);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	int pair[2];
	pthread_t threads[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	struct replica replicas[2] = {{"replica-a", pair[0], 1 << 20, true},
		{"replica-b", pair[1], 1 << 20, broken}};

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run_replica, &replicas[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	puts("in step");
	return 0;
}
