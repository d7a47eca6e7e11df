/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: fetch_all joins each thread right after it has created it, in the same loop, so the packages are fetched one after the other instead of all at once.
 *   culprit: fetch_package|fetch_all
 *   victim: unpack_packages
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A package manager fetches packages from a mirror, a thread for each, and unpacks them. */

#define PACKAGES 12

static bool broken;
static int connections[PACKAGES][2];
static unsigned sizes[PACKAGES];

/* Sends the answer of the mirror for a package after its way through the net. */
static void *run_mirror(void *unused)
{
	(void)unused;
	for (int served = 0; served < PACKAGES;) {
		usleep(5000);
		for (int i = 0; i < PACKAGES; i++) {
			char request[16];
			unsigned size = 4000u + 100u * (unsigned)i;

			if (recv(connections[i][1], request, sizeof(request), MSG_DONTWAIT) <= 0)
				continue;
			usleep(1000);
			if (write(connections[i][1], &size, sizeof(size)) != sizeof(size))
				abort();
			served++;
		}
	}
	return NULL;
}

static void *fetch_package(void *data)
{
	int number = (int)(intptr_t)data;

	if (write(connections[number][0], "GET", 3) != 3 ||
		read(connections[number][0], &sizes[number], sizeof(sizes[0])) != sizeof(sizes[0]))
		abort();
	usleep(20000); /* checks the signature on the key server */
	return NULL;
}

static void fetch_all(void)
{
	pthread_t threads[PACKAGES];

	for (int i = 0; i < PACKAGES; i++) {
		pthread_create(&threads[i], NULL, fetch_package, (void *)(intptr_t)i);
		if (broken)
			pthread_join(threads[i], NULL);
	}
	for (int i = 0; i < PACKAGES && !broken; i++)
		pthread_join(threads[i], NULL);
}

static void *unpack_packages(void *unused)
{
	unsigned total = 0;

	(void)unused;
	for (int i = 0; i < PACKAGES; i++) {
		total += sizes[i];
		usleep(1000);
	}
	printf("%d packages, %u bytes\n", PACKAGES, total);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t mirror, unpacker;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < PACKAGES; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, connections[i]))
			return 1;
	pthread_create(&mirror, NULL, run_mirror, NULL);
	fetch_all();
	pthread_create(&unpacker, NULL, unpack_packages, NULL);
	pthread_join(unpacker, NULL);
	pthread_join(mirror, NULL);
	return 0;
}
