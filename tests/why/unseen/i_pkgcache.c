/* SPDX-License-Identifier: ISC */
/*
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 * case: broken
 *   args: broken
 *   ask: why --slow=thread install_package
 *   truth: verify_cache keeps the file lock of the package cache (flock) while it checks all packages, 600 ms, instead of locking it for each package. An installation that comes meanwhile waits in flock.
 *   culprit: verify_cache|flock|lock_cache
 */
/*
 * A package manager's daemon. The cache is a file which other programs use, too; so whoever reads or
 * writes it takes a lock of the file (flock), through a descriptor of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#define PACKAGES 60
#define BLOCK 4096
#define INSTALLS 8

struct package {
	uint32_t size;
	uint32_t checksum;
	unsigned char content[BLOCK - 8];
};

static bool broken;
static char cache_path[64];
static sem_t verify_begun;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static uint32_t checksum(const struct package *package)
{
	uint32_t sum = 5381;

	for (uint32_t i = 0; i < package->size; i++)
		sum = sum * 33 + package->content[i];
	return sum;
}

/* Returns the open cache, locked. */
static int lock_cache(int how)
{
	int cache = open(cache_path, O_RDWR | O_CLOEXEC);

	if (cache < 0)
		fail(cache_path);
	while (flock(cache, how))
		if (errno != EINTR)
			fail("flock");
	return cache;
}

static void unlock_cache(int cache)
{
	flock(cache, LOCK_UN);
	close(cache);
}

static void load(int cache, int number, struct package *package)
{
	if (pread(cache, package, sizeof(*package), (off_t)number * BLOCK) != sizeof(*package))
		fail("pread");
}

static void store(int cache, int number, const struct package *package)
{
	if (pwrite(cache, package, sizeof(*package), (off_t)number * BLOCK) != sizeof(*package))
		fail("pwrite");
}

/* The daily check. */
static void *verify_cache(void *data)
{
	struct package package;
	int *bad = data;
	int cache = -1;

	for (int i = 0; i < PACKAGES; i++) {
		if (cache < 0)
			cache = lock_cache(LOCK_EX);
		load(cache, i, &package);
		usleep(10000); /* the disk */
		if (checksum(&package) != package.checksum)
			++*bad;
		if (i == 1)
			sem_post(&verify_begun);
		if (!broken) {
			unlock_cache(cache);
			cache = -1;
			usleep(200);
		}
	}
	if (cache >= 0)
		unlock_cache(cache);
	return NULL;
}

static void *install_package(void *data)
{
	int number = *(int *)data;
	struct package package = {.size = 0};
	int cache;

	cache = lock_cache(LOCK_EX);
	load(cache, number, &package);
	package.content[package.size++ % sizeof(package.content)] = (unsigned char)number;
	package.checksum = checksum(&package);
	store(cache, number, &package);
	unlock_cache(cache);
	usleep(5000); /* unpacked */
	return NULL;
}

static int make_cache(void)
{
	struct package package;
	int cache = memfd_create("packages.cache", MFD_CLOEXEC);

	if (cache < 0)
		fail("memfd_create");
	for (int i = 0; i < PACKAGES; i++) {
		package.size = 500 + (uint32_t)i * 30;
		memset(package.content, i, sizeof(package.content));
		package.checksum = checksum(&package);
		store(cache, i, &package);
	}
	snprintf(cache_path, sizeof(cache_path), "/proc/self/fd/%d", cache);
	return cache;
}

int main(int argc, char **argv)
{
	pthread_t verifier, installer;
	int number, bad = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&verify_begun, 0, 0);
	make_cache();
	for (int i = 0; i < INSTALLS; i++) {
		/* The check comes before the seventh installation. */
		if (i == 6) {
			pthread_create(&verifier, NULL, verify_cache, &bad);
			while (sem_wait(&verify_begun))
				continue;
		}
		number = i * 7;
		pthread_create(&installer, NULL, install_package, &number);
		pthread_join(installer, NULL);
	}
	pthread_join(verifier, NULL);
	printf("%d installed, %d bad\n", INSTALLS, bad);
	return bad != 0;
}
