/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 2500
 *   ask: why
 *   truth: During the full sync the leader writes all entries before it reads any acknowledgement. The replica
 *     acknowledges each entry, until the pipe to the leader is full; then both processes wait in write for each other.
 *   culprit: full_sync|replica_apply|send_ack|send_entry
 *   victim: heartbeat
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A key-value store: the leader copies its table to a replica in another process, over two pipes. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEYS 6000
#define WINDOW 64

struct entry {
	unsigned long sequence;
	char key[24];
	char value[96];
};

struct ack {
	unsigned long sequence;
	char digest[56];
};

static bool broken;
static atomic_ulong acknowledged;
static atomic_bool synced;

static bool all(bool out, int fd, void *data, size_t size)
{
	char *at = data;

	while (size > 0) {
		ssize_t n = out ? write(fd, at, size) : read(fd, at, size);

		if (n <= 0)
			return false;
		at += n;
		size -= (size_t)n;
	}
	return true;
}

static bool send_ack(int fd, const struct entry *entry)
{
	struct ack ack = {.sequence = entry->sequence};
	unsigned sum = 5381;

	for (const char *c = entry->value; *c; c++)
		sum = sum * 33 + (unsigned char)*c;
	snprintf(ack.digest, sizeof(ack.digest), "%08x", sum);
	return all(true, fd, &ack, sizeof(ack));
}

/* The replica: applies what comes, in order. */
static int replica_apply(int in, int out)
{
	static struct entry table[KEYS];
	struct entry entry;
	unsigned long count = 0;

	while (all(false, in, &entry, sizeof(entry))) {
		table[entry.sequence % KEYS] = entry;
		count++;
		if (!send_ack(out, &entry))
			return 1;
	}
	return count == KEYS && table[KEYS - 1].sequence == KEYS - 1 ? 0 : 2;
}

static bool read_ack(int fd)
{
	struct ack ack;

	if (!all(false, fd, &ack, sizeof(ack)))
		return false;
	atomic_store(&acknowledged, ack.sequence + 1);
	return true;
}

static bool send_entry(int fd, unsigned long sequence)
{
	struct entry entry = {.sequence = sequence};

	snprintf(entry.key, sizeof(entry.key), "user:%lu", sequence);
	snprintf(entry.value, sizeof(entry.value), "{\"balance\": %lu}", sequence * 7 % 1000);
	return all(true, fd, &entry, sizeof(entry));
}

static bool full_sync(int out, int in)
{
	unsigned long sent = 0;

	while (sent < KEYS) {
		if (!send_entry(out, sent++))
			return false;
		if (!broken && sent - atomic_load(&acknowledged) >= WINDOW && !read_ack(in))
			return false;
	}
	while (atomic_load(&acknowledged) < KEYS)
		if (!read_ack(in))
			return false;
	return true;
}

static void *heartbeat(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "heartbeat");
	while (!atomic_load(&synced)) {
		usleep(100000);
		printf("leader alive, acknowledged %lu\n", atomic_load(&acknowledged));
		fflush(stdout);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int down[2], up[2], status = 0;
	pthread_t beat;
	pid_t replica;
	bool good;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (pipe(down) || pipe(up))
		return 1;
	replica = fork();
	if (replica == 0) {
		close(down[1]);
		close(up[0]);
		_exit(replica_apply(down[0], up[1]));
	}
	close(down[0]);
	close(up[1]);
	pthread_create(&beat, NULL, heartbeat, NULL);
	good = full_sync(down[1], up[0]);
	close(down[1]);
	waitpid(replica, &status, 0);
	atomic_store(&synced, true);
	pthread_join(beat, NULL);
	printf("sync %s\n", good && status == 0 ? "done" : "failed");
	return good ? 0 : 1;
}
