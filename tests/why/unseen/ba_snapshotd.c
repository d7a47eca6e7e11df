/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: take_snapshot forks without taking the journal's lock, so the child inherits it locked by the
 *     thread "flusher" (in journal_flush), which doesn't exist in the child; there the first journal_write
 *     waits for ever for that lock, and main waits for the child in waitpid
 *   culprit: take_snapshot|journal_write|journal_flush
 *   victim: wait_for_snapshot|waitpid|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A small store of keys that keeps a journal, and makes snapshots in a forked child. */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEYS 256
#define SNAPSHOTS 8

struct journal {
	pthread_mutex_t lock;
	char buffer[4096];
	size_t used;
	int file;
	unsigned long flushed;
};

struct store {
	pthread_rwlock_t lock;
	uint32_t values[KEYS];
	bool closing;
};

static struct journal journal = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct store store = {.lock = PTHREAD_RWLOCK_INITIALIZER};
static bool quiesces;

static void pause_us(long us)
{
	struct timespec time = {0, us * 1000};

	nanosleep(&time, NULL);
}

/* The caller holds the journal's lock. Packs the records before they go out. */
static unsigned journal_checksum(void)
{
	unsigned sum = 1;

	for (int round = 0; round < 10; round++)
		for (size_t i = 0; i < sizeof(journal.buffer); i++)
			sum = sum * 31 + (unsigned char)journal.buffer[i] + (unsigned)round;
	return sum;
}

__attribute__((noinline)) static void journal_write(const char *line)
{
	size_t length = strlen(line);

	pthread_mutex_lock(&journal.lock);
	if (journal.used + length > sizeof(journal.buffer))
		journal.used = 0;
	memcpy(journal.buffer + journal.used, line, length);
	journal.used += length;
	pthread_mutex_unlock(&journal.lock);
}

__attribute__((noinline)) static void journal_flush(void)
{
	unsigned sum;

	pthread_mutex_lock(&journal.lock);
	sum = journal_checksum();
	if (write(journal.file, &sum, sizeof(sum)) == sizeof(sum))
		journal.flushed += journal.used;
	pause_us(2000); /* until it is on the disk */
	journal.used = 0;
	pthread_mutex_unlock(&journal.lock);
}

static bool store_is_closing(void)
{
	bool is_closing;

	pthread_rwlock_rdlock(&store.lock);
	is_closing = store.closing;
	pthread_rwlock_unlock(&store.lock);
	return is_closing;
}

static void *run_flusher(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "flusher");
	while (!store_is_closing()) {
		journal_flush();
		pause_us(1000);
	}
	return NULL;
}

static void *run_writer(void *data)
{
	unsigned seed = (unsigned)(uintptr_t)data;
	char line[64];

	pthread_setname_np(pthread_self(), "writer");
	while (!store_is_closing()) {
		unsigned key = (unsigned)rand_r(&seed) % KEYS;

		pthread_rwlock_wrlock(&store.lock);
		store.values[key]++;
		pthread_rwlock_unlock(&store.lock);
		snprintf(line, sizeof(line), "incr %u\n", key);
		journal_write(line);
		pause_us(4000);
	}
	return NULL;
}

/* Runs in the child. */
static void write_snapshot(int number, const uint32_t *values)
{
	int file = memfd_create("snapshot", MFD_CLOEXEC);
	char line[64];

	snprintf(line, sizeof(line), "snapshot %d begins\n", number);
	journal_write(line);
	if (file < 0 || write(file, values, KEYS * sizeof(*values)) != KEYS * sizeof(*values))
		_exit(1);
	close(file);
	snprintf(line, sizeof(line), "snapshot %d ends\n", number);
	journal_write(line);
	_exit(0);
}

__attribute__((noinline)) static pid_t take_snapshot(int number)
{
	static uint32_t copy[KEYS];
	pid_t child;

	pthread_rwlock_rdlock(&store.lock);
	memcpy(copy, store.values, sizeof(copy));
	pthread_rwlock_unlock(&store.lock);
	if (quiesces)
		pthread_mutex_lock(&journal.lock);
	child = fork();
	if (quiesces)
		pthread_mutex_unlock(&journal.lock);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		write_snapshot(number, copy);
	}
	return child;
}

__attribute__((noinline)) static int wait_for_snapshot(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
	pthread_t flusher, writers[2];
	int bad = 0;

	if (argc != 2)
		return 2;
	quiesces = strcmp(argv[1], "healthy") == 0;
	journal.file = memfd_create("journal", MFD_CLOEXEC);
	if (journal.file < 0)
		return 1;
	pthread_create(&flusher, NULL, run_flusher, NULL);
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&writers[i], NULL, run_writer, (void *)(i + 1));
	for (int i = 1; i <= SNAPSHOTS; i++) {
		pid_t child;

		pause_us(30000);
		child = take_snapshot(i);
		if (child < 0 || wait_for_snapshot(child) != 0)
			bad++;
	}
	pthread_rwlock_wrlock(&store.lock);
	store.closing = true;
	pthread_rwlock_unlock(&store.lock);
	pthread_join(flusher, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(writers[i], NULL);
	printf("%d snapshots, %d bad\n", SNAPSHOTS, bad);
	return bad != 0;
}
