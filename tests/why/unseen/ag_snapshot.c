/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=serve_query
 *   truth: The thread “snapshot” holds index_lock in write_snapshot() while it sends the index to the backup over a
 *     socket, which takes 0.6 s. Queries that come in this time wait for the lock.
 *   culprit: snapshot
 *   victim: serve_query
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A search server: a thread for each query, and one that sends a snapshot of the index to a backup. */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define WORDS 16384
#define QUERIES 12
#define BLOCK 8192 /* the backup's disk writes one in 80 ms */

struct index {
	uint64_t words[WORDS / 2];
};

struct query {
	pthread_t thread;
	uint64_t word;
	bool found;
};

static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;
static struct index words_index;
static bool copy_before_sending;

static void pause_ms(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static NOINLINE void build_index(void)
{
	for (size_t i = 0; i < WORDS / 2; i++)
		words_index.words[i] = i * 7 + 3;
}

static NOINLINE bool search_index(uint64_t word)
{
	size_t low = 0, high = WORDS / 2;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (words_index.words[middle] < word)
			low = middle + 1;
		else
			high = middle;
	}
	return low < WORDS / 2 && words_index.words[low] == word;
}

static void *serve_query(void *data)
{
	struct query *query = data;

	pthread_mutex_lock(&index_lock);
	query->found = search_index(query->word);
	pthread_mutex_unlock(&index_lock);
	pause_ms(3); /* formats the page */
	return NULL;
}

static NOINLINE int send_all(int descriptor, const void *data, size_t size)
{
	const char *next = data;

	while (size) {
		ssize_t sent = send(descriptor, next, size, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return -1;
		next += sent;
		size -= (size_t)sent;
	}
	return 0;
}

/* Sends the index as it is at one moment: no query may add words to it meanwhile. */
static NOINLINE int write_snapshot(int descriptor)
{
	struct index *copy = NULL;
	int result;

	if (copy_before_sending && !(copy = malloc(sizeof(*copy))))
		return -1;
	pthread_mutex_lock(&index_lock);
	if (copy) {
		memcpy(copy, &words_index, sizeof(*copy));
		pthread_mutex_unlock(&index_lock);
		result = send_all(descriptor, copy, sizeof(*copy));
		free(copy);
	} else {
		result = send_all(descriptor, &words_index, sizeof(words_index));
		pthread_mutex_unlock(&index_lock);
	}
	return result;
}

static void *snapshot_thread(void *data)
{
	int descriptor = *(int *)data;

	pthread_setname_np(pthread_self(), "snapshot");
	pause_ms(200);
	if (write_snapshot(descriptor))
		perror("snapshot");
	close(descriptor);
	return NULL;
}

/* The backup, on a slow disk. */
static void *backup_thread(void *data)
{
	static char block[BLOCK];
	int descriptor = *(int *)data;
	size_t total = 0;
	ssize_t got;

	pthread_setname_np(pthread_self(), "backup");
	while ((got = recv(descriptor, block, sizeof(block), MSG_WAITALL)) > 0) {
		total += (size_t)got;
		pause_ms(80);
	}
	printf("backup: %zu bytes\n", total);
	close(descriptor);
	return NULL;
}

int main(int argc, char **argv)
{
	struct query queries[QUERIES] = {0};
	pthread_t snapshot, backup;
	int sockets[2], size = 4096;
	int found = 0;

	copy_before_sending = !(argc > 1 && !strcmp(argv[1], "broken"));
	build_index();
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) ||
		setsockopt(sockets[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)))
		return EXIT_FAILURE;
	if (pthread_create(&backup, NULL, backup_thread, &sockets[1]) ||
		pthread_create(&snapshot, NULL, snapshot_thread, &sockets[0]))
		return EXIT_FAILURE;
	for (size_t i = 0; i < QUERIES; i++) {
		queries[i].word = i * 70 + 3;
		if (pthread_create(&queries[i].thread, NULL, serve_query, &queries[i]))
			return EXIT_FAILURE;
		pause_ms(50);
	}
	for (size_t i = 0; i < QUERIES; i++) {
		pthread_join(queries[i].thread, NULL);
		found += queries[i].found;
	}
	pthread_join(snapshot, NULL);
	pthread_join(backup, NULL);
	printf("%d of %d words found\n", found, QUERIES);
	return EXIT_SUCCESS;
}
